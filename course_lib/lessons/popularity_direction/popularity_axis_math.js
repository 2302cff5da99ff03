// The axis (4) of P1 through a cloud of item embeddings, the correlation of projection and count along it, and what chance gives.
//
// Same formulas as course_lib.popularity (tests/lessons/popularity_direction/test_widget.py compares them). Nothing here touches a page.
import { bell, randomGenerator } from "../shared/widgets/random.js";
import { average, between, byFalling, endsOf, inner, unpack } from "../shared/widgets/tables.js";

export const CHANCE = { splits: 3, shuffles: 99, splitSeed: 1, shuffleSeed: 2 };

/** Pearson's correlation of the projections of some rows on an axis with their counts; 0 where the counts are all alike, so that a half of few items says nothing. */
function correlation(rows, ids, direction, counts) {
  let [x, c, xc, xx, cc] = [0, 0, 0, 0, 0];
  const [start, first] = [inner(rows[ids[0]], direction), counts[ids[0]]]; // taken away, so that no digits cancel
  for (const id of ids) {
    const [along, count] = [inner(rows[id], direction) - start, counts[id] - first];
    x += along;
    c += count;
    xc += along * count;
    xx += along * along;
    cc += count * count;
  }
  const n = ids.length;
  const spread = cc - (c * c) / n;
  return spread > 1e-9 ? (xc - (x * c) / n) / Math.sqrt((xx - (x * x) / n) * spread) : 0;
}

/** Random orders of n items: the order of random numbers. */
function shuffles(many, n, seed) {
  const random = randomGenerator(seed);
  return Array.from({ length: many }, () => {
    const drawn = Array.from({ length: n }, random);
    return drawn.map((_, k) => k).sort((a, b) => drawn[a] - drawn[b] || a - b);
  });
}

/** Counts with their falling order, of all items and of each half of each split; `whole` and `halves` hold ids. */
function ranked(counts, splits) {
  const order = byFalling(counts);
  return { counts, order, halves: splits.map((half) => [0, 1].map((side) => order.filter((id) => half[id] === side))) };
}

/** The correlation along the axis that the same items have chosen. */
const naive = (rows, { counts, order }, ratio) => correlation(rows, order, between(rows, endsOf(order, ratio)).direction, counts);

/** Mean correlation of each half along the axis of the other, and the mean cosine of the two axes. */
function crossFitted(rows, { counts, halves }, ratio) {
  const axes = halves.map((parts) => parts.map((ids) => between(rows, endsOf(ids, ratio)).direction));
  const correlations = halves.flatMap((parts, k) => parts.map((ids, side) => correlation(rows, ids, axes[k][1 - side], counts)));
  return { crossed: average(correlations), agreement: average(axes.map(([one, other]) => inner(one, other))) };
}

/** Γ(x + 1/2)/Γ(x) for whole and half x, from x = 1/2 or 1 upwards. */
function gammaRatio(x) {
  let [at, value] = Number.isInteger(x) ? [1, Math.sqrt(Math.PI) / 2] : [0.5, 1 / Math.sqrt(Math.PI)];
  for (; at < x - 0.25; at += 1) value *= (at + 0.5) / at;
  return value;
}

/** Mean correlation of normal random vectors with these counts: course_lib.popularity.double_dipping_law. */
function meanOfChance({ counts, order }, { head, tail }, width) {
  const contrast = counts.map(() => [0]);
  for (const id of head) contrast[id] = [1 / head.length];
  for (const id of tail) contrast[id] = [-1 / tail.length];
  return (correlation(contrast, order, [1], counts) * gammaRatio(width / 2)) / gammaRatio((width + counts.length - 2) / 2);
}

/** The splits of n items, and their counts dealt out anew 99 times: the same for every axis, so kept. */
export function dealt(counts) {
  const splits = shuffles(CHANCE.splits, counts.length, CHANCE.splitSeed).map((order) => order.map((place) => place % 2));
  const anew = shuffles(CHANCE.shuffles, counts.length, CHANCE.shuffleSeed).map((order) => ranked(order.map((id) => counts[id]), splits));
  return { splits, anew };
}

/** Everything that a reader sees of a state; `deals` are those of the first counts. */
export function analyse(state, deals = dealt(state.counts.slice(0, state.shown))) {
  const { model, show, ratio, shown: n, seed } = state;
  const packed = state.items[model];
  const random = randomGenerator(seed);
  const rows = show === "random"
    ? Array.from({ length: n }, () => Float64Array.from({ length: packed.width }, () => bell(random)))
    : unpack(packed).slice(0, n);
  const given = state.counts.slice(0, n);
  const here = ranked(show === "shuffled" ? shuffles(1, n, seed)[0].map((id) => given[id]) : given, deals.splits);
  const axis = between(rows, endsOf(here.order, ratio));
  return {
    rows, ...here, ...axis, projections: rows.map((row) => inner(row, axis.direction)),
    naive: naive(rows, here, ratio),
    ...crossFitted(rows, here, ratio),
    shuffledNaive: deals.anew.map((one) => naive(rows, one, ratio)),
    shuffledCrossed: deals.anew.map((one) => crossFitted(rows, one, ratio).crossed),
    chance: meanOfChance(here, axis, packed.width),
  };
}
