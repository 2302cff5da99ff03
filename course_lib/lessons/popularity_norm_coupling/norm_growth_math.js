// A small two-tower model that learns from cosines with plain SGD, and how long its item embeddings get.
//
// Same computation as course_lib.lessons.popularity_norm_coupling.norm_growth, whose formulas are those of course_lib.maths.geometry, losses, norms and
// popularity (tests/test_widgets_norms.py compares the two on random settings). Nothing here touches a page.
//
// The world: items with power-law popularity, each of one taste; users of one taste each, loyal to it in most of what they
// do. Both towers are tables. The loss is InfoNCE of the cosines of one batch. A gradient is h / ||q|| with h orthogonal to
// q, so ||q||^4 grows by exactly 2 lr^2 ||h||^2 + ||step||^4 in each update.
import { bell, randomGenerator } from "../shared/widgets/random.js";
import { number, wholePercent } from "../shared/widgets/kit.js";

export const WORLD = { items: 120, users: 300, tastes: 6, width: 8, batch: 32, steps: 800, every: 20, loyal: 0.8, list: 10, top: 0.1 };

/** A table of embeddings, row by row, with root mean square norm `startNorm`. */
function startTable(rows, startNorm, random) {
  return Float64Array.from({ length: rows * WORLD.width }, () => (bell(random) * startNorm) / Math.sqrt(WORLD.width));
}

/** Running sums of (rank)^-exponent, divided by their total: where a uniform number falls tells the item. */
export function popularityLadder(exponent) {
  const weights = Array.from({ length: WORLD.items }, (_, rank) => (rank + 1) ** -exponent);
  let sum = 0;
  const ladder = weights.map((weight) => (sum += weight));
  return ladder.map((value) => value / sum);
}

/** One interaction: an item by popularity, and a user, mostly of the item's taste. */
function drawPair(ladder, random) {
  const [forItem, forLoyalty, forUser] = [random(), random(), random()];
  let item = 0;
  while (ladder[item] <= forItem && item < WORLD.items - 1) item += 1;
  const { users, tastes, loyal } = WORLD;
  const user = forLoyalty < loyal ? Math.floor(forUser * (users / tastes)) * tastes + (item % tastes) : Math.floor(forUser * users);
  return { item, user };
}

const norms = (table) => Float64Array.from({ length: table.length / WORLD.width }, (_, row) => Math.sqrt(rowDot(table, row, table, row)));

function rowDot(left, i, right, j) {
  let total = 0;
  for (let a = 0; a < WORLD.width; a += 1) total += left[i * WORLD.width + a] * right[j * WORLD.width + a];
  return total;
}

/** The rows of a table that a batch holds, with length 1, and their lengths. */
function unitRows(table, rows) {
  const { width } = WORLD;
  const units = new Float64Array(rows.length * width);
  const lengths = rows.map((row, b) => {
    const length = Math.sqrt(rowDot(table, row, table, row));
    for (let a = 0; a < width; a += 1) units[b * width + a] = table[row * width + a] / length;
    return length;
  });
  return { units, lengths };
}

/**
 * d InfoNCE / d cos of every pair of a batch: (softmax - 1 on the diagonal) / (B tau).
 * cosines: B rows of B, row i for user i of the batch.
 */
export function infonceSlopes(cosines, size, tau) {
  const slopes = new Float64Array(size * size);
  for (let i = 0; i < size; i += 1) {
    let largest = -Infinity;
    for (let j = 0; j < size; j += 1) largest = Math.max(largest, cosines[i * size + j]);
    let total = 0;
    for (let j = 0; j < size; j += 1) total += slopes[i * size + j] = Math.exp((cosines[i * size + j] - largest) / tau);
    for (let j = 0; j < size; j += 1) slopes[i * size + j] = (slopes[i * size + j] / total - Number(i === j)) / (size * tau);
  }
  return slopes;
}

/**
 * Gradients of the loss with respect to the rows of one side, row by row: sum_j slope_ij (k_j - cos_ij q_i) / ||q_i||,
 * with unit vectors k_j and q_i. `at(i, j)` is where the pair stands in slopes and cosines.
 */
function sideGradients(own, other, slopes, cosines, at) {
  const { width } = WORLD;
  const size = own.lengths.length;
  const gradients = new Float64Array(size * width);
  for (let i = 0; i < size; i += 1) {
    for (let j = 0; j < size; j += 1) {
      const [slope, cosine] = [slopes[at(i, j)], cosines[at(i, j)]];
      for (let a = 0; a < width; a += 1) {
        gradients[i * width + a] += (slope * (other.units[j * width + a] - cosine * own.units[i * width + a])) / own.lengths[i];
      }
    }
  }
  return gradients;
}

/** Gradients of a batch added up on the rows of a table: row -> its gradient. A row that stands there twice is moved once. */
function gather(rows, gradients) {
  const { width } = WORLD;
  const gathered = new Map();
  rows.forEach((row, b) => {
    const sum = gathered.get(row) ?? new Float64Array(width);
    for (let a = 0; a < width; a += 1) sum[a] += gradients[b * width + a];
    gathered.set(row, sum);
  });
  return gathered;
}

