// What the interactive "what the batch really weighs" says: from a state to numbers, and from numbers to sentences.
// The sentences are the text equivalent of the picture.
import { number, list } from "../shared/widgets/kit.js";
import {
  balance, bestScore, countLabels, expectedWeights, fullWeights, mapCells, mistakenPairs, objectiveParts, pairLosses, pairPopularity, popularityThreshold,
} from "./in_batch_math.js";

export const KIND_NAMES = {
  in_batch: "In-Batch",
  unbiased: "Unbiased",
  unbiased_omega: "Unbiased-ω",
  popularity: "Popularity",
  pos_neg: "Pos-Neg",
  masked: "Masked",
};

export const KIND_NOTES = {
  in_batch: "Every other pair of the batch counts as a negative. P3, equation (28).",
  unbiased: "Each pair divided by its popularity, the balance restored: the expectation is the full objective. P3, equation (17).",
  unbiased_omega: "The unbiased loss with its negatives multiplied by ω, a balance that you choose. P3, equation (25).",
  popularity: "Only the balance is repaired; popular pairs still weigh too much. P3, equation (26).",
  pos_neg: "Only popularity is repaired; the balance still follows the batch size. P3, equation (27).",
  masked: "Unbiased as well, by leaving known positives out of the negatives. Ours, from the structure of P3’s (17).",
};

export const pairName = ([i, j]) => `R${i + 1}–C${j + 1}`;

/** Why nothing can be computed, or null. */
export function problem(labels) {
  const { total } = countLabels(labels);
  if (total >= 2) return null;
  const count = total === 1 ? "one positive pair" : "no positive pair";
  return `There is ${count}. In-batch sampling needs at least two: a batch of one pair holds no negatives. Switch on a cell of the label matrix.`;
}

/** What holds no longer, though numbers can be computed. */
export function warnings(labels) {
  const { rows, columns } = countLabels(labels);
  const names = (counts, letter) => counts.flatMap((count, k) => (count === 0 ? [`${letter}${k + 1}`] : []));
  const empty = [...names(rows, "R"), ...names(columns, "C")];
  if (!empty.length) return [];
  const verb = empty.length === 1 ? "has" : "have";
  return [`${list(empty)} ${verb} no positive, so no batch ever meets the pairs there and no weighting can repair it (P3’s Assumption E.1).`];
}

/** All numbers of the picture. Weights are multiplied by m n: the full objective gives every pair a weight of one. */
export function analyse({ labels, kind, batch_size, omega, pointwise, fit }) {
  const { total } = countLabels(labels);
  const trouble = problem(labels);
  if (trouble) return { problem: trouble, warnings: [], total };
  const batchSize = Math.min(Math.max(batch_size, 2), total);
  const cells = labels.length * labels[0].length;
  const weights = expectedWeights(kind, { labels, batchSize, omega });
  const losses = pairLosses(pointwise, fittedScores(labels, pointwise, fit));
  return {
    problem: null,
    warnings: warnings(labels),
    kind,
    total,
    batchSize,
    omega,
    rho: balance(batchSize, total),
    popularity: pairPopularity(labels),
    threshold: popularityThreshold(kind, { batchSize, positives: total }),
    weights: scaled(weights, cells),
    full: scaled(fullWeights(labels), cells),
    mistaken: mistakenPairs(labels, weights),
    losses,
    expected: objectiveParts(labels, weights, losses),
    wanted: objectiveParts(labels, fullWeights(labels), losses),
  };
}

const scaled = (weights, factor) => ({
  positive: mapCells(weights.positive, (w) => w * factor),
  negative: mapCells(weights.negative, (w) => w * factor),
});

/** Scores of a model between "knows nothing" (fit 0, all scores 0) and "fits" (fit 1: scores 0 and 1, or -4 and 4). */
export function fittedScores(labels, pointwise, fit) {
  return mapCells(labels, (label) => fit * (pointwise === "square" ? label : 8 * label - 4));
}

