// A training small enough to watch: 24 users in the plane, eight towers, eight optimisers, three losses. The same run as
// course_lib.lessons.jacobian_conditions.small_towers, number by number (tests/lessons/jacobian_conditions/test_widget.py). A parameter is a matrix (a list of
// rows); its rows are what a row-wise optimiser sees, so that a bias of length d is d rows of one number.
import { add, dot, norm, scale } from "../shared/widgets/motion_math.js";
import { randomGenerator } from "../shared/widgets/random.js";

export const USERS = 24;
const WIDTH = 2;
const HIDDEN = 4;
const LIKED = [0, 4, 8];
const TAU = { infonce: 0.2, infonce_dot: 1 };
const MOMENTUM = 0.9;
const DECAY = 0.05;
export const STILL = 1e-9; // what moves by less has not moved
const ROUNDING = 1e-13; // of a sum of products, as a part of its largest value

const range = (count) => Array.from({ length: count }, (_, i) => i);
/** Plain loops: an input may ask for 300 steps, which make 10,000 matrices before the next frame. */
function matrix(rows, columns, value) {
  const made = new Array(rows);
  for (let i = 0; i < rows; i += 1) {
    const row = made[i] = new Array(columns);
    for (let j = 0; j < columns; j += 1) row[j] = value(i, j);
  }
  return made;
}
const transposed = (a) => matrix(a[0].length, a.length, (i, j) => a[j][i]);
/** a b^T: (m, d), (n, d) -> (m, n). */
const products = (a, b) => matrix(a.length, b.length, (i, j) => dot(a[i], b[j]));
/** a^T b: (n, m), (n, d) -> (m, d). */
const crossed = (a, b) => matrix(a[0].length, b[0].length, (i, j) => {
  let sum = 0;
  for (let k = 0; k < a.length; k += 1) sum += a[k][i] * b[k][j];
  return sum;
});
/** Element by element, for up to three matrices of one shape. */
const mapped = (f, a, b, c) => matrix(a.length, a[0].length, (i, j) => f(a[i][j], b?.[i][j], c?.[i][j]));

// ---- chance -----------------------------------------------------------------------------------------------------------------

/** What is drawn once, and `batches`, an endless source: the numbers of the pairs of the next batch. */
export function draw(seed, batchSize) {
  const random = randomGenerator(seed);
  let spare = null;
  const normal = () => {
    if (spare !== null) { const kept = spare; spare = null; return kept; }
    const radius = Math.sqrt(-2 * Math.log1p(-random()));
    const angle = 2 * Math.PI * random();
    spare = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  };
  const drawn = (rows, columns) => matrix(rows, columns, normal);
  const first = { table: drawn(USERS, WIDTH), items: drawn(USERS, WIDTH), wide: drawn(USERS, HIDDEN), mix: drawn(WIDTH, HIDDEN) };
  return { ...first, batch: () => range(batchSize).map(() => Math.floor(random() * USERS * LIKED.length)) };
}

/** The user and the item of a pair's number. */
export function pair(number) {
  const user = Math.floor(number / LIKED.length);
  return [user, (user + LIKED[number % LIKED.length]) % USERS];
}

// ---- towers: start(draws), embed(parameters, draws), and the parameters' gradient from that of the embeddings ---------------
// `shared`: no row of the first parameter belongs to one user alone.

const positive = (a) => mapped((value) => Math.max(value, 0), a);
/** The slope of a scale; a loss of cosines has none, and what rounding leaves of it must not move the scale: AdaGrad would divide it by itself. */
const slopeOf = (g, e) => { const slope = dot(g, e); return Math.abs(slope) > ROUNDING * norm(g) * norm(e) ? slope : 0; };
const mixed = ({ mix }) => mapped((value) => value / Math.sqrt(HIDDEN), mix);

