// What the interactive "what the batch really weighs" says: from a state to numbers, and from numbers to sentences.
// The sentences are the text equivalent of the picture.
import { number, list } from "../shared/widgets/kit.js";
import {
  balance, bestScore, bestScores, countLabels, expectedWeights, fullWeights, hasClosedForm, mapCells, mistakenPairs, objectiveParts, outOfOrder,
  pairLosses, pairPopularity, popularityThreshold,
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
export function analyse({ labels, kind, batch_size, omega, pointwise, fit, dimensions }) {
  const { total } = countLabels(labels);
  const trouble = problem(labels);
  if (trouble) return { problem: trouble, warnings: [], total };
  const batchSize = Math.min(Math.max(batch_size, 2), total);
  const cells = labels.length * labels[0].length;
  const weights = expectedWeights(kind, { labels, batchSize, omega });
  const losses = pairLosses(pointwise, fittedScores(labels, pointwise, fit));
  let best = null;
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
    get best() { return (best ??= closedForms({ labels, kind, batchSize, omega, dimensions, total })); }, // while weights are shown nobody asks
  };
}

/** The best scores for the square loss, the same times popularity, the best for all pairs, and the positives that each puts out of order. */
function closedForms({ labels, kind, batchSize, omega, dimensions, total }) {
  const most = Math.min(labels.length, labels[0].length);
  const fewerToo = hasClosedForm(kind, { batchSize, positives: total, omega });
  const rank = fewerToo ? Math.min(dimensions, most) : most;
  const { scores, unique } = bestScores(kind, { labels, batchSize, omega, dimensions: rank });
  const popularity = pairPopularity(labels);
  const found = {
    scores, multiplied: mapCells(scores, (score, i, j) => score * popularity[i][j]),
    allPairs: bestScores("unbiased", { labels, batchSize, dimensions: rank }).scores,
  };
  const wrong = Object.fromEntries(Object.entries(found).map(([name, values]) => [name, outOfOrder(labels, values)]));
  return { ...found, wrong, rank, most, fewerToo, unique };
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
export function sentences({ labels, cells, fit }, result) {
  if (result.problem) return [result.problem];
  if (cells !== "weights") return [...aboutScores(labels, cells, result), ...result.warnings];
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

/** What the best scores are, what multiplying makes of them, and whom they put in a wrong order. */
function aboutScores(labels, cells, result) {
  const { best: { rank, most, unique, wrong, ...found } } = result;
  const range = (label) => {
    const values = found[cells].flatMap((row, i) => row.filter((_, j) => labels[i][j] === label));
    const [low, high] = [Math.min(...values), Math.max(...values)].map(number);
    return !values.length ? "there are none" : low === high ? low : `from ${low} to ${high}`;
  };
  const dimensions = rank === most ? `all ${most} dimensions` : `${rank} of ${most} dimensions`;
  const whose = cells === "scores" ? "Best scores" : "Best scores times popularity";
  const [here, other] = cells === "scores" ? ["scores", "multiplied"] : ["multiplied", "scores"];
  return [
    opening(result).replace(/\.$/, `, square loss, ${dimensions}.`),
    `${whose}: positives ${range(1)} (asked: 1), negatives ${range(0)} (asked: 0).`,
    aboutOrder(result.total, wrong[here]),
    `${other === "multiplied" ? "Times popularity" : "Without the popularity"} it would be ${wrong[other].length || "none"}, with the best scores for all pairs ${wrong.allPairs.length || "none"}.`,
    aboutMultiplied(cells, result),
    unique ? "" : "With so few dimensions several sets of scores are best, and the picture shows one of them.",
  ].filter(Boolean);
}

function aboutOrder(total, wrong) {
  if (!wrong.length) return "No positive is out of order: each stands higher than all negatives of its row.";
  const [verb, their] = wrong.length === 1 ? ["is", "its"] : ["are", "their"];
  return `${wrong.length} of ${total} positives ${verb} out of order, no higher than some negative of ${their} row: ${list(wrong.map(pairName))}.`;
}

/** Which of the closed forms multiplying leads to. */
function aboutMultiplied(cells, { kind, rho, best: { rank, most } }) {
  if (cells !== "multiplied") return "";
  if (!["in_batch", "popularity"].includes(kind)) return "This loss has taken the popularity out already, so multiplying puts it in.";
  if (kind === "in_batch" && rho < 1) return "The batch is not the largest, so multiplying by the whole popularity is too much.";
  return rank === most ? "Every score is its label again." : `With ${rank === 1 ? "1 dimension" : `${rank} dimensions`} no scores are nearer to the labels, if a pair counts 1/popularity.`;
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

const HEADS = {
  weights: ["Pair", "Label", "Popularity", "Pull together", "Push apart", "Push apart in the full objective", "Best score", "Mistaken for a negative"],
  scores: ["Pair", "Label", "Popularity", "Best score, square loss", "Out of order", "Times popularity", "Out of order", "Best for all pairs", "Out of order"],
};

/** The table of all numbers, [heads, rows, caption]: a row for each pair; none where nothing can be computed. */
export function tableOf({ labels, pointwise, cells }, result) {
  const { problem: trouble, weights, popularity, full, mistaken } = result;
  const heads = HEADS[cells === "weights" ? "weights" : "scores"];
  if (trouble) return [heads, [], trouble];
  const yes = (pairs) => (name) => (pairs.some((pair) => pairName(pair) === name) ? "yes" : "no");
  const ofWeights = (name, label, i, j) => {
    const [pull, push] = [weights.positive[i][j], weights.negative[i][j]];
    const alone = pull + push > 0 ? number(bestScore(pointwise, pull, push)) : "none";
    return [number(pull), number(push), number(full.negative[i][j]), alone, yes(mistaken)(name)];
  };
  const ofScores = (name, label, i, j) => ["scores", "multiplied", "allPairs"].flatMap((which) => [number(result.best[which][i][j]), label ? yes(result.best.wrong[which])(name) : ""]);
  const [of, caption] = cells === "weights"
    ? [ofWeights, "Expected weights, scaled so that the full objective gives every pair 1."]
    : [ofScores, "Out of order: a positive that stands no higher than some negative of its row."];
  const rows = mapCells(labels, (label, i, j) => {
    const name = pairName([i, j]);
    return [name, String(label), String(popularity[i][j]), ...of(name, label, i, j)];
  }).flat();
  return [heads, rows, caption];
}

/** Lines of Python that compute the weights or the scores, and show the same state. */
export function asPython(state, result) {
  const { labels, kind, batch_size, omega, pointwise, fit, cells, dimensions } = state;
  const { total } = countLabels(labels);
  const weights = [
    "met = np.ix_(labels.any(axis=1), labels.any(axis=0))  # the rows and columns that batches meet",
    `weights = in_batch.expected_weights("${kind}", labels=labels[met], batch_size=${Math.min(Math.max(batch_size, 2), total)}${kind === "unbiased_omega" ? `, omega=${omega}` : ""})`,
    "pull, push = (labels[met].size * weight for weight in weights)  # the full objective has 1"];
  const ofScores = () => {
    const { best } = result;
    const pop = "pop = in_batch.pair_popularity(labels.sum(1), labels.sum(0))";
    const shows = "print(scores.round(2), (pop * scores).round(2), sep=\"\\n\")";
    if (best.rank === best.most) return [...weights, "scores = np.zeros(labels.shape)", "scores[met] = pull / (pull + push)  # each pair alone", pop, shows];
    const like = ["in_batch", "popularity"].includes(kind) ? '"popularity"' : '"unbiased"';
    return [
      "pairs = Interactions(*labels.nonzero(), n_users=len(labels), n_items=len(labels[0]))",
      `users, items = closed_form(${like}, pairs, ${best.rank})${like === '"popularity"' ? "  # the weights of the largest batch" : ""}`,
      "scores = users @ items.T", pop, shows];
  };
  const computes = total < 2 ? [] : ["labels = np.array(shown.labels)", ...(cells === "weights" ? [...weights, 'print(pull.round(2), push.round(2), sep="\\n")'] : ofScores())];
  const few = computes.some((line) => line.includes("closed_form"));
  return [
    "import numpy as np", "", "from course_lib import in_batch", ...(few ? ["from course_lib.interactions import Interactions"] : []),
    "from course_lib.lessons.in_batch_bias.in_batch_weights import InBatchWeights", ...(few ? ["from course_lib.training.objectives import closed_form"] : []), "",
    "shown = InBatchWeights(", `    [${labels.map((row) => `[${row.join(", ")}]`).join(", ")}],`,
    `    batch_size=${batch_size}, kind="${kind}", omega=${omega}, pointwise="${pointwise}", fit=${fit}, cells="${cells}", dimensions=${dimensions},`, ")", ...computes, "shown",
  ].join("\n");
}
