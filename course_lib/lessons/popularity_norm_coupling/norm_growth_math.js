// A small two-tower model that learns from cosines with plain SGD, and how long its item embeddings get.
//
// Same computation as course_lib.lessons.popularity_norm_coupling.norm_growth, whose formulas are those of course_lib.norms
// (tests/lessons/popularity_norm_coupling/test_widget.py compares the two). Nothing here touches a page.
//
// The world: items with power-law popularity, each of one taste; users of one taste each, loyal to it in most of what they
// do. Both towers are tables. The loss is InfoNCE of the cosines of one batch. A gradient is h / ||q|| with h orthogonal to
// q, so ||q||^4 grows by exactly 2 lr^2 ||h||^2 + ||step||^4 in each update.
import { bell, randomGenerator } from "../shared/widgets/random.js";
import { average, byFalling } from "../shared/widgets/tables.js";

export const WORLD = { items: 120, users: 300, tastes: 6, width: 8, batch: 12, steps: 800, every: 20, loyal: 0.8, list: 10, top: 0.1 };
const { width: WIDTH, batch: BATCH } = WORLD;

/** A table of embeddings, row by row, with root mean square norm `startNorm`. */
const startTable = (rows, startNorm, random) => Float64Array.from({ length: rows * WIDTH }, () => (bell(random) * startNorm) / Math.sqrt(WIDTH));

/** Running sums of (rank)^-exponent, divided by their total: where a uniform number falls tells the item. */
function popularityLadder(exponent) {
  let sum = 0;
  const ladder = Array.from({ length: WORLD.items }, (_, rank) => (sum += (rank + 1) ** -exponent));
  return ladder.map((value) => value / sum);
}

/** One interaction: an item by popularity, and a user, mostly of the item's taste. */
function drawPair(ladder, random) {
  const [forItem, forLoyalty, forUser] = [random(), random(), random()];
  let item = 0;
  while (ladder[item] <= forItem && item < WORLD.items - 1) item += 1;
  const { users, tastes, loyal } = WORLD;
  return [item, forLoyalty < loyal ? Math.floor(forUser * (users / tastes)) * tastes + (item % tastes) : Math.floor(forUser * users)];
}

function rowDot(left, i, right, j) {
  let total = 0;
  for (let a = 0; a < WIDTH; a += 1) total += left[i * WIDTH + a] * right[j * WIDTH + a];
  return total;
}

const rowNorm = (table, row) => Math.sqrt(rowDot(table, row, table, row));

export const norms = (table) => Array.from({ length: table.length / WIDTH }, (_, row) => rowNorm(table, row));

/** One of the two towers: its table, and room for the rows of a batch, their unit vectors, lengths and gradients. */
class Tower {
  constructor(table) {
    const [rows, units, lengths] = [new Int32Array(BATCH), new Float64Array(BATCH * WIDTH), new Float64Array(BATCH)];
    Object.assign(this, { table, rows, units, lengths, gradient: new Float64Array(table.length), moved: new Int32Array(table.length / WIDTH) });
  }

  look() {
    for (let b = 0; b < BATCH; b += 1) {
      const row = this.rows[b];
      this.lengths[b] = rowNorm(this.table, row);
      for (let a = 0; a < WIDTH; a += 1) this.units[b * WIDTH + a] = this.table[row * WIDTH + a] / this.lengths[b];
    }
  }

  /**
   * Adds up the gradient of each row of the batch: sum_j slope_ij (k_j - cos_ij q_i) / ||q_i||, with unit vectors k_j, q_i.
   * Pair (i, j) stands at i * across + j * down of slopes and cosines.
   */
  collect({ units: others }, { slopes, cosines, across, down }) {
    const { rows, units, lengths, gradient } = this;
    for (let i = 0; i < BATCH; i += 1) {
      const at = rows[i] * WIDTH;
      let along = 0;
      for (let j = 0; j < BATCH; j += 1) {
        const pair = i * across + j * down;
        const slope = slopes[pair] / lengths[i];
        along += slope * cosines[pair];
        for (let a = 0; a < WIDTH; a += 1) gradient[at + a] += slope * others[j * WIDTH + a];
      }
      for (let a = 0; a < WIDTH; a += 1) gradient[at + a] -= along * units[i * WIDTH + a];
    }
  }

  /** One step of SGD on the rows of the batch, each once; tells each row's ||h||^2 and ||step||^2. */
  move(step, lr, tell) {
    for (const row of this.rows) {
      if (this.moved[row] === step) continue;
      this.moved[row] = step;
      const square = rowDot(this.gradient, row, this.gradient, row);
      tell(row, square * rowDot(this.table, row, this.table, row), lr * lr * square);
      for (let a = row * WIDTH; a < (row + 1) * WIDTH; a += 1) {
        this.table[a] -= lr * this.gradient[a];
        this.gradient[a] = 0;
      }
    }
  }
}

/** d InfoNCE / d cos of every pair of a batch: (softmax - 1 on the diagonal) / (B tau), row i for user i of the batch. */
function fillSlopes(slopes, cosines, tau) {
  for (let i = 0; i < BATCH * BATCH; i += BATCH) {
    let largest = -Infinity;
    for (let j = i; j < i + BATCH; j += 1) largest = Math.max(largest, cosines[j]);
    let total = 0;
    for (let j = i; j < i + BATCH; j += 1) total += slopes[j] = Math.exp((cosines[j] - largest) / tau);
    for (let j = i; j < i + BATCH; j += 1) slopes[j] = (slopes[j] / total - Number(j - i === i / BATCH)) / (BATCH * tau);
  }
}

