// Tables of embeddings, written by course_lib.lessons.shared.widgets.tables in few bytes, and inner products. Nothing here touches a page.

/** The rows of a packed table, each a Float64Array. */
export function unpack({ unit, width, numbers }) {
  const bytes = Int8Array.from(atob(numbers), (character) => character.charCodeAt(0));
  return Array.from({ length: bytes.length / width }, (_, row) => Float64Array.from({ length: width }, (_, k) => unit * bytes[row * width + k]));
}

export function inner(a, b) {
  let total = 0;
  for (let k = 0; k < a.length; k += 1) total += a[k] * b[k];
  return total;
}

export const average = (values) => values.reduce((total, value) => total + value, 0) / values.length;

/** Ids by falling value, equal values by the lower id. */
export const byFalling = (values) => values.map((_, id) => id).sort((a, b) => values[b] - values[a] || a - b);

/** Python's round: halves go to the even number. */
export function roundHalfEven(value) {
  const below = Math.floor(value);
  const rest = value - below;
  return rest > 0.5 || (rest === 0.5 && below % 2) ? below + 1 : below;
}

/** The least and the most popular of ids in falling order, `ratio` of them at each end. */
export function endsOf(order, ratio) {
  const size = Math.max(1, roundHalfEven(ratio * order.length));
  return { head: order.slice(0, size), tail: order.slice(-size) };
}

function meanRow(rows, ids) {
  const mean = new Float64Array(rows[0].length);
  for (const id of ids) for (let k = 0; k < mean.length; k += 1) mean[k] += rows[id][k] / ids.length;
  return mean;
}

/** The unit vector from the mean row of the tail to that of the head. */
export function between(rows, { head, tail }) {
  const [top, bottom] = [meanRow(rows, head), meanRow(rows, tail)];
  const gap = top.map((value, k) => value - bottom[k]);
  const length = Math.sqrt(inner(gap, gap));
  return { head, tail, top, bottom, direction: gap.map((value) => value / length) };
}

/** (4) of P1: the unit vector from the mean row of the least popular to that of the most popular, head and tail of `ratio` each. */
export const popularityDirection = (rows, counts, ratio) => between(rows, endsOf(byFalling(counts), ratio));
