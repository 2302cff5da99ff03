// The two scalars of one user: the loss (13) of P1 that learns them, its minimum, and the ranks that the served embedding (14) gives.
//
// Same formulas as course_lib.correction and course_lib.popularity (tests/lessons/ddc/test_widget.py compares them). Nothing here touches a page.
import { average, byFalling, inner, popularityDirection, unpack } from "../shared/widgets/tables.js";

export const WORLD = { window: { alpha: [-3, 3], beta: [-1, 5] }, points: 25, ratio: 0.05, top: 0.3, list: 10 };

/** The values of one scalar on the grid. */
export function gridAxis(name) {
  const [low, high] = WORLD.window[name];
  return Array.from({ length: WORLD.points }, (_, k) => low + (k * (high - low)) / (WORLD.points - 1));
}

const scale = (row, factor) => row.map((value) => value * factor);
const plus = (a, b) => a.map((value, k) => value + b[k]);

/** A packed table of items, all moved along the axis of popularity by `shift` standard deviations; that axis, and the deviation. */
export function movedItems(packed, counts, shift) {
  const table = unpack(packed);
  const { direction } = popularityDirection(table, counts, WORLD.ratio);
  const along = table.map((row) => inner(row, direction));
  const middle = average(along);
  const unit = Math.sqrt(average(along.map((value) => (value - middle) ** 2)));
  return { items: table.map((row) => plus(row, scale(direction, shift * unit))), direction, unit };
}

/** The items of a history with the highest scores: the sum of their rows gives the preference direction, (10) of P1. */
export const favouritesOf = (scores, history) => history.slice().sort((i, j) => scores[j] - scores[i] || i - j).slice(0, Math.ceil(Number((WORLD.top * history.length).toFixed(9))));

/** One user in front of frozen items, all moved along the axis of popularity by `shift` standard deviations. */
export function userOf({ items: packed, counts, people, person, shift }) {
  const { vector, history, test, seen } = people[person];
  const { items, direction } = movedItems(packed, counts, shift);
  const scores = Float64Array.from(items, (row) => inner(row, vector));
  const sum = favouritesOf(scores, history).map((item) => items[item]).reduce(plus);
  const preference = scale(sum, 1 / Math.sqrt(inner(sum, sum)));
  const known = new Set(history);
  const hidden = new Set([...history, ...seen]);
  const all = counts.map((_, item) => item);
  return {
    history, test, counts, scores, a: Float64Array.from(items, (row) => inner(row, preference)), b: Float64Array.from(items, (row) => inner(row, direction)),
    others: all.filter((item) => !known.has(item)), candidates: all.filter((item) => !hidden.has(item)),
    tilt: inner(preference, direction),
  };
}

/** Scores s + beta a + alpha b of some items: those of the embedding that is served, (14). */
export function final({ scores, a, b }, alpha, beta, items) {
  const found = new Float64Array(items.length);
  for (let k = 0; k < items.length; k += 1) found[k] = scores[items[k]] + beta * a[items[k]] + alpha * b[items[k]];
  return found;
}

const HELD = 700; // exp(700) is still a number

/** Sum of log(1 + odd * share) over all odds up to `most`: products of as many factors as a number holds, four at a time, then one logarithm. */
function sumOfLogs(odds, most, share) {
  const block = Math.floor(HELD / (Math.log1p(most * share) + 1e-3));
  let total = 0;
  for (let from = 0; from < odds.length; from += block) {
    const to = Math.min(from + block, odds.length);
    let p = 1;
    let q = 1;
    let r = 1;
    let s = 1;
    let j = from;
    for (; j + 3 < to; j += 4) {
      p *= 1 + odds[j] * share;
      q *= 1 + odds[j + 1] * share;
      r *= 1 + odds[j + 2] * share;
      s *= 1 + odds[j + 3] * share;
    }
    for (; j < to; j += 1) p *= 1 + odds[j] * share;
    total += Math.log(p * q * r * s);
  }
  return total;
}

