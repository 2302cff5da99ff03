// The batch losses of in-batch sampling on a small label matrix, in plain numbers.
//
// Same formulas as course_lib.in_batch (tests/lessons/in_batch_bias/test_widget.py compares the two on random inputs); the paper's equations
// (5), (11)-(17), (19) and (25)-(28) are named where they stand. Nothing here touches a page.
//
// labels: m rows of n zeros and ones; M = number of ones = |O|; s = batch size = |O^|; rho = (s - 1) / (M - 1);
// popularity of a cell = (ones in its row) x (ones in its column). Weights include the factor 1 / (m n) of the paper.

export const KINDS = ["in_batch", "unbiased", "unbiased_omega", "popularity", "pos_neg", "masked"];

const sum = (values) => values.reduce((total, value) => total + value, 0);

export const mapCells = (matrix, f) => matrix.map((row, i) => row.map((value, j) => f(value, i, j)));
export const sumCells = (matrix) => sum(matrix.map(sum));

/** How many ones stand in each row, in each column and in all. */
export function countLabels(labels) {
  const rows = labels.map(sum);
  const columns = labels[0].map((_, j) => sum(labels.map((row) => row[j])));
  return { rows, columns, total: sum(rows) };
}

/** The positive pairs [row, column], row by row. */
export function positivePairs(labels) {
  return labels.flatMap((row, i) => row.flatMap((label, j) => (label ? [[i, j]] : [])));
}

/** Popularity |O_i,:| |O_:,j| of every cell. */
export function pairPopularity(labels) {
  const { rows, columns } = countLabels(labels);
  return mapCells(labels, (_, i, j) => rows[i] * columns[j]);
}

/** rho = (s - 1) / (M - 1), the balance between the two halves of the loss in (13). */
export function balance(batchSize, positives) {
  if (!(batchSize >= 2 && batchSize <= positives)) {
    throw new RangeError(`batchSize is ${batchSize}; expected 2 to ${positives}, the number of positives`);
  }
  return (batchSize - 1) / (positives - 1);
}

/**
 * The coefficients of l- inside the bracket of (17) and (25)-(28), before the common factor M / (m n s):
 * offDiagonal for a pair of two different draws, diagonal for a drawn positive itself.
 * For (17), (25) and (27) the two terms on the diagonal add up to (1 / popularity - 1), times omega or rho.
 */
export function negativeCoefficients(kind, { rho, omega = 1 }) {
  const none = () => 0;
  const table = {
    in_batch: { offDiagonal: () => 1, diagonal: none }, // (28)
    popularity: { offDiagonal: () => 1 / rho, diagonal: none }, // (26)
    unbiased: { offDiagonal: (pop) => 1 / (rho * pop), diagonal: (pop) => 1 / pop - 1 }, // (17)
    unbiased_omega: { offDiagonal: (pop) => omega / (rho * pop), diagonal: (pop) => omega * (1 / pop - 1) }, // (25)
    pos_neg: { offDiagonal: (pop) => 1 / pop, diagonal: (pop) => rho * (1 / pop - 1) }, // (27)
    masked: { offDiagonal: (pop, label) => (label ? 0 : 1 / (rho * pop)), diagonal: none }, // (17) with known positives left out
  };
  if (!(kind in table)) throw new RangeError(`kind is ${kind}; expected one of ${KINDS.join(", ")}`);
  return table[kind];
}

/**
 * Expected weight of l+ and of l- on every cell. A positive is drawn with probability s / M, and an ordered pair of two
 * different positives with probability (s / M) rho, so cell (i, j) is met off the diagonal (s / M) rho (popularity - label)
 * times. A cell in an empty row or column is never met and weighs nothing, whatever the loss.
 */
export function expectedWeights(kind, { labels, batchSize, omega }) {
  const { total } = countLabels(labels);
  const rho = balance(batchSize, total);
  const popularity = pairPopularity(labels);
  const { offDiagonal, diagonal } = negativeCoefficients(kind, { rho, omega });
  const cells = labels.length * labels[0].length;
  const negative = mapCells(labels, (label, i, j) => {
    const pop = popularity[i][j];
    if (pop === 0) return 0;
    const weight = rho * (pop - label) * offDiagonal(pop, label) + label * diagonal(pop);
    return Math.abs(weight) < 1e-13 * pop ? 0 : weight / cells; // where the two terms cancel, rounding leaves no weight behind
  });
  return { positive: mapCells(labels, (label) => label / cells), negative };
}

/** The weights of the full objective (5): l+ on every positive, l- on every other cell. */
export function fullWeights(labels) {
  const cells = labels.length * labels[0].length;
  return {
    positive: mapCells(labels, (label) => label / cells),
    negative: mapCells(labels, (label) => (1 - label) / cells),
  };
}

/** log(1 + e^x), without overflow. */
const softplus = (x) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));

/** l+ and l- of a score: square (y - s)^2 / 2, logistic log(1 + exp(-(2 y - 1) s)). */
export function pairLosses(pointwise, scores) {
  const losses = {
    square: { positive: (score) => (1 - score) ** 2 / 2, negative: (score) => score ** 2 / 2 },
    logistic: { positive: (score) => softplus(-score), negative: softplus },
  }[pointwise];
  if (!losses) throw new RangeError(`pointwise is ${pointwise}; expected square or logistic`);
  return { positive: mapCells(scores, losses.positive), negative: mapCells(scores, losses.negative) };
}

/** Weighted sum of l+ and l- over all cells, in the three parts that a reader wants to tell apart. */
export function objectiveParts(labels, weights, losses) {
  const pull = mapCells(labels, (_, i, j) => weights.positive[i][j] * losses.positive[i][j]);
  const push = mapCells(labels, (_, i, j) => weights.negative[i][j] * losses.negative[i][j]);
  const parts = {
    pull: sumCells(pull),
    pushOnPositives: sumCells(mapCells(push, (value, i, j) => (labels[i][j] ? value : 0))),
    pushOnNegatives: sumCells(mapCells(push, (value, i, j) => (labels[i][j] ? 0 : value))),
  };
  return { ...parts, total: parts.pull + parts.pushOnPositives + parts.pushOnNegatives };
}

/** Score that minimises wPlus l+ + wMinus l- on one cell; infinite where only one of the two is there (logistic). */
export function bestScore(pointwise, wPlus, wMinus) {
  if (pointwise === "square") return wPlus / (wPlus + wMinus);
  return Math.log(wPlus) - Math.log(wMinus);
}

/** The positives that are pushed apart harder than they are pulled together: best score on the wrong side. */
export function mistakenPairs(labels, weights) {
  return positivePairs(labels).filter(([i, j]) => weights.negative[i][j] > weights.positive[i][j] * (1 + 1e-12));
}

/** Popularity above which a positive is mistaken: 1 + 1 / rho for in_batch, 2 for popularity, none otherwise. */
export function popularityThreshold(kind, { batchSize, positives }) {
  if (kind === "in_batch") return 1 + 1 / balance(batchSize, positives);
  return kind === "popularity" ? 2 : Infinity;
}