/** The sentences, in order. */
export function sentences({ labels, fit }, result) {
  if (result.problem) return [result.problem];
  return [
    opening(result),
    aboutMistakes(result),
    aboutNegatives(labels, result),
    aboutObjective(fit, result),
    ...result.warnings,
  ].filter(Boolean);
}

function opening({ kind, batchSize, total, rho, omega }) {
  const chosen = kind === "unbiased_omega" ? `, ω = ${number(omega)}` : "";
  return `${KIND_NAMES[kind]} loss, batches of ${batchSize} of ${total} positives (balance ρ = ${number(rho)}${chosen}).`;
}

function aboutMistakes({ mistaken, total, threshold }) {
  if (!mistaken.length) return "No positive pair is mistaken for a negative.";
  const verb = mistaken.length === 1 ? "is" : "are";
  return `${mistaken.length} of ${total} positive pairs ${verb} mistaken: ${list(mistaken.map(pairName))} ${verb} pushed apart harder ` +
    `than pulled together, because the popularity of such a pair, its row count times its column count, is above ${number(threshold)}.`;
}

function aboutNegatives(labels, { weights }) {
  const values = weights.negative.flatMap((row, i) => row.filter((_, j) => !labels[i][j]));
  if (!values.length) return "There is no negative pair.";
  const [low, high] = [number(Math.min(...values)), number(Math.max(...values))];
  const range = low === high ? `Every negative pair weighs ${low}` : `Negative pairs weigh from ${low} to ${high}`;
  return `${range}; the full objective gives each 1.`;
}

function aboutObjective(fit, { expected, wanted }) {
  const scores = fit === 0 ? "all scores 0" : fit === 1 ? "scores that fit the labels" : `scores ${Math.round(100 * fit)} % of the way to the labels`;
  return `With ${scores} the expected objective is ${number(expected.total)} and the full objective ${number(wanted.total)}.`;
}

const HEADS = ["Pair", "Label", "Popularity", "Pull together", "Push apart", "Push apart in the full objective", "Best score", "Mistaken for a negative"];

/** The table of all numbers, [heads, rows, caption]: a row for each pair; none where nothing can be computed. */
export function tableOf({ labels, pointwise }, result) {
  const { problem: trouble, weights, popularity, full, mistaken } = result;
  if (trouble) return [HEADS, [], trouble];
  const wrong = mistaken.map(pairName);
  const rows = mapCells(labels, (label, i, j) => {
    const name = pairName([i, j]);
    const [pull, push] = [weights.positive[i][j], weights.negative[i][j]];
    const alone = pull + push > 0 ? number(bestScore(pointwise, pull, push)) : "none";
    return [name, String(label), String(popularity[i][j]), number(pull), number(push), number(full.negative[i][j]), alone, wrong.includes(name) ? "yes" : "no"];
  }).flat();
  return [HEADS, rows, "Expected weights, scaled so that the full objective gives every pair 1."];
}

/** Lines of Python that compute the weights, and show the same state. */
export function asPython({ labels, kind, batch_size, omega, pointwise, fit }) {
  const { total } = countLabels(labels);
  const computes = total < 2 ? [] : [
    "labels = np.array(shown.labels)",
    "met = np.ix_(labels.any(axis=1), labels.any(axis=0))  # the rows and columns that batches meet",
    `weights = in_batch.expected_weights("${kind}", labels=labels[met], batch_size=${Math.min(Math.max(batch_size, 2), total)}${kind === "unbiased_omega" ? `, omega=${omega}` : ""})`,
    "pull, push = (labels[met].size * weight for weight in weights)  # the full objective has 1",
    'print(pull.round(2), push.round(2), sep="\\n")'];
  return [
    "import numpy as np", "", "from course_lib import in_batch", "from course_lib.lessons.in_batch_bias.in_batch_weights import InBatchWeights", "",
    "shown = InBatchWeights(", `    [${labels.map((row) => `[${row.join(", ")}]`).join(", ")}],`,
    `    batch_size=${batch_size}, kind="${kind}", omega=${omega}, pointwise="${pointwise}", fit=${fit},`, ")", ...computes, "shown",
  ].join("\n");
}