/** Mean of log(1 + exp(y - x)) over all pairs. */
function meanSoftplus(xs, ys) {
  const low = Math.min(...xs);
  const largest = Math.max(...ys) - low;
  if (largest > HELD / 2) return average([...xs].map((x) => average([...ys].map((y) => (y - x > 40 ? y - x : Math.log1p(Math.exp(y - x)))))));
  const odds = ys.map((y) => Math.exp(y - low));
  return xs.reduce((total, x) => total + sumOfLogs(odds, Math.exp(largest), Math.exp(low - x)), 0) / (xs.length * ys.length);
}

/** (13) over all pairs of the user; "served": BPR's loss of the embedding that is served. */
export function loss(user, alpha, beta, view) {
  const both = view === "served";
  return meanSoftplus(final(user, both ? alpha : 0, beta, user.history), final(user, alpha, both ? beta : 0, user.others));
}

const sides = (values) => [Math.min(...values), Math.max(...values)];
export const ofPositives = ({ a, history }) => sides(history.map((item) => a[item]));
export const ofNegatives = ({ b, others }) => sides(others.map((item) => b[item]));

/** Whether the loss (13) has a minimum: both scalars must be held back from both sides. */
export const hasMinimum = (user) => [ofPositives(user), ofNegatives(user)].every(([least, most]) => least < 0 && most > 0);

/** [alpha, beta] of the least loss (13), by damped Newton steps; null where there is none. */
export function optimum(user) {
  if (!hasMinimum(user)) return null;
  const { a, b, history, others } = user;
  let [alpha, beta] = [0, 0];
  for (let round = 0; round < 200; round += 1) {
    const { slope, bend } = bendsOf(final(user, 0, beta, history), final(user, alpha, 0, others), history.map((item) => a[item]), others.map((item) => b[item]));
    const determinant = Math.max(bend[0] * bend[2] - bend[1] ** 2, Number.MIN_VALUE);
    const step = [(bend[1] * slope[1] - bend[2] * slope[0]) / determinant, (bend[1] * slope[0] - bend[0] * slope[1]) / determinant];
    const gain = -(slope[0] * step[0] + slope[1] * step[1]) / 2;
    const before = loss(user, alpha, beta, "ddc");
    let part = 1;
    while (gain > 1e-8 && part > 1e-10 && loss(user, alpha + part * step[0], beta + part * step[1], "ddc") > before - 0.1 * part * gain) part /= 2;
    alpha += part * step[0];
    beta += part * step[1];
    if (!(gain > 1e-20 * (1 + before))) break;
  }
  return [alpha, beta];
}

/** Slope and second derivatives of (13) in alpha and beta: x and y are the two sides of the margins, a and b their projections. */
function bendsOf(x, y, a, b) {
  const slope = [0, 0];
  const bend = [0, 0, 0];
  for (let i = 0; i < x.length; i += 1) {
    for (let j = 0; j < y.length; j += 1) {
      const w = 1 / (1 + Math.exp(x[i] - y[j]));
      const v = w * (1 - w);
      slope[0] += w * b[j];
      slope[1] -= w * a[i];
      bend[0] += v * b[j] * b[j];
      bend[1] -= v * b[j] * a[i];
      bend[2] += v * a[i] * a[i];
    }
  }
  const mean = (sum) => sum / (x.length * y.length);
  return { slope: slope.map(mean), bend: bend.map(mean) };
}

const above = (scores, score) => {
  let many = 0;
  for (let k = 0; k < scores.length; k += 1) many += scores[k] > score ? 1 : 0;
  return many;
};

/** Ranks of some items among the candidates, 1 for the best. */
export function ranks(user, alpha, beta, items = user.test) {
  const rivals = final(user, alpha, beta, user.candidates);
  return Array.from(final(user, alpha, beta, items), (score) => 1 + above(rivals, score));
}

/** Rank of the test item that stands highest. */
export const bestRank = (user, alpha, beta) => 1 + above(final(user, alpha, beta, user.candidates), Math.max(...final(user, alpha, beta, user.test)));

/** The list: the candidates with the highest scores. */
export const listOf = (user, alpha, beta) => byFalling([...final(user, alpha, beta, user.candidates)]).slice(0, WORLD.list).map((place) => user.candidates[place]);

