// The two scalars of one user: the loss (13) of P1 that learns them, its minimum, and the ranks that the served embedding (14) gives.
//
// Same computation as course_lib.lessons.ddc.two_scalars, whose formulas are those of course_lib.maths.correction and course_lib.maths.popularity
// (tests/lessons/ddc/test_widget.py compares them). Nothing here touches a page.
import { number } from "../shared/widgets/kit.js";
import { average, byFalling, inner, popularityDirection, unpack } from "../shared/widgets/tables.js";

export const WORLD = { window: { alpha: [-3, 3], beta: [-1, 5] }, points: 25, ratio: 0.05, top: 0.3, list: 10 };
export const PEOPLE = ["Ann", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gwen", "Hugo"];

/** The values of one scalar on the grid. */
export function gridAxis(name) {
  const [low, high] = WORLD.window[name];
  return Array.from({ length: WORLD.points }, (_, k) => low + (k * (high - low)) / (WORLD.points - 1));
}

const scale = (row, factor) => row.map((value) => value * factor);
const plus = (a, b) => a.map((value, k) => value + b[k]);

/** One user in front of frozen items, all moved along the axis of popularity by `shift` standard deviations. */
export function userOf({ items: packed, counts, people, person, shift }) {
  const { vector, history, test, seen } = people[person];
  const table = unpack(packed);
  const { direction, length } = popularityDirection(table, counts, WORLD.ratio);
  const along = table.map((row) => inner(row, direction));
  const middle = average(along);
  const step = shift * Math.sqrt(average(along.map((value) => (value - middle) ** 2)));
  const items = table.map((row) => plus(row, scale(direction, step)));
  const scores = items.map((row) => inner(row, vector));
  const favourites = history.slice().sort((i, j) => scores[j] - scores[i] || i - j).slice(0, Math.ceil(Number((WORLD.top * history.length).toFixed(9))));
  const sum = favourites.map((item) => items[item]).reduce(plus);
  const preference = scale(sum, 1 / Math.sqrt(inner(sum, sum)));
  const known = new Set(history);
  const hidden = new Set([...history, ...seen]);
  const all = counts.map((_, item) => item);
  return {
    history, test, counts, scores, a: items.map((row) => inner(row, preference)), b: items.map((row) => inner(row, direction)),
    others: all.filter((item) => !known.has(item)), candidates: all.filter((item) => !hidden.has(item)),
    tilt: inner(preference, direction), gap: length,
  };
}

/** Scores of the embedding that is served, of some items. */
export const final = ({ scores, a, b }, alpha, beta, items) => items.map((item) => scores[item] + beta * a[item] + alpha * b[item]);

/** Mean of log(1 + exp(y - x)) over all pairs: products of many factors, then one logarithm. */
function meanSoftplus(xs, ys) {
  const [low, high] = [Math.min(...xs), Math.max(...ys)];
  if (high - low > 300) return average(xs.map((x) => average(ys.map((y) => (y - x > 40 ? y - x : Math.log1p(Math.exp(y - x)))))));
  const odds = ys.map((y) => Math.exp(y - low));
  let total = 0;
  for (const x of xs) {
    const share = Math.exp(low - x);
    let product = 1;
    for (const odd of odds) {
      product *= 1 + odd * share;
      if (product > 1e150) {
        total += Math.log(product);
        product = 1;
      }
    }
    total += Math.log(product);
  }
  return total / (xs.length * ys.length);
}

/** (13) over all pairs of the user; "served": BPR's loss of the embedding that is served. */
export function loss(user, alpha, beta, view) {
  if (view === "served") return meanSoftplus(final(user, alpha, beta, user.history), final(user, alpha, beta, user.others));
  const { scores, a, b, history, others } = user;
  return meanSoftplus(history.map((item) => scores[item] + beta * a[item]), others.map((item) => scores[item] + alpha * b[item]));
}

const sides = (values) => [Math.min(...values), Math.max(...values)];
const ofPositives = ({ a, history }) => sides(history.map((item) => a[item]));
const ofNegatives = ({ b, others }) => sides(others.map((item) => b[item]));

/** Whether the loss (13) has a minimum: both scalars must be held back from both sides. */
export const hasMinimum = (user) => [ofPositives(user), ofNegatives(user)].every(([least, most]) => least < 0 && most > 0);

/** [alpha, beta] of the least loss (13), by damped Newton steps; null where there is none. */
export function optimum(user) {
  if (!hasMinimum(user)) return null;
  const { scores, a, b, history, others } = user;
  const pairs = history.length * others.length;
  let [alpha, beta] = [0, 0];
  for (let round = 0; round < 200; round += 1) {
    const xs = history.map((item) => scores[item] + beta * a[item]);
    const ys = others.map((item) => scores[item] + alpha * b[item]);
    const slope = [0, 0];
    const bend = [0, 0, 0];
    history.forEach((positive, i) => others.forEach((negative, j) => {
      const w = 1 / (1 + Math.exp(xs[i] - ys[j]));
      const [ai, bj] = [a[positive], b[negative]];
      slope[0] += (w * bj) / pairs;
      slope[1] -= (w * ai) / pairs;
      bend[0] += (w * (1 - w) * bj * bj) / pairs;
      bend[1] -= (w * (1 - w) * bj * ai) / pairs;
      bend[2] += (w * (1 - w) * ai * ai) / pairs;
    }));
    const determinant = Math.max(bend[0] * bend[2] - bend[1] ** 2, Number.MIN_VALUE);
    const step = [(bend[1] * slope[1] - bend[2] * slope[0]) / determinant, (bend[1] * slope[0] - bend[0] * slope[1]) / determinant];
    const gain = -(slope[0] * step[0] + slope[1] * step[1]) / 2;
    const before = meanSoftplus(xs, ys);
    let part = 1;
    while (gain > 1e-8 && part > 1e-10 && loss(user, alpha + part * step[0], beta + part * step[1], "ddc") > before - 0.1 * part * gain) part /= 2;
    alpha += part * step[0];
    beta += part * step[1];
    if (!(gain > 1e-20 * (1 + before))) break;
  }
  return [alpha, beta];
}

/** Ranks of some items among the candidates, 1 for the best. */
export function ranks(user, alpha, beta, items = user.test) {
  const rivals = final(user, alpha, beta, user.candidates);
  return final(user, alpha, beta, items).map((score) => 1 + rivals.reduce((above, rival) => above + (rival > score), 0));
}

/** The list: the candidates with the highest scores. */
export function listOf({ candidates, ...user }, alpha, beta) {
  return byFalling(final(user, alpha, beta, candidates)).slice(0, WORLD.list).map((place) => candidates[place]);
}

/** The point of the grid where the first test item stands highest, of several the one nearest to the model. */
export function bestOf(user) {
  let best = null;
  for (const beta of gridAxis("beta")) {
    for (const alpha of gridAxis("alpha")) {
      const rated = { point: [alpha, beta], rank: Math.min(...ranks(user, alpha, beta)), far: alpha ** 2 + beta ** 2 };
      if (!best || rated.rank < best.rank || (rated.rank === best.rank && rated.far < best.far - 1e-9)) best = rated;
    }
  }
  return best.point;
}

/** Losses on the grid: a row for each beta, a column for each alpha. */
export const surface = (user, view) => gridAxis("beta").map((beta) => gridAxis("alpha").map((alpha) => loss(user, alpha, beta, view)));

/** Losses of nine lines: the tenth, two tenths, ... of the grid lie below. */
export function levels(grid) {
  const ordered = grid.flat().sort((a, b) => a - b);
  return Array.from({ length: 9 }, (_, k) => ordered[Math.floor(((k + 1) * ordered.length) / 10)]);
}

/** Pieces [[x, y], [x, y]] of the line where a grid has one level, in steps of the grid: one or two in each cell that it crosses. */
export function isoline(grid, level) {
  const pieces = [];
  const corners = [[0, 0], [1, 0], [1, 1], [0, 1]];
  for (let row = 0; row + 1 < grid.length; row += 1) {
    for (let column = 0; column + 1 < grid[0].length; column += 1) {
      const values = corners.map(([dx, dy]) => grid[row + dy][column + dx]);
      const crossings = corners.flatMap(([dx, dy], k) => {
        const [value, next, [nx, ny]] = [values[k], values[(k + 1) % 4], corners[(k + 1) % 4]];
        if (value >= level === next >= level) return [];
        const part = (level - value) / (next - value);
        return [[column + dx + part * (nx - dx), row + dy + part * (ny - dy)]];
      });
      for (let k = 0; k + 1 < crossings.length; k += 2) pieces.push([crossings[k], crossings[k + 1]]);
    }
  }
  return pieces;
}

/** What belongs to a user, whatever their scalars are. */
export function study(state) {
  const user = userOf(state);
  return { user, minimum: optimum(user), best: bestOf(user), ranksOfModel: ranks(user, 0, 0), lossOfModel: loss(user, 0, 0, "ddc") };
}

/** What the scalars of a user make of them. */
export function analyse({ alpha, beta }, studied) {
  const { user } = studied;
  return {
    ...studied, losses: ["ddc", "served"].map((view) => loss(user, alpha, beta, view)), ranks: ranks(user, alpha, beta),
    list: listOf(user, alpha, beta), popular: [listOf(user, 0, 0), listOf(user, alpha, beta)].map((some) => average(some.map((item) => user.counts[item]))),
  };
}

// ---- words: course_lib.lessons.ddc.two_scalars writes the same ones -----------------------------------------------------------

export const lossText = (value) => value.toFixed(3);
/** 1 standard deviation, −2 standard deviations. */
export const deviations = (shift) => `${number(shift)} standard deviation${Math.abs(shift) === 1 ? "" : "s"}`;
export const pointText = ([alpha, beta]) => `α = ${number(alpha)}, β = ${number(beta)}`;
export const nameOf = ({ names }, item) => names[item] ?? `item ${item}`;

export function summary(state, found) {
  return [aboutLosses(state, found), aboutRanks(state, found), aboutOptimum(found), aboutShift(state)].filter(Boolean).join(" ");
}

function aboutLosses({ person, alpha, beta }, { user, losses, lossOfModel }) {
  return `${PEOPLE[person]} has ${user.history.length} items. ${pointText([alpha, beta])}: DDC loss ${lossText(losses[0])}, loss of the embedding ` +
    `that is served ${lossText(losses[1])}; the model has ${lossText(lossOfModel)} for both.`;
}

function aboutRanks(state, { user, ranksOfModel, ranks: now, popular }) {
  const moves = user.test.map((item, k) => `${nameOf(state, item)} ${ranksOfModel[k]} → ${now[k]}`).join(", ");
  return `Ranks of the test items, model → now: ${moves}. Mean count of the ten items shown: ${popular.map(number).join(" → ")}.`;
}

export function aboutOptimum({ user, minimum, best }) {
  const first = ([alpha, beta]) => Math.min(...ranks(user, alpha, beta));
  const reach = `The best rank on the grid is ${first(best)}, at ${pointText(best)}.`;
  if (!minimum) return `The DDC loss has no minimum: ${missing(user).join(" and ")}. ${reach}`;
  return `The DDC loss is least at ${pointText(minimum)}, where the best test item has rank ${first(minimum)}. ${reach}`;
}

/** Why there is no minimum. */
function missing(user) {
  const reasons = [
    [ofPositives(user), "no item of this user has a negative projection on e_pref, so a larger β only gains", "all items of this user have a negative projection on e_pref"],
    [ofNegatives(user), "no negative has a negative projection on e_pop, so a smaller α only gains", "no negative has a positive projection on e_pop, so a larger α only gains"],
  ];
  return reasons.flatMap(([[least, most], positive, negative]) => (least >= 0 ? [positive] : most <= 0 ? [negative] : []));
}

function aboutShift({ shift }) {
  return shift ? `All items are moved by ${deviations(shift)} along e_pop: no margin and no ranking of the model has changed.` : "";
}

export const HEADS = ["Item", "Count", "Rank, model", "Rank now", "Base score", "β a", "α b", "Score"];

/** What a score is made of: base, preference, popularity. */
export const partsOf = ({ scores, a, b }, { alpha, beta }, item) => [scores[item], beta * a[item], alpha * b[item]];

/** The test items and the list. */
export function rowsOf(state, { user, list: shown }) {
  return [...new Set([...user.test, ...shown])].map((item) => {
    const name = user.test.includes(item) ? `${nameOf(state, item)} (test)` : nameOf(state, item);
    const [before, now] = [ranks(user, 0, 0, [item]), ranks(user, state.alpha, state.beta, [item])].flat();
    const parts = partsOf(user, state, item);
    return [name, ...[user.counts[item], before, now].map(String), ...[...parts, ...final(user, state.alpha, state.beta, [item])].map(number)];
  });
}

/** Lines of Python that show the same state in a notebook. */
export function asPython({ stored, person, alpha, beta, shift, view }) {
  const given = stored ? "" : "\nusers, items, train, test = ...  # a trained model and its data; chosen and names as you had them";
  return `from course_lib.lessons.ddc.two_scalars import TwoScalars${given}\nTwoScalars(${stored ? "" : "users, items, train, test, "}person=${person}, alpha=${alpha}, beta=${beta}, ` +
    `shift=${shift}, view="${view}")`;
}
