// Gauges in the plane: items A R, users B R^-T, the same scores A B^T, other cosines. Rows are vectors, R acts from the right.
//
// Same formulas as course_lib.gauge and course_lib.geometry (tests/lessons/gauge_freedom/test_widget.py compares them). Nothing here touches
// a page.
import { cosine, dot, norm, scale } from "../shared/widgets/motion_math.js";

export const FEASIBLE = 1e-9; // how far from 1 a length may be

const normalise = (a) => scale(a, 1 / norm(a));

/** The row a times the matrix M, both in the plane. */
export const times = (a, m) => [a[0] * m[0][0] + a[1] * m[1][0], a[0] * m[0][1] + a[1] * m[1][1]];

const product = (m, n) => m.map((row) => times(row, n));

/** R = diag(stretch) [[1, shear], [0, 1]] rotation(turn in degrees). */
export function gaugeMatrix({ stretch, shear, turn }) {
  const angle = (turn * Math.PI) / 180;
  const rotation = [[Math.cos(angle), Math.sin(angle)], [-Math.sin(angle), Math.cos(angle)]];
  return product(product([[stretch[0], 0], [0, stretch[1]]], [[1, shear], [0, 1]]), rotation);
}

/** R^-T: what the users are multiplied by. */
export function inverseTranspose([[a, b], [c, d]]) {
  const determinant = a * d - b * c;
  return [[d / determinant, -c / determinant], [-b / determinant, a / determinant]];
}

/** The other items, by falling cosine to item k; equal ones by the lower number. */
export function neighbours(items, k) {
  const others = items.map((_, i) => i).filter((i) => i !== k);
  return others.sort((i, j) => cosine(items[j], items[k]) - cosine(items[i], items[k]) || i - j);
}

const squares = (rows) => rows.map(([x, y]) => [x * x, y * y]);

/** Whether all rows have the same direction (up to sign). */
const parallel = (rows) => rows.every((row) => Math.abs(rows[0][0] * row[1] - rows[0][1] * row[0]) <= FEASIBLE * norm(rows[0]) * norm(row));

/** k - rank(A∘A): 1 where a family of stretches keeps all lengths. */
export const diagonalDimension = (rows) => Number(parallel(squares(rows)));

/** 3 - rank of the rows a a^T: in the plane three different lines already leave turns and mirrors alone. */
export function linearDimension(rows) {
  const lines = [];
  for (const row of rows) if (!lines.some((line) => parallel([line, row]))) lines.push(row);
  return Math.max(0, 3 - lines.length);
}

const onAxis = (row) => row.some((value) => Math.abs(value) < FEASIBLE);
const close = (a, b) => a.every((value, k) => Math.abs(value - b[k]) <= FEASIBLE + 1e-5 * Math.abs(b[k]));

/** |b| / |a|: the stretch that gives a the squares of b and b those of a. */
export const swapSquares = (a, b) => a.map((value, k) => Math.abs(b[k]) / Math.abs(value));

/** Which positive stretches keep the rows on the circle: all, a family, one other than the identity, or none. */
export function freedom(sphere, items, users) {
  if (sphere === "free") return "all";
  const loose = diagonalDimension(items) > 0;
  if (sphere === "items" || !loose) return loose ? "family" : "none";
  if (!diagonalDimension(users)) return "none";
  if (onAxis(items[0]) || onAxis(users[0])) return close(squares([items[0]])[0], squares([users[0]])[0]) ? "family" : "none";
  return close(swapSquares(items[0], users[0]), [1, 1]) ? "none" : "other";
}

/**
 * The stretch nearest to the wanted one that keeps the rows on the circle, with axis `held` as wanted where that is
 * possible; signs (mirrors) as wanted. Rows of length 1 with squares (c, 1 - c) ask for c d1^2 + (1 - c) d2^2 = 1.
 */
export function feasibleStretch(wanted, { sphere, items, users, held = 0 }) {
  const kind = freedom(sphere, items, users);
  const sizes = wanted.map(Math.abs);
  const signed = (stretch) => stretch.map((size, k) => size * Math.sign(wanted[k]));
  if (kind === "all") return wanted;
  if (kind === "none") return signed([1, 1]);
  if (kind === "other") {
    const second = swapSquares(items[0], users[0]);
    const distance = (stretch) => Math.abs(Math.log(sizes[held] / stretch[held]));
    return signed(distance(second) < distance([1, 1]) ? second : [1, 1]);
  }
  const part = squares([items[0]])[0];
  const free = 1 - held;
  if (part[held] < FEASIBLE) return signed(held ? [1, sizes[1]] : [sizes[0], 1]); // the rows do not see the held axis
  if (part[free] < FEASIBLE) return signed(held ? [sizes[0], 1] : [1, sizes[1]]);
  const square = Math.min(sizes[held] ** 2, (1 - 0.01 * part[free]) / part[held]); // the other factor stays above 0.1
  const other = Math.sqrt((1 - part[held] * square) / part[free]);
  return signed(held ? [other, Math.sqrt(square)] : [Math.sqrt(square), other]);
}

/** Everything that a reader sees of a state. */
export function analyse(state) {
  const { sphere, selected: asked, item_names: itemNames, user_names: userNames } = state;
  const selected = Math.min(asked, state.items.length - 1);
  const items = sphere === "free" ? state.items : state.items.map(normalise);
  const users = sphere === "both" ? state.users.map(normalise) : state.users;
  const matrix = gaugeMatrix(state);
  const newItems = items.map((row) => times(row, matrix));
  const newUsers = users.map((row) => times(row, inverseTranspose(matrix)));
  const scores = users.map((user) => items.map((item) => dot(user, item)));
  const newScores = newUsers.map((user) => newItems.map((item) => dot(user, item)));
  const lengths = [
    ...newItems.map((row, k) => ({ name: itemNames[k], length: norm(row), held: sphere !== "free" })),
    ...newUsers.map((row, k) => ({ name: userNames[k], length: norm(row), held: sphere === "both" })),
  ].map((row) => ({ ...row, off: row.held && Math.abs(row.length - 1) > FEASIBLE }));
  return {
    selected, items, users, newItems, newUsers, matrix, scores, newScores, lengths,
    scoreChanges: scores.flatMap((row, i) => row.map((score, j) => Math.abs(score - newScores[i][j]))),
    before: neighbours(items, selected),
    after: neighbours(newItems, selected),
    changed: items.map((_, k) => neighbours(items, k)[0] !== neighbours(newItems, k)[0]),
    feasible: !lengths.some(({ off }) => off),
    freedom: freedom(sphere, items, users),
  };
}
