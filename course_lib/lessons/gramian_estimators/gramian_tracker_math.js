// One entry of a Gramian that moves, three estimates that follow it, and what to expect of SOGram.
//
// Estimators and rates are those of course_lib.gramians (tests/lessons/gramian_estimators/test_widget.py compares them on random settings).
// Nothing here touches a page.
//
// The world: each of 256 examples has one entry of its outer product u u', x_i(t) = G(t) + e_i, and G is their mean.
import { randomGenerator } from "../shared/widgets/random.js";

export const WORLD = { examples: 256, steps: 400, every: 5, start: 3, slower: 1 / 80, rates: 97, lowest: 0.001 };

/** How far the entry moves in each step. */
export function stepsOf(drift, size, coins) {
  if (drift === "random walk") return coins.map((coin) => (coin < 0.5 ? -size : size));
  if (drift === "settling") return coins.map((_, k) => size * (1 - WORLD.slower) ** k);
  return coins.map(() => size);
}

/** How far each example's own entry lies from their mean: evenly spread, mean 0, variance 1. */
export function spread() {
  const n = WORLD.examples;
  return Array.from({ length: n }, (_, i) => ((2 * i - n + 1) / n) * Math.sqrt(3 / (1 - n ** -2)));
}

/** G_hat <- (1 - alpha) G_hat + alpha (mean of the batch), from 0; corrected: divided by the weight so far. */
function sogram(alpha, correctStart) {
  let [average, weight] = [0, 0];
  return (_, mean) => {
    average = (1 - alpha) * average + alpha * mean;
    weight = (1 - alpha) * weight + alpha;
    return correctStart ? average / weight : average;
  };
}

/** The mean of a cache, corrected by beta times the mean change of the batch; then the batch renews the cache. */
function sagram(start, beta) {
  const cache = start.slice();
  const n = cache.length;
  let sum = cache.reduce((a, b) => a + b, 0);
  return (batch, mean, value) => {
    const changed = mean - batch.reduce((total, i) => total + cache[i], 0) / batch.length;
    const estimate = sum / n + beta * changed;
    for (const i of new Set(batch)) {
      sum += value(i) - cache[i];
      cache[i] = value(i);
    }
    return estimate;
  };
}

/** The run of these settings: for each step how far the entry moved, the entry, and three estimates of it. */
export function follow({ alpha, batch_size: size, drift, size: length, correct_start: correctStart, beta, seed }) {
  const random = randomGenerator(seed);
  const moves = stepsOf(drift, length, Array.from({ length: WORLD.steps }, random));
  const own = spread();
  const share = beta === "1" ? 1 : size / WORLD.examples;
  const followers = { sampling: (_, mean) => mean, sogram: sogram(alpha, correctStart), sagram: sagram(own.map((e) => WORLD.start + e), share) };
  const paths = { moves, entry: [], sampling: [], sogram: [], sagram: [] };
  let entry = WORLD.start;
  for (const move of moves) {
    entry += move;
    const now = entry;
    const value = (i) => now + own[i];
    const batch = Array.from({ length: size }, () => Math.floor(random() * WORLD.examples));
    const mean = batch.reduce((total, i) => total + value(i), 0) / size;
    paths.entry.push(entry);
    for (const [name, step] of Object.entries(followers)) paths[name].push(step(batch, mean, value));
  }
  return paths;
}

/** Root mean square errors over the second half of the first `steps` steps. */
export function pathErrors(paths, steps) {
  const half = Math.floor(steps / 2);
  const off = (name) => {
    let total = 0;
    for (let k = half; k < steps; k += 1) total += (paths[name][k] - paths.entry[k]) ** 2;
    return Math.sqrt(total / (steps - half));
  };
  return { sampling: off("sampling"), sogram: off("sogram"), sagram: off("sagram") };
}

// ---- rates: course_lib.gramians.rates ------------------------------------------------------------------------------------

