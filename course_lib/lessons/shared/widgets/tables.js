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

/** The unit vector from the mean row of the least popular to that of the most popular: (4) of P1, head and tail of `ratio` each. */
export function popularityDirection(rows, counts, ratio) {
  const order = byFalling(counts);
  const size = Math.max(1, roundHalfEven(ratio * counts.length));
  const mean = (ids) => rows[0].map((_, k) => average(ids.map((id) => rows[id][k])));
  const [head, tail] = [order.slice(0, size), order.slice(-size)];
  const [top, bottom] = [mean(head), mean(tail)];
  const gap = top.map((value, k) => value - bottom[k]);
  const length = Math.sqrt(inner(gap, gap));
  return { head, tail, top, bottom, direction: gap.map((value) => value / length), length };
}