/** The point of the grid where the first test item stands highest, of several the one nearest to the model. */
export function bestOf(user) {
  let best = null;
  for (const beta of gridAxis("beta")) {
    for (const alpha of gridAxis("alpha")) {
      const rated = { point: [alpha, beta], rank: bestRank(user, alpha, beta), far: alpha ** 2 + beta ** 2 };
      if (!best || rated.rank < best.rank || (rated.rank === best.rank && rated.far < best.far - 1e-9)) best = rated;
    }
  }
  return best.point;
}

/** Losses on the grid: a row for each beta, a column for each alpha. An exponential for each row and each column, none for a pair. */
export function surface(user, view) {
  const both = view === "served" ? 1 : 0;
  const [alphas, betas] = [gridAxis("alpha"), gridAxis("beta")];
  const { history, others } = user;
  const ends = [alphas[0], alphas.at(-1)].flatMap((alpha) => [betas[0], betas.at(-1)].flatMap((beta) =>
    [...final(user, both * alpha, beta, history), ...final(user, alpha, both * beta, others)]));
  const largest = Math.max(...ends) - Math.min(...ends);
  if (largest > HELD / 2) return betas.map((beta) => alphas.map((alpha) => loss(user, alpha, beta, view)));
  const low = Math.min(...ends);
  const columns = alphas.map((alpha) => final(user, alpha, 0, others).map((y) => Math.exp(y - low)));
  const odds = new Float64Array(others.length);
  return betas.map((beta) => {
    const factors = Float64Array.from(others, (item) => (both ? Math.exp(beta * user.a[item]) : 1));
    return alphas.map((alpha, column) => {
      let most = 0;
      for (let j = 0; j < odds.length; j += 1) {
        odds[j] = columns[column][j] * factors[j];
        most = odds[j] > most ? odds[j] : most;
      }
      const total = final(user, both * alpha, beta, history).reduce((sum, x) => sum + sumOfLogs(odds, most, Math.exp(low - x)), 0);
      return total / (history.length * others.length);
    });
  });
}

/** Losses of nine lines: the tenth, two tenths, ... of the grid lie below. */
export function levels(grid) {
  const ordered = Float64Array.from(grid.flat()).sort();
  return Array.from({ length: 9 }, (_, k) => ordered[Math.floor(((k + 1) * ordered.length) / 10)]);
}

const CORNERS = [[0, 0], [1, 0], [1, 1], [0, 1]];

/** Pieces [[x, y], [x, y]] of the line where a grid has one level, in steps of the grid: one or two in each cell that it crosses. */
export function isoline(grid, level) {
  const pieces = [];
  for (let row = 0; row + 1 < grid.length; row += 1) {
    for (let column = 0; column + 1 < grid[0].length; column += 1) {
      const below = (grid[row][column] < level) + (grid[row][column + 1] < level) + (grid[row + 1][column] < level) + (grid[row + 1][column + 1] < level);
      if (below === 0 || below === 4) continue;
      const crossings = CORNERS.flatMap(([dx, dy], k) => {
        const [nx, ny] = CORNERS[(k + 1) % 4];
        const [value, next] = [grid[row + dy][column + dx], grid[row + ny][column + nx]];
        if (value >= level === next >= level) return [];
        const part = (level - value) / (next - value);
        return [[column + dx + part * (nx - dx), row + dy + part * (ny - dy)]];
      });
      for (let k = 0; k + 1 < crossings.length; k += 2) pieces.push([crossings[k], crossings[k + 1]]);
    }
  }
  return pieces;
}

const meanCount = (user, items) => average(items.map((item) => user.counts[item]));

/** What belongs to a user, whatever their scalars are. */
export function study(state) {
  const user = userOf(state);
  return {
    user, minimum: optimum(user), best: bestOf(user), ranksOfModel: ranks(user, 0, 0), lossOfModel: loss(user, 0, 0, "ddc"), popularOfModel: meanCount(user, listOf(user, 0, 0)),
  };
}

/** What the scalars of a user make of them. */
export function analyse({ alpha, beta }, studied) {
  const { user } = studied;
  const list = listOf(user, alpha, beta);
  return { ...studied, losses: ["ddc", "served"].map((view) => loss(user, alpha, beta, view)), ranks: ranks(user, alpha, beta), list, popular: meanCount(user, list) };
}

/** What a score is made of: base, preference, popularity. */
export const partsOf = ({ scores, a, b }, { alpha, beta }, item) => [scores[item], beta * a[item], alpha * b[item]];