/** sigma^2 alpha/(2 - alpha), times what the first steps lack of it. */
export function sogramVariance(alpha, { sigma, steps = Infinity, corrected = false }) {
  const level = (sigma ** 2 * alpha) / (2 - alpha);
  const kept = (1 - alpha) ** steps;
  return level * (corrected ? (1 + kept) / (1 - kept) : 1 - kept ** 2);
}

/** delta (1/alpha - 1) + q^t norm: what P4's Proposition 5 allows as bias. */
export const biasBound = (alpha, { delta, norm, steps = Infinity }) => delta * (1 / alpha - 1) + (1 - alpha) ** steps * norm;

/** Mean square errors in the long run, straight on and as a walk. */
export const coherentError = (alpha, { delta, sigma }) => sogramVariance(alpha, { sigma }) + (delta * (1 / alpha - 1)) ** 2;
export const walkError = (alpha, { delta, sigma }) => (sigma ** 2 * alpha ** 2 + delta ** 2 * (1 - alpha) ** 2) / (alpha * (2 - alpha));

/** The rate with the least error in the long run; NaN where the drift settles. */
export function optimalAlpha(delta, sigma, drift) {
  const r = (delta / sigma) ** 2;
  if (drift === "settling") return NaN;
  if (r === 0) return 0;
  if (drift === "random walk") return (2 * r) / (Math.sqrt(r * r + 4 * r) + r);
  let [low, high] = [0, 1]; // r (1 - a)(2 - a)^2 - a^3 falls from 4 r to -1
  for (let k = 0; k < 200; k += 1) {
    const middle = (low + high) / 2;
    if (r * (1 - middle) * (2 - middle) ** 2 > middle ** 3) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

// ---- what to expect at one step --------------------------------------------------------------------------------------------

/** Squared bias and variance of SOGram after the first `steps` moves, and whether the bias is rather the zero of the start. A move i steps old has come through but for q^i of it. */
export function expected(alpha, { moves, steps, batch, walk, correctStart }) {
  const q = 1 - alpha;
  const start = q ** steps;
  let [sum, squares] = [0, 0];
  for (let age = 1; age <= steps; age += 1) {
    const kept = correctStart ? (q ** age - start) / (1 - start) : q ** age;
    const lag = kept * moves[steps - age];
    sum += lag;
    squares += lag * lag;
  }
  const left = correctStart ? 0 : start * WORLD.start;
  const behind = walk ? Math.sqrt(squares) : Math.abs(sum);
  const square = walk ? squares + left ** 2 : (sum + left) ** 2;
  const variance = sogramVariance(alpha, { sigma: batch ** -0.5, steps, corrected: correctStart });
  return { square, variance, total: square + variance, atStart: left > behind };
}

/** The rates of the second picture, evenly spread by ratio. */
export const RATES = Array.from({ length: WORLD.rates }, (_, k) => WORLD.lowest ** (1 - k / (WORLD.rates - 1)));

/** What a reader sees at a step: paths, the errors so far, SOGram's expected errors for all rates. */
export function analyse(state, paths) {
  const { alpha, batch_size: batch, drift, size, correct_start: correctStart, step } = state;
  const options = { moves: paths.moves, batch, walk: drift === "random walk", correctStart };
  const at = (rate, steps = step) => expected(rate, { ...options, steps });
  const curve = RATES.map((rate) => at(rate));
  const best = curve.reduce((least, one, k) => (one.total < curve[least].total ? k : least), 0);
  const sigma = batch ** -0.5;
  const law = { straight: coherentError, "random walk": walkError, settling: () => NaN }[drift];
  const longRun = (rate) => law(rate, { delta: size, sigma });
  return {
    paths, curve, now: at(alpha), at: (steps) => at(alpha, steps), off: pathErrors(paths, step), best: RATES[best], least: curve[best],
    longRun, longRunAlpha: optimalAlpha(size, sigma, drift),
    bound: biasBound(alpha, { delta: size, norm: Math.abs(paths.entry[step - 1]), steps: correctStart ? Infinity : step }),
  };
}