/** Moves a table by one step of SGD; tells each moved row's ||h||^2 and ||step||^2. */
function move(table, gathered, lr, tell = () => {}) {
  const { width } = WORLD;
  for (const [row, gradient] of gathered) {
    const square = gradient.reduce((total, value) => total + value * value, 0);
    tell(row, square * rowDot(table, row, table, row), lr * lr * square);
    for (let a = 0; a < width; a += 1) table[row * width + a] -= lr * gradient[a];
  }
}

/** The whole training: a list of frames, one every WORLD.every steps, the first before any step. */
export function train({ lr, start_norm: startNorm, tau, exponent, seed }) {
  const { batch, steps, every } = WORLD;
  const random = randomGenerator(seed);
  const items = startTable(WORLD.items, startNorm, random);
  const users = startTable(WORLD.users, startNorm, random);
  const ladder = popularityLadder(exponent);
  const counts = new Float64Array(WORLD.items);
  const squares = new Float64Array(WORLD.items); // sum of ||h||^2
  const fourth = norms(items).map((norm) => norm ** 4); // ||q||^4 as the quartic law has it
  let stepFourths = 0; // sum of ||step||^4 over all items
  const frames = [];
  const keep = (step) => frames.push({ step, items: items.slice(), users: users.slice(), counts: counts.slice(), squares: squares.slice(), stepFourths, law: fourth.map((value) => value ** 0.25) });
  keep(0);
  for (let step = 1; step <= steps; step += 1) {
    const pairs = Array.from({ length: batch }, () => drawPair(ladder, random));
    const [userRows, itemRows] = [pairs.map(({ user }) => user), pairs.map(({ item }) => item)];
    const [left, right] = [unitRows(users, userRows), unitRows(items, itemRows)];
    const cosines = new Float64Array(batch * batch);
    for (let i = 0; i < batch; i += 1) for (let j = 0; j < batch; j += 1) cosines[i * batch + j] = rowDot(left.units, i, right.units, j);
    const slopes = infonceSlopes(cosines, batch, tau);
    const forUsers = sideGradients(left, right, slopes, cosines, (i, j) => i * batch + j);
    const forItems = sideGradients(right, left, slopes, cosines, (i, j) => j * batch + i);
    for (const item of itemRows) counts[item] += 1;
    move(users, gather(userRows, forUsers), lr);
    move(items, gather(itemRows, forItems), lr, (item, h2, step2) => {
      squares[item] += h2;
      fourth[item] += 2 * lr * lr * h2 + step2 * step2;
      stepFourths += step2 * step2;
    });
    if (step % every === 0) keep(step);
  }
  return frames;
}

/** (||q0||^4 + 2 lr^2 h^2 n)^(1/4), the quartic law with one mean h^2. */
export const predictedNorm = (startNorm, { lr, h2, n }) => (startNorm ** 4 + 2 * lr * lr * h2 * n) ** 0.25;

/** n* = ||q0||^4 / (2 lr^2 h^2): flat before, slope 1/4 after. */
export const crossoverCount = (startNorm, { lr, h2 }) => startNorm ** 4 / (2 * lr * lr * h2);

const mean = (values) => values.reduce((total, value) => total + value, 0) / values.length;

/** Sums of products of two lists around their means. */
function spread(x, y) {
  const [mx, my] = [mean(x), mean(y)];
  return x.reduce((total, value, k) => total + (value - mx) * (y[k] - my), 0);
}

/** Pearson's correlation; NaN where one list is constant. */
export const correlation = (x, y) => spread(x, y) / Math.sqrt(spread(x, x) * spread(y, y));

/** Least-squares slope of log y on log x. */
export function logLogSlope(y, x) {
  const [logY, logX] = [y.map(Math.log), x.map(Math.log)];
  return spread(logX, logY) / spread(logX, logX);
}

/** For every user the WORLD.list best items, by dot product or by cosine. */
export function recommend({ items, users }, byCosine) {
  const lengths = norms(items);
  const lists = [];
  for (let user = 0; user < WORLD.users; user += 1) {
    const best = [];
    for (let item = 0; item < WORLD.items; item += 1) {
      const score = rowDot(users, user, items, item) / (byCosine ? lengths[item] : 1);
      let place = best.length;
      while (place > 0 && best[place - 1].score < score) place -= 1;
      best.splice(place, 0, { item, score });
      best.length = Math.min(best.length, WORLD.list);
    }
    lists.push(best.map(({ item }) => item));
  }
  return lists;
}

/** Ids by falling count, equal counts by the lower id. */
export const byPopularity = (counts) => Array.from(counts, (_, item) => item).sort((a, b) => counts[b] - counts[a] || a - b);