// ---- several trainings, the lists of some people, and what the two scalars make of them, alone and together (test_over_seeds.py)

export const SHIFTS = [-2, -1, 0, 1, 2]; // for which DDC was solved
export const ALONE = { model: [0, 0], alpha: [1, 0], beta: [0, 1], both: [1, 1] }; // shares of alpha and of beta

/**
 * What the scores of the people are made of in one training, whatever is served. To move all items by t e_pop adds a number to all scores of a
 * person, and turns the sum of k best items by k t e_pop, so that `lean` is all that changes; what a person has seen never stands in a list.
 */
export function trainingOf({ users, items: packed, alpha, beta }, { counts, history, seen, test }) {
  const { items, direction, unit } = movedItems(packed, counts, 0);
  const people = users.map((vector, k) => {
    const scores = Float64Array.from(items, (row) => inner(row, vector));
    const favourites = favouritesOf(scores, history[k]);
    const sum = favourites.map((item) => items[item]).reduce((one, other) => one.map((value, axis) => value + other[axis]));
    for (const item of [...history[k], ...seen[k]]) scores[item] = -Infinity;
    return { scores, a: Float64Array.from(items, (row) => inner(row, sum)), many: favourites.length, square: inner(sum, sum), along: inner(sum, direction), test: new Set(test[k]), id: k };
  });
  return { people, b: Float64Array.from(items, (row) => inner(row, direction)), unit, alpha, beta };
}

/** How far along the axes of `a` and `b` the vector of a person is moved by these shares of their scalars. */
function pushOf({ many, square, along, id }, { unit, alpha, beta }, shift, [shareOfAlpha, shareOfBeta]) {
  const place = SHIFTS.indexOf(shift);
  const lean = many * shift * unit;
  const y = (shareOfBeta * beta[place][id]) / Math.sqrt(square + 2 * lean * along + lean * lean);
  return [shareOfAlpha * alpha[place][id] + y * lean, y];
}

/** The list of a person: the highest scores first, equal ones by the lower id. */
function servedList({ scores, a }, b, [x, y]) {
  const [list, best] = [new Int32Array(WORLD.list), new Float64Array(WORLD.list).fill(-Infinity)];
  const last = WORLD.list - 1;
  for (let item = 0; item < b.length; item += 1) {
    const score = scores[item] + y * a[item] + x * b[item];
    if (!(score > best[last])) continue;
    let at = last;
    for (; at > 0 && best[at - 1] < score; at -= 1) [best[at], list[at]] = [best[at - 1], list[at - 1]];
    [best[at], list[at]] = [score, item];
  }
  return list;
}

/** Mean count of what the lists show, and mean reciprocal rank of the first test item in them. */
function listsOf(training, counts, shift, shares) {
  let [popular, ranks] = [0, 0];
  const { people, b } = training;
  for (const person of people) {
    const list = servedList(person, b, pushOf(person, training, shift, shares));
    for (const item of list) popular += counts[item] / list.length;
    const place = list.findIndex((item) => person.test.has(item));
    ranks += place < 0 ? 0 : 1 / (place + 1);
  }
  return { popular: popular / people.length, mrr: ranks / people.length };
}

/** What belongs to a place of the items: for each training its lists with none, one and both of the scalars, and the share of negative alphas. */
export const markAll = (trainings, { counts, shift }) => trainings.map((training) => ({
  ...training,
  negative: average(training.alpha[SHIFTS.indexOf(shift)].map((value) => Number(value < 0))),
  marks: Object.fromEntries(Object.entries(ALONE).map(([name, shares]) => [name, listsOf(training, counts, shift, shares)])),
}));

/** Change in percent of what the model has. */
export const changes = (now, { model }) => ["popular", "mrr"].map((what) => 100 * (now[what] / model[what] - 1));

/** For each training: its lists with these shares, and how far they are from the model's. */
export const analyseAll = ({ counts, alpha, beta, shift }, marked) => marked.map((training) => {
  const known = Object.keys(ALONE).find((name) => ALONE[name][0] === alpha && ALONE[name][1] === beta);
  const now = known ? training.marks[known] : listsOf(training, counts, shift, [alpha, beta]);
  return { ...training, now, change: changes(now, training.marks) };
});
