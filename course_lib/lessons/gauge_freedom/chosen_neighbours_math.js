// Neighbours of one's choice: the gauge of course_lib.gauge.purpose.gauge_for_neighbours, by the closed form of its inverse
// (tests/lessons/gauge_freedom/test_widget.py compares them). Nothing here touches a page.
import { byFalling, inner } from "../shared/widgets/tables.js";

const DEPENDENT = 1e-9; // what is left of a row beside the rows before it, as a part of its length
const THOUSANDTH = 1000;
const SAME = 1e-6; // a prediction that differs by more has changed; the inverse of a gauge costs digits

const length = (row) => Math.sqrt(inner(row, row));
const cosine = (a, b) => inner(a, b) / (length(a) * length(b));
const plus = (a, factor, b) => a.map((value, k) => value + factor * b[k]);

/**
 * rows = L Q with orthonormal rows Q, by Gram and Schmidt, each row twice.
 * `dependent` is the place of the first row that is a sum of multiples of the rows before it, or -1.
 */
function orthonormal(rows) {
  const [q, l] = [[], []];
  for (const row of rows) {
    let rest = Float64Array.from(row);
    const parts = q.map(() => 0);
    for (let time = 0; time < 2; time += 1) {
      q.forEach((unit, j) => {
        const part = inner(rest, unit);
        parts[j] += part;
        rest = plus(rest, -part, unit);
      });
    }
    const left = length(rest);
    if (left <= DEPENDENT * length(row)) return { q, l, dependent: q.length };
    l.push([...parts, left]);
    q.push(rest.map((value) => value / left));
  }
  return { q, l, dependent: -1 };
}

/** y with L y = (1, ..., 1). */
function solveOnes(l) {
  const y = [];
  l.forEach((row, i) => y.push((1 - y.reduce((total, value, j) => total + row[j] * value, 0)) / row[i]));
  return y;
}

/**
 * What the gauge does to a row of items (`item`, times R^-T) and of users (`user`, times R), or why there is none:
 * {refusal: "width" or "dependent", at: the number of the item}. With <f, b> = 1 on the query and the chosen, P the projection
 * on their span and s their mean length: R^-1 = (s/|f|) f f^T + P / stretch + stretch (I - P). Both matrices are symmetric.
 */
export function gaugeForNeighbours(items, { query, chosen, stretch }) {
  const ids = [query, ...chosen];
  const width = items[0].length;
  if (ids.length >= width) return { refusal: "width", at: ids[width - 1] };
  const rows = ids.map((id) => items[id]);
  const { q, l, dependent } = orthonormal(rows);
  if (dependent >= 0) return { refusal: "dependent", at: ids[dependent] };
  const f = solveOnes(l).reduce((total, value, j) => plus(total, value, q[j]), new Float64Array(width));
  const size = length(f);
  const mean = rows.reduce((total, row) => total + length(row), 0) / rows.length;
  const inside = (row) => q.reduce((total, unit) => plus(total, inner(row, unit), unit), new Float64Array(width));
  const sum = (row, { along, within, beside }) => {
    const span = inside(row);
    return span.map((value, k) => along * inner(row, f) * f[k] + within * value + beside * (row[k] - value));
  };
  const back = { along: mean / size, within: 1 / stretch, beside: stretch };
  const there = { along: (-(stretch ** 2) * mean) / size / (1 + stretch * mean * size), within: stretch, beside: 1 / stretch };
  return { item: (row) => sum(row, back), user: (row) => sum(row, there) };
}

/** Tables of the first `width` numbers of every row, which are stored in thousandths. */
export function tablesOf(model, width) {
  const rows = (table) => table.map((row) => Float64Array.from(row.slice(0, width), (value) => value / THOUSANDTH));
  return { people: rows(model.people), films: rows(model.films) };
}

/** The numbers of all other films by falling cosine to the query. */
const nearest = (cosines, query) => byFalling(cosines).filter((id) => id !== query);

/** Everything that a reader sees of a state; `query` and `chosen` are numbers of films. */
export function analyse({ people, films }, { query, chosen, stretch }) {
  const gauge = chosen.length ? gaugeForNeighbours(films, { query, chosen, stretch }) : { item: (row) => row, user: (row) => row };
  const before = films.map((row) => cosine(row, films[query]));
  const found = { refusal: gauge.refusal, at: gauge.at, before, nearestBefore: nearest(before, query) };
  if (gauge.refusal) return found;
  const [newFilms, newPeople] = [films.map(gauge.item), people.map(gauge.user)];
  const after = newFilms.map((row) => cosine(row, newFilms[query]));
  const scores = (a, b) => a.map((one) => b.map((other) => inner(one, other)));
  const [trained, now] = [scores(people, films), scores(newPeople, newFilms)];
  const changes = trained.flatMap((row, i) => row.map((score, j) => Math.abs(score - now[i][j])));
  const [change, changed] = [Math.max(...changes), changes.filter((size) => size > SAME).length];
  return { ...found, after, nearestAfter: nearest(after, query), trained, now, change, changed };
}