/** What a reader sees of one frame. */
export function analyse({ lr, start_norm: startNorm }, frame) {
  const counts = Array.from(frame.counts);
  const lengths = Array.from(norms(frame.items));
  const order = byPopularity(counts);
  const head = new Set(order.slice(0, Math.max(1, Math.round(WORLD.top * WORLD.items))));
  const lists = { dot: recommend(frame, false), cosine: recommend(frame, true) };
  const part = (some, good) => mean(some.flatMap((list, user) => list.map((item) => Number(good(item, user)))));
  const draws = counts.reduce((a, b) => a + b, 0);
  const drawn = order.filter((item) => counts[item] > 0);
  const squares = frame.squares.reduce((a, b) => a + b, 0);
  const h2 = draws ? squares / draws : 0;
  const spreadOut = drawn.length && counts[drawn[0]] > counts[drawn[drawn.length - 1]];
  return {
    counts, norms: lengths, law: Array.from(frame.law), order, head, draws, drawn, h2, lists, step: frame.step,
    stepPart: draws ? frame.stepFourths / (frame.stepFourths + 2 * lr * lr * squares) : 0,
    crossover: h2 ? crossoverCount(startNorm, { lr, h2 }) : Infinity,
    predicted: counts.map((n) => predictedNorm(startNorm, { lr, h2, n })),
    correlation: spreadOut ? correlation(lengths, counts) : NaN,
    slope: spreadOut ? logLogSlope(drawn.map((item) => lengths[item]), drawn.map((item) => counts[item])) : NaN,
    headOfDraws: draws ? [...head].reduce((total, item) => total + counts[item], 0) / draws : NaN,
    share: { dot: part(lists.dot, (item) => head.has(item)), cosine: part(lists.cosine, (item) => head.has(item)) },
    taste: {
      dot: part(lists.dot, (item, user) => item % WORLD.tastes === user % WORLD.tastes),
      cosine: part(lists.cosine, (item, user) => item % WORLD.tastes === user % WORLD.tastes),
    },
  };
}

// ---- words: course_lib.lessons.popularity_norm_coupling.norm_growth writes the same ones --------------------------------------------------------


const small = (value) => (value < 0.01 ? "below 0.01" : number(value));

/** The sentences, in order. */
export function sentences(state, found) {
  const { lr, start_norm: startNorm, tau, exponent } = state;
  const settings = `Learning rate ${number(lr)}, initial norm ${number(startNorm)} (their ratio lr/norm² is ${small(lr / startNorm ** 2)}), ` +
    `temperature ${number(tau)}, popularity exponent ${number(exponent)}.`;
  if (!found.draws) return [settings, "Before the first step: no item has been drawn, and no norm has grown."];
  return [settings, aboutGrowth(found), aboutLists(found)];
}

function aboutGrowth({ step, norms: lengths, drawn, counts, crossover, stepPart, slope, correlation: r }) {
  const [most, least] = [drawn[0], drawn[drawn.length - 1]];
  const range = `After ${step} steps the item drawn most often (${counts[most]} times) has norm ${number(lengths[most])}, ` +
    `the one drawn least often (${counts[least]}) ${number(lengths[least])}.`;
  const bend = ` The predicted line bends at n* (${small(crossover)} draws) and leaves out the fourth powers of the steps, ${wholePercent(stepPart)} of the growth of norm⁴.`;
  const fit = Number.isNaN(r) ? "" : ` Log-log slope ${number(slope)} (the law's limit: 0.25); correlation of norm and count ${number(r)}.`;
  return range + bend + fit;
}

function aboutLists({ headOfDraws, share, taste }) {
  return `The most popular tenth of the items makes up ${wholePercent(headOfDraws)} of the draws, ${wholePercent(share.cosine)} of the top-10 lists ranked by cosine ` +
    `and ${wholePercent(share.dot)} of those ranked by dot product. Of the same lists, ${wholePercent(taste.cosine)} and ${wholePercent(taste.dot)} match the user's taste.`;
}

export const TABLE_HEADS = ["Items, by popularity", "Drawn", "Mean norm", "Predicted", "Exact law", "Share of lists, cosine", "Share of lists, dot"];

/** The items in ten groups of falling popularity, as cells of a table. */
export function groups({ order, counts, norms: lengths, predicted, law, lists }) {
  const size = order.length / 10;
  return Array.from({ length: 10 }, (_, k) => {
    const members = order.slice(k * size, (k + 1) * size);
    const of = (values) => members.map((item) => values[item]);
    const [low, high] = [Math.min(...of(counts)), Math.max(...of(counts))];
    const share = (some) => wholePercent(mean(some.flat().map((item) => Number(members.includes(item)))));
    return [`${k * size + 1} to ${(k + 1) * size}`, low === high ? String(low) : `${low} to ${high}`,
      ...[lengths, predicted, law].map((values) => number(mean(of(values)))), share(lists.cosine), share(lists.dot)];
  });
}

/** A line of Python that shows the same state in a notebook. */
export function asPython({ lr, start_norm: startNorm, tau, exponent, seed, step }) {
  return `from course_lib.lessons.popularity_norm_coupling.norm_growth import NormGrowth\nNormGrowth(lr=${lr}, start_norm=${startNorm}, tau=${tau}, exponent=${exponent}, step=${step}, seed=${seed})`;
}