/** The whole training: a list of frames, one every WORLD.every steps, the first before any step. */
export function train({ lr, start_norm: startNorm, tau, exponent, seed }) {
  const { steps, every } = WORLD;
  const random = randomGenerator(seed);
  const items = new Tower(startTable(WORLD.items, startNorm, random));
  const users = new Tower(startTable(WORLD.users, startNorm, random));
  const ladder = popularityLadder(exponent);
  const [cosines, slopes] = [new Float64Array(BATCH * BATCH), new Float64Array(BATCH * BATCH)];
  const counts = new Float64Array(WORLD.items);
  const squares = new Float64Array(WORLD.items); // sum of ||h||^2
  const fourth = Float64Array.from(norms(items.table), (norm) => norm ** 4); // ||q||^4 as the quartic law has it
  let stepFourths = 0; // sum of ||step||^4 over all items
  const frames = [];
  const keep = (step) => frames.push({ step, items: items.table.slice(), users: users.table.slice(), counts: counts.slice(), squares: squares.slice(), stepFourths, law: fourth.map((value) => value ** 0.25) });
  keep(0);
  for (let step = 1; step <= steps; step += 1) {
    for (let b = 0; b < BATCH; b += 1) [items.rows[b], users.rows[b]] = drawPair(ladder, random);
    users.look();
    items.look();
    for (let i = 0; i < BATCH; i += 1) for (let j = 0; j < BATCH; j += 1) cosines[i * BATCH + j] = rowDot(users.units, i, items.units, j);
    fillSlopes(slopes, cosines, tau);
    users.collect(items, { slopes, cosines, across: BATCH, down: 1 });
    items.collect(users, { slopes, cosines, across: 1, down: BATCH });
    for (const item of items.rows) counts[item] += 1;
    users.move(step, lr, () => {});
    items.move(step, lr, (item, h2, step2) => {
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

/** Sums of products of two lists around their means. */
function spread(x, y) {
  const [mx, my] = [average(x), average(y)];
  return x.reduce((total, value, k) => total + (value - mx) * (y[k] - my), 0);
}

/** Least-squares slope of log y on log x. */
export function logLogSlope(y, x) {
  const [logY, logX] = [y.map(Math.log), x.map(Math.log)];
  return spread(logX, logY) / spread(logX, logX);
}

/** Every user's WORLD.list best items, by dot product or by cosine, row by row. */
export function recommend({ items, users }, byCosine) {
  const size = WORLD.list;
  const lengths = norms(items);
  const [lists, scores] = [new Int32Array(WORLD.users * size), new Float64Array(size)];
  for (let user = 0; user < WORLD.users; user += 1) {
    const start = user * size;
    for (let item = 0; item < WORLD.items; item += 1) {
      const score = rowDot(users, user, items, item) / (byCosine ? lengths[item] : 1);
      let place = Math.min(item, size);
      while (place > 0 && scores[place - 1] < score) place -= 1;
      if (place === size) continue;
      scores.copyWithin(place + 1, place);
      lists.copyWithin(start + place + 1, start + place, start + size - 1);
      [scores[place], lists[start + place]] = [score, item];
    }
  }
  return lists;
}

/** Of lists: how often each item is in one, the share that is in `head`, the share that has the user's taste. */
function about(lists, head) {
  const times = new Float64Array(WORLD.items);
  let [popular, liked] = [0, 0];
  lists.forEach((item, k) => {
    times[item] += 1;
    popular += Number(head.has(item));
    liked += Number(item % WORLD.tastes === Math.floor(k / WORLD.list) % WORLD.tastes);
  });
  return { times, head: popular / lists.length, taste: liked / lists.length };
}

/** Lengths and what the quartic law predicts for them. */
export function lengthsOf({ lr, start_norm: startNorm }, frame) {
  const counts = Array.from(frame.counts);
  const draws = counts.reduce((a, b) => a + b, 0);
  const squares = frame.squares.reduce((a, b) => a + b, 0);
  const h2 = draws ? squares / draws : 0;
  return { counts, draws, squares, h2, norms: norms(frame.items), predicted: counts.map((n) => predictedNorm(startNorm, { lr, h2, n })) };
}

/** What a reader sees of one frame. */
export function analyse(state, frame) {
  const { lr, start_norm: startNorm } = state;
  const found = lengthsOf(state, frame);
  const { counts, draws, squares, h2, norms: lengths } = found;
  const order = byFalling(counts);
  const head = new Set(order.slice(0, Math.max(1, Math.round(WORLD.top * WORLD.items))));
  const drawn = order.filter((item) => counts[item] > 0);
  const varied = drawn.length && counts[drawn[0]] > counts[drawn[drawn.length - 1]];
  return {
    ...found, order, head, drawn, step: frame.step, law: Array.from(frame.law),
    stepPart: draws ? frame.stepFourths / (frame.stepFourths + 2 * lr * lr * squares) : 0,
    crossover: h2 ? startNorm ** 4 / (2 * lr * lr * h2) : Infinity, // n*: flat before, slope 1/4 after
    slope: varied ? logLogSlope(drawn.map((item) => lengths[item]), drawn.map((item) => counts[item])) : NaN,
    headOfDraws: draws ? [...head].reduce((total, item) => total + counts[item], 0) / draws : NaN,
    cosine: about(recommend(frame, true), head), dot: about(recommend(frame, false), head),
  };
}