export const TOWERS = {
  lookup: { start: ({ table }) => [table], embed: ([e]) => e, pullBack: (p, g) => [g] },
  one_hot: { start: ({ table }) => [transposed(table)], embed: ([w]) => transposed(w), pullBack: (p, g) => [transposed(g)], shared: true },
  dense: {
    start: (draws) => [mixed(draws)],
    embed: ([w], { wide }) => products(wide, w),
    pullBack: (p, g, { wide }) => [crossed(g, wide)],
    shared: true,
  },
  two_layers: {
    start: (draws) => [draws.wide, mixed(draws)],
    embed: ([e, b]) => products(e, b),
    pullBack: ([e, b], g) => [products(g, transposed(b)), crossed(g, e)],
  },
  bias: {
    start: ({ table }) => [table, matrix(WIDTH, 1, () => 0)],
    embed: ([e, b]) => e.map((row) => row.map((value, j) => value + b[j][0])),
    pullBack: (p, g) => [g, transposed(g).map((column) => [column.reduce((sum, value) => sum + value, 0)])],
  },
  scale: {
    start: ({ table }) => [table, [[1]]],
    embed: ([e, s]) => mapped((value) => s[0][0] * value, e),
    pullBack: ([e, s], g) => [mapped((value) => s[0][0] * value, g), [[slopeOf(g.flat(), e.flat())]]],
  },
  mlp: { // B max(A x, 0), at first the function of `dense`
    start: (draws) => [
      matrix(2 * HIDDEN, HIDDEN, (i, j) => Number(i % HIDDEN === j) * (i < HIDDEN ? 1 : -1)),
      mixed(draws).map((row) => [...row, ...row.map((value) => -value)])],
    embed: ([a, b], { wide }) => products(positive(products(wide, a)), b),
    pullBack: ([a, b], g, { wide }) => {
      const hidden = products(wide, a);
      const slopes = mapped((slope, value) => (value > 0 ? slope : 0), products(g, transposed(b)), hidden);
      return [crossed(slopes, wide), crossed(g, positive(hidden))];
    },
    shared: true,
  },
  normalised: {
    start: ({ table }) => [table],
    embed: ([e]) => units(e),
    pullBack: ([e], g) => [g.map((row, i) => throughDirection(row, scale(e[i], 1 / norm(e[i])), norm(e[i])))],
  },
};

/** K_ij = J_i J_j^T of a tower before the first step: rows and columns are the numbers of all users, one user after the other. */
export function kernel(tower, seed) {
  const draws = draw(seed, 0);
  const { start, pullBack } = TOWERS[tower];
  const parameters = start(draws);
  const one = (place) => matrix(USERS, WIDTH, (i, j) => Number(i * WIDTH + j === place));
  const jacobian = range(USERS * WIDTH).map((place) => pullBack(parameters, one(place), draws).flat(2));
  return products(jacobian, jacobian);
}

/**
 * How fast a gradient at a right angle to its embedding can move an embedding along itself before the first step, as a part
 * of the fastest move: 0 where all moves are perpendicular to first order (the sharp criterion).
 */
export function radialSpeed(tower, seed) {
  const rows = kernel(tower, seed);
  const draws = draw(seed, 0);
  const unit = units(TOWERS[tower].embed(TOWERS[tower].start(draws), draws));
  let [radial, fastest] = [0, 0];
  for (let j = 0; j < USERS; j += 1) {
    for (let i = 0; i < USERS; i += 1) {
      const block = rows.slice(j * WIDTH, (j + 1) * WIDTH).map((row) => row.slice(i * WIDTH, (i + 1) * WIDTH)); // K_ji
      const pushed = block.map((row) => dot(row, unit[i]));
      radial = Math.max(radial, norm(add(pushed, unit[j], -dot(pushed, unit[j]))));
      fastest = Math.max(fastest, largestFactor(block));
    }
  }
  return radial / fastest;
}

/** {before, after}: the embeddings of all users, and after one step of SGD on one user alone, whose gradient of length 1 stands at a right angle to q. */
export function pushed({ tower, follow, lr, seed }) {
  const draws = draw(seed, 0);
  const { start, embed, pullBack } = TOWERS[tower];
  const parameters = start(draws);
  const before = embed(parameters, draws);
  const [x, y] = scale(before[follow - 1], 1 / norm(before[follow - 1]));
  const slopes = pullBack(parameters, before.map((_, user) => (user === follow - 1 ? [y, -x] : [0, 0])), draws);
  return { before, after: embed(parameters.map((p, k) => sgd(p, slopes[k], lr)), draws) };
}

/** The largest singular value of a 2 x 2 matrix. */
function largestFactor([[a, b], [c, d]]) {
  const squares = a * a + b * b + c * c + d * d;
  return Math.sqrt((squares + Math.sqrt(Math.max(0, squares ** 2 - 4 * (a * d - b * c) ** 2))) / 2);
}

