// Directions, lengths and losses of the interactives on motion; the same formulas as course_lib.geometry and
// course_lib.losses, compared with them in tests/lessons/cosine_orthogonality/test_widget.py. A vector is an array of numbers of any length.
import { inner } from "./tables.js";

export const dot = inner;
export const norm = (a) => Math.sqrt(dot(a, a));
export const add = (a, b, factor = 1) => a.map((value, i) => value + factor * b[i]);
export const scale = (a, factor) => a.map((value) => value * factor);

/** cos(q, k); neither may be zero. */
export const cosine = (q, k) => dot(q, k) / (norm(q) * norm(k));

/** The gradient of cos(q, k) with respect to q: (k/|k| - cos(q, k) q/|q|) / |q|. Source: P0, equation (27). */
export function cosineGradient(q, k) {
  const [unit, target] = [scale(q, 1 / norm(q)), scale(k, 1 / norm(k))];
  return scale(add(target, unit, -dot(unit, target)), 1 / norm(q));
}

/** The angle between a and b in degrees, accurate near 0 and 180 too. */
export function angleDegrees(a, b) {
  const [u, w] = [scale(a, 1 / norm(a)), scale(b, 1 / norm(b))];
  return (2 * Math.atan2(norm(add(u, w, -1)), norm(add(u, w))) * 180) / Math.PI;
}

/** Probabilities in proportion to exp(logit), without overflow. */
export function softmax(logits) {
  const most = Math.max(...logits);
  const weights = logits.map((logit) => Math.exp(logit - most));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}

/** The losses of one query: what a score is, the loss of the scores (the positive's first), and its slope in each score. */
export const LOSSES = {
  cosine: { dot: false, loss: ([c]) => 1 - c, slopes: () => [-1] },
  cosine_squared: { dot: false, loss: ([c]) => (1 - c) ** 2, slopes: ([c]) => [-2 * (1 - c)] },
  infonce: { dot: false, many: true, loss: crossEntropy, slopes: crossEntropySlopes },
  dot: { dot: true, loss: ([s]) => -s, slopes: () => [-1] },
  infonce_dot: { dot: true, many: true, loss: crossEntropy, slopes: crossEntropySlopes },
};

/** -log softmax(scores / tau) at the first score. */
function crossEntropy(scores, tau) {
  const most = Math.max(...scores);
  return Math.log(scores.reduce((sum, score) => sum + Math.exp((score - most) / tau), 0)) + (most - scores[0]) / tau;
}

function crossEntropySlopes(scores, tau) {
  return softmax(scores.map((score) => score / tau)).map((p, s) => (p - (s === 0 ? 1 : 0)) / tau);
}

/** The loss of q against keys (the positive first) and its gradient with respect to q, the chain rule of P0 (14). */
export function lossAndGradient(name, q, keys, tau) {
  const { dot: plain, many, loss, slopes } = LOSSES[name];
  const used = many ? keys : keys.slice(0, 1);
  const scores = used.map((k) => (plain ? dot(q, k) : cosine(q, k)));
  const gradient = slopes(scores, tau)
    .map((slope, s) => scale(plain ? used[s] : cosineGradient(q, used[s]), slope))
    .reduce((sum, part) => add(sum, part));
  return { loss: loss(scores, tau), gradient, scores };
}

export const FARTHEST = 1e6; // beyond this length a trace ends

/** q_0, q_1, ..., q_steps of gradient descent with fixed keys; ends early where q is zero or runs away. */
export function descend({ q, keys, loss, lr, tau, steps }) {
  const points = [q];
  for (let t = 0; t < steps; t += 1) {
    const here = points[t];
    if (!(norm(here) > 0 && norm(here) < FARTHEST)) break;
    points.push(add(here, lossAndGradient(loss, here, keys, tau).gradient, -lr));
  }
  return points;
}
