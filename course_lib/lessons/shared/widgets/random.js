// Chance that a reader can repeat: a small generator with a seed, and what is drawn with it.

/** mulberry32: a small generator of numbers in [0, 1) with a seed. course_lib.lessons.shared.widgets.chance draws the same ones in Python. */
export function randomGenerator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** s different items, every subset equally likely (the first s steps of Fisher and Yates). */
export function sampleWithoutReplacement(items, size, random) {
  const pool = items.slice();
  for (let k = 0; k < size; k += 1) {
    const other = k + Math.floor(random() * (pool.length - k));
    [pool[k], pool[other]] = [pool[other], pool[k]];
  }
  return pool.slice(0, size);
}

/** About a standard normal number: twelve uniform ones, less six (only sums, so Python finds the same bits). */
export function bell(random) {
  let total = 0;
  for (let k = 0; k < 12; k += 1) total += random();
  return total - 6;
}