// ---- losses of a batch: value, and the gradients of the users' and of the items' embeddings ------------------------------------

/** What remains of a gradient of the direction u = q/|q| when it is carried to q: its tangential part, over |q|. */
const throughDirection = (gradient, u, length) => scale(add(gradient, u, -dot(gradient, u)), 1 / length);

const units = (rows) => rows.map((row) => scale(row, 1 / norm(row)));

/** The mean of -log softmax(scores / tau) on the diagonal, and its slopes, which take the place of the scores. */
function softmaxLoss(scores, tau) {
  const size = scores.length;
  let value = 0;
  for (let i = 0; i < size; i += 1) {
    const row = scores[i];
    let most = row[0];
    for (let j = 1; j < size; j += 1) if (row[j] > most) most = row[j];
    most /= tau;
    let total = 0;
    for (let j = 0; j < size; j += 1) total += row[j] = Math.exp(row[j] / tau - most);
    value -= Math.log(row[i] / total);
    for (let j = 0; j < size; j += 1) row[j] = (row[j] / total - Number(i === j)) / (tau * size);
  }
  return { value: value / size, slopes: scores };
}

export const BATCH_LOSSES = {
  infonce(q, k) {
    const [u, v] = [units(q), units(k)];
    const { value, slopes } = softmaxLoss(products(u, v), TAU.infonce);
    return {
      value,
      q: products(slopes, transposed(v)).map((row, i) => throughDirection(row, u[i], norm(q[i]))),
      k: crossed(slopes, u).map((row, i) => throughDirection(row, v[i], norm(k[i]))),
    };
  },
  cosine_squared(q, k) {
    const [u, v] = [units(q), units(k)];
    const cosines = u.map((row, i) => dot(row, v[i]));
    const slopes = cosines.map((c) => (-2 * (1 - c)) / q.length);
    return {
      value: cosines.reduce((sum, c) => sum + (1 - c) ** 2, 0) / q.length,
      q: u.map((row, i) => throughDirection(scale(v[i], slopes[i]), row, norm(q[i]))),
      k: v.map((row, i) => throughDirection(scale(u[i], slopes[i]), row, norm(k[i]))),
    };
  },
  infonce_dot(q, k) {
    const { value, slopes } = softmaxLoss(products(q, k), TAU.infonce_dot);
    return { value, q: products(slopes, transposed(k)), k: crossed(slopes, q) };
  },
};

// ---- optimisers: one step of one parameter; `memory` is its own, empty at first; touched(row) -----------------------

const zeros = (p) => mapped(() => 0, p);
const sgd = (p, g, lr) => mapped((value, slope) => value - lr * slope, p, g);

export const OPTIMISERS = {
  sgd,
  momentum(p, g, lr, memory) {
    memory.v = mapped((v, slope) => MOMENTUM * v + slope, memory.v ?? zeros(p), g);
    return sgd(p, memory.v, lr);
  },
  decay: (p, g, lr) => mapped((value, slope) => value - lr * (slope + DECAY * value), p, g),
  lazy_decay: (p, g, lr, memory, touched) => p.map((row, i) => {
    const kept = touched(i) ? 1 - lr * DECAY : 1;
    return row.map((value, j) => value * kept - lr * g[i][j]);
  }),
  row_adagrad(p, g, lr, memory) {
    memory.sum = g.map((row, i) => (memory.sum?.[i] ?? 0) + dot(row, row) / row.length);
    return p.map((row, i) => row.map((value, j) => value - (lr * g[i][j]) / (Math.sqrt(memory.sum[i]) + 1e-10)));
  },
  adagrad(p, g, lr, memory) {
    memory.sum = mapped((sum, slope) => sum + slope ** 2, memory.sum ?? zeros(p), g);
    return mapped((value, slope, sum) => value - (lr * slope) / (Math.sqrt(sum) + 1e-10), p, g, memory.sum);
  },
  lazy_adam(p, g, lr, memory, touched) {
    const old = { m: memory.m ?? zeros(p), v: memory.v ?? zeros(p) };
    const moved = OPTIMISERS.adam(p, g, lr, memory, touched, false);
    for (const name of ["m", "v"]) memory[name] = memory[name].map((row, i) => (touched(i) ? row : old[name][i]));
    return p.map((row, i) => (touched(i) ? moved[i] : row));
  },
  adam(p, g, lr, memory, touched, late = true) { // late: epsilon after the correction of v (Adam), or before (SparseAdam)
    memory.t = (memory.t ?? 0) + 1;
    memory.m = mapped((m, slope) => 0.9 * m + (1 - 0.9) * slope, memory.m ?? zeros(p), g);
    memory.v = mapped((v, slope) => 0.999 * v + (1 - 0.999) * slope ** 2, memory.v ?? zeros(p), g);
    const [first, second] = [1 - 0.9 ** memory.t, 1 - 0.999 ** memory.t];
    const epsilon = late ? 1e-8 : 1e-8 / Math.sqrt(second);
    return mapped((value, m, v) => value - (lr * (m / first)) / (Math.sqrt(v / second) + epsilon), p, memory.m, memory.v);
  },
};

