// Several trainings of one model, the lists of some people, and what DDC's two scalars make of them, alone and together.
//
// Same numbers as course_lib.losses and course_lib.metrics (tests/lessons/ddc/test_over_seeds.py compares them). Nothing here touches a page.
import { average, inner } from "../shared/widgets/tables.js";
import { WORLD, favouritesOf, movedItems } from "./two_scalars_math.js";

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
