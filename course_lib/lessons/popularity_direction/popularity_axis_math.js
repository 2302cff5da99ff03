// The axis (4) of P1 through a cloud of item embeddings, the correlation of projection and count along it, and what chance gives.
//
// Same computation as course_lib.lessons.popularity_direction.popularity_axis, whose formulas are those of course_lib.maths.popularity
// (tests/lessons/popularity_direction/test_widget.py compares them). Nothing here touches a page.
import { number } from "../shared/widgets/kit.js";
import { bell, randomGenerator } from "../shared/widgets/random.js";
import { average, byFalling, inner, popularityDirection, unpack } from "../shared/widgets/tables.js";

export const CHANCE = { splits: 3, shuffles: 99, splitSeed: 1, shuffleSeed: 2 };

/** Pearson's correlation of x with counts; 0 where the counts are all alike, so that a half of few items says nothing. */
export function pearson(x, counts) {
  const [middle, mean] = [average(x), average(counts)];
  let [both, xx, cc] = [0, 0, 0];
  for (let k = 0; k < x.length; k += 1) {
    const [dx, dc] = [x[k] - middle, counts[k] - mean];
    both += dx * dc;
    xx += dx * dx;
    cc += dc * dc;
  }
  return cc ? both / Math.sqrt(xx * cc) : 0;
}

/** Random orders of n items: the order of random numbers. */
function shuffles(many, n, seed) {
  const random = randomGenerator(seed);
  return Array.from({ length: many }, () => {
    const drawn = Array.from({ length: n }, random);
    return drawn.map((_, k) => k).sort((a, b) => drawn[a] - drawn[b] || a - b);
  });
}

const project = (rows, direction) => rows.map((row) => inner(row, direction));

/** The correlation along the axis that the same items have chosen. */
const naive = (rows, counts, ratio) => pearson(project(rows, popularityDirection(rows, counts, ratio).direction), counts);

/** Mean correlation of each half along the axis of the other, and the mean cosine of the two axes. */
function crossFitted(rows, counts, ratio, halves) {
  const correlations = [];
  const cosines = [];
  for (const half of halves) {
    const parts = [0, 1].map((side) => half.flatMap((member, id) => (member === side ? [id] : [])));
    const own = parts.map((ids) => [ids.map((id) => rows[id]), ids.map((id) => counts[id])]);
    const axes = own.map(([some, theirs]) => popularityDirection(some, theirs, ratio).direction);
    own.forEach(([some, theirs], side) => correlations.push(pearson(project(some, axes[1 - side]), theirs)));
    cosines.push(inner(...axes));
  }
  return { crossed: average(correlations), agreement: average(cosines) };
}

/** Γ(x + 1/2)/Γ(x) for whole and half x, from x = 1/2 or 1 upwards. */
function gammaRatio(x) {
  let [at, value] = Number.isInteger(x) ? [1, Math.sqrt(Math.PI) / 2] : [0.5, 1 / Math.sqrt(Math.PI)];
  for (; at < x - 0.25; at += 1) value *= (at + 0.5) / at;
  return value;
}

/** Mean correlation of normal random vectors with these counts: course_lib.maths.popularity.double_dipping_law. */
function meanOfChance(counts, { head, tail }, width) {
  const contrast = counts.map(() => 0);
  for (const id of head) contrast[id] = 1 / head.length;
  for (const id of tail) contrast[id] = -1 / tail.length;
  return (pearson(contrast, counts) * gammaRatio(width / 2)) / gammaRatio((width + counts.length - 2) / 2);
}

/** Everything that a reader sees of a state. */
export function analyse(state) {
  const { model, show, ratio, shown: n, seed } = state;
  const packed = state.items[model];
  const random = randomGenerator(seed);
  const rows = show === "random"
    ? Array.from({ length: n }, () => Float64Array.from({ length: packed.width }, () => bell(random)))
    : unpack(packed).slice(0, n);
  const given = state.counts.slice(0, n);
  const counts = show === "shuffled" ? shuffles(1, n, seed)[0].map((id) => given[id]) : given;
  const halves = shuffles(CHANCE.splits, n, CHANCE.splitSeed).map((order) => order.map((place) => place % 2));
  const axis = popularityDirection(rows, counts, ratio);
  const projections = project(rows, axis.direction);
  const dealt = shuffles(CHANCE.shuffles, n, CHANCE.shuffleSeed).map((order) => order.map((id) => given[id]));
  return {
    rows, counts, ...axis, projections,
    naive: pearson(projections, counts),
    ...crossFitted(rows, counts, ratio, halves),
    shuffledNaive: dealt.map((one) => naive(rows, one, ratio)),
    shuffledCrossed: dealt.map((one) => crossFitted(rows, one, ratio, halves).crossed),
    chance: meanOfChance(counts, axis, packed.width),
    order: byFalling(counts),
  };
}

// ---- words: course_lib.lessons.popularity_direction.popularity_axis writes the same ones -------------------------------------------------------

const most = (values) => Math.max(...values);

export function summary({ model, show, shown }, found) {
  const what = {
    embeddings: model,
    shuffled: `${model}, with counts dealt out anew`,
    random: `Random numbers in place of ${model}`,
  }[show];
  const ends = found.head.length === 1 ? "1 item each" : `${found.head.length} items each`;
  return `${what}: ${shown} items, head and tail of ${ends}. Projection against count: r = ${number(found.naive)} along the axis that these ` +
    `items have chosen, r = ${number(found.crossed)} along the axes of items that are not measured. By chance alone: with shuffled counts the ` +
    `first is ${number(average(found.shuffledNaive))} on average and ${number(most(found.shuffledNaive))} at most, the second ` +
    `${number(average(found.shuffledCrossed))} and ${number(most(found.shuffledCrossed))}; the law for random vectors says ` +
    `${number(found.chance)} for the first. Two halves of the items find axes with a cosine of ${number(found.agreement)}.`;
}

export const HEADS = ["Items, by popularity", "Count", "Mean projection", "Least", "Most"];

/** The items in ten groups of falling popularity. */
export function rowsOf({ shown }, { order, counts, projections }) {
  return Array.from({ length: 10 }, (_, k) => {
    const [low, high] = [Math.floor((k * shown) / 10), Math.floor(((k + 1) * shown) / 10)];
    const group = order.slice(low, high);
    const [mine, along] = [group.map((id) => counts[id]), group.map((id) => projections[id])];
    const [least, greatest] = [Math.min(...mine), Math.max(...mine)];
    return [`${low + 1} to ${high}`, least === greatest ? String(least) : `${least} to ${greatest}`, ...[average(along), Math.min(...along), Math.max(...along)].map(number)];
  });
}

/** How a film is introduced: its name, its count, where it lies. */
export function aboutFilm({ film, names }, { order, counts, projections, head, tail }) {
  const id = order[Math.min(film, order.length) - 1];
  const place = head.includes(id) ? "In the head. " : tail.includes(id) ? "In the tail. " : "";
  return `${names[id]}: ${place}Count ${counts[id]}, projection ${number(projections[id])}.`;
}

/** Lines of Python that show the same state in a notebook. */
export function asPython({ stored, model, show, ratio, shown, seed, film }) {
  const given = stored ? "" : "\nitems, counts = ...  # your embeddings (n, d), and how often each item occurs";
  return `from course_lib.lessons.popularity_direction.popularity_axis import PopularityAxis${given}\nPopularityAxis(${stored ? "" : "items, counts, "}model=${JSON.stringify(model)}, show="${show}", ` +
    `ratio=${ratio}, shown=${shown}, seed=${seed}, film=${film})`;
}