// ---- the run --------------------------------------------------------------------------------------------------------------------------

/** A training that goes on where it stopped, for whoever asks for more steps. */
export class Training {
  constructor({ tower, optimiser, loss, batch_size: batchSize, lr, seed }) {
    const draws = draw(seed, batchSize);
    const parameters = TOWERS[tower].start(draws);
    Object.assign(this, { tower: TOWERS[tower], optimise: OPTIMISERS[optimiser], loss: BATCH_LOSSES[loss], lr, draws, parameters, items: draws.items });
    this.memory = parameters.map(() => ({}));
    this.path = [this.tower.embed(parameters, draws)];
    this.norms = [this.path[0].map(norm)];
    Object.assign(this, { losses: [], moves: [], pulls: [], ended: false });
  }

  /**
   * path[t][user] = q, norms[t][user], losses[t], moves = [step, user, angle of dq to q in degrees] of the users of each batch
   * that moved, pulls = for each of these moves the angles of minus the gradient to q and to dq.
   */
  to(steps) {
    while (this.losses.length < steps && !this.ended) this.step();
    const [path, norms] = [this.path.slice(0, steps + 1), this.norms.slice(0, steps + 1)];
    const moves = this.moves.filter(([t]) => t < steps);
    return { path, norms, losses: this.losses.slice(0, steps), moves, pulls: this.pulls.slice(0, moves.length) };
  }

  step() {
    const { draws, lr, tower } = this;
    const t = this.losses.length;
    const pairs = draws.batch().map(pair);
    const before = this.path[t];
    const found = this.loss(pairs.map(([user]) => before[user]), pairs.map(([, item]) => this.items[item]));
    const gradient = summed(pairs.map(([user]) => user), found.q);
    const gradients = tower.pullBack(this.parameters, gradient, draws);
    const users = [...new Set(pairs.map(([user]) => user))].sort((a, b) => a - b);
    const touched = (i) => (row) => tower.shared || i > 0 || users.includes(row);
    this.parameters = this.parameters.map((p, i) => this.optimise(p, gradients[i], lr, this.memory[i], touched(i)));
    this.items = sgd(this.items, summed(pairs.map(([, item]) => item), found.k), lr);
    const after = tower.embed(this.parameters, draws);
    this.path.push(after);
    this.norms.push(after.map(norm));
    this.losses.push(found.value);
    for (const user of users) {
      const move = add(after[user], before[user], -1);
      if (norm(move) <= STILL * norm(before[user])) continue;
      const pull = scale(gradient[user], -1);
      this.moves.push([t, user, angleOf(before[user], move)]);
      this.pulls.push([angleOf(pull, before[user]), angleOf(pull, move)]);
    }
    this.ended = !after.every((q) => norm(q) <= 1e6);
  }
}

/** The whole of a training. */
export const train = (state) => new Training(state).to(state.steps);

/** Rows of a batch added up by identifier: (B, d) -> (n, d). */
function summed(identifiers, rows) {
  const total = matrix(USERS, WIDTH, () => 0);
  identifiers.forEach((id, i) => rows[i].forEach((value, j) => (total[id][j] += value)));
  return total;
}

/** In the plane, in degrees; 90 where there is no direction. */
const angleOf = (a, b) => (a.some(Boolean) && b.some(Boolean) ? (Math.abs(Math.atan2(a[0] * b[1] - a[1] * b[0], dot(a, b))) * 180) / Math.PI : 90);
