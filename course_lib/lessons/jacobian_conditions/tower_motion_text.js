// What the interactive "which towers stay on the circle" says: from a state to numbers, and from numbers to sentences.
// course_lib.lessons.jacobian_conditions.tower_motion writes the same sentences in Python.
import { fine, list, number } from "../shared/widgets/kit.js";
import { USERS, train } from "./tower_math.js";

export const TOWER_NAMES = {
  lookup: "a lookup, q = Eᵤ",
  one_hot: "a linear layer on one-hot inputs",
  dense: "a linear layer on features, q = W xᵤ",
  two_layers: "an embedding and a linear layer, q = B Eᵤ",
  bias: "a lookup with a shared bias, q = Eᵤ + b",
  scale: "a lookup with a shared scale, q = s Eᵤ",
};

export const TOWER_NOTES = {
  lookup: "One row of parameters for each user: nobody else's gradient reaches it.",
  one_hot: "The same function, stored as the columns of a matrix. Row-wise optimisers then see other rows.",
  dense: "Four frozen features a user. The gradients of all users mix: xᵤ·xᵥ is not 0.",
  two_layers: "B is shared by all users, and the step of Eᵤ is bent by BBᵀ.",
  bias: "Every gradient of the batch moves b, and with it everybody.",
  scale: "Not linear in its parameters and shared by all; yet a loss of cosines never moves s.",
};

export const OPTIMISER_NAMES = {
  sgd: "SGD",
  momentum: "SGD with momentum",
  decay: "SGD with weight decay",
  lazy_decay: "SGD with lazy decay",
  row_adagrad: "row-wise Adagrad",
  adam: "Adam",
};

export const OPTIMISER_NOTES = {
  sgd: "The step is the gradient times the learning rate.",
  momentum: "Momentum 0.9: old gradients were perpendicular to where q was, not to where it is.",
  decay: "Decay 0.05: every step pulls every parameter towards zero, that of absent users too.",
  lazy_decay: "Decay 0.05, only for rows that the batch touched.",
  row_adagrad: "Every row of a parameter has its own learning rate: the direction of the row's step stays.",
  adam: "Every number has its own learning rate: the first step is the sign of the gradient.",
};

export const LOSS_NAMES = { infonce: "InfoNCE on cosines", cosine_squared: "(1 − cos)²", infonce_dot: "InfoNCE on dot products" };

export const LOSS_NOTES = {
  infonce: "In-batch softmax of cosines, τ = 0.2.",
  cosine_squared: "Of the positive pairs alone; it comes to rest when they are parallel.",
  infonce_dot: "In-batch softmax of dot products, τ = 1. The gradient has a part along q.",
};

const REASONS = {
  dense: "the inputs of the tower are not orthogonal",
  two_layers: "the tower is not linear in its parameters",
  bias: "all users share the bias",
  scale: "the tower is not linear in its parameters",
  momentum: "the optimiser has momentum",
  decay: "the optimiser decays the weights",
  lazy_decay: "the optimiser decays the weights",
  row_adagrad: "the optimiser is not plain SGD",
  adam: "the optimiser is not plain SGD",
  infonce_dot: "the loss sees more than cosines",
};

export const NEAR = 10;
export const PETALS = 27;
const NULL_SHARE = (2 * NEAR) / 180;

export const percent = (share) => `${number(100 * share)} %`;

export const shareNear = (angles) => angles.filter((angle) => Math.abs(angle - 90) <= NEAR).length / angles.length;

/** The share of the angles in each of `count` equal parts of 0 to 180 degrees. */
export function shares(angles, count) {
  const found = Array.from({ length: count }, () => 0);
  for (const angle of angles) found[Math.min(Math.floor((angle * count) / 180), count - 1)] += 1 / angles.length;
  return found;
}

/** Everything that the picture shows. */
export function analyse(state) {
  const run = train(state);
  return { ...run, state, angles: run.moves.map(([, , angle]) => angle) };
}

/** The sentences, in order. */
export function sentences({ state, angles, norms }) {
  return [opening(state), aboutAngles(angles), aboutTheorem(state), aboutNorms(norms)];
}

function opening({ tower, optimiser, loss, batch_size, lr, steps }) {
  return `Users: ${TOWER_NAMES[tower]}. ${OPTIMISER_NAMES[optimiser]}, ${LOSS_NAMES[loss]}, ` +
    `batches of ${batch_size}, learning rate ${number(lr)}, ${steps} step${steps === 1 ? "" : "s"}.`;
}

function aboutAngles(angles) {
  if (!angles.length) return "Nothing has moved yet.";
  const count = angles.length === 1 ? "1 move" : `${angles.length} moves`;
  const worst = Math.max(...angles.map((angle) => Math.abs(angle - 90)));
  if (worst < 1e-3) return `All of ${count} stood perpendicular to their embeddings, to a thousandth of a degree (uniform directions within 90 ± ${NEAR}°: ${percent(NULL_SHARE)}).`;
  return `Of ${count}, ${percent(shareNear(angles))} stood within 90 ± ${NEAR}° to their embeddings (uniform directions: ${percent(NULL_SHARE)}); the farthest stood ${fine(worst)}° away from 90°.`;
}

function aboutTheorem({ tower, optimiser, loss }) {
  const reasons = [tower, optimiser, loss].filter((name) => name in REASONS).map((name) => REASONS[name]);
  return reasons.length ? `Theorem 2.1 does not cover this choice: ${list(reasons)}.` : "Theorem 2.1 covers this choice.";
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

function aboutNorms(norms) {
  const [first, last] = [mean(norms[0]), mean(norms[norms.length - 1])];
  if (norms.length === 1) return `The mean length is ${number(first)}.`;
  const shrank = norms[0].filter((_, user) => norms.some((all, t) => t > 0 && all[user] - norms[t - 1][user] < -1e-9 * norms[t - 1][user])).length;
  const never = shrank === 0 ? "No embedding ever became shorter" : `${shrank} of ${USERS} embeddings became shorter at some step`;
  return `The mean length went from ${number(first)} to ${number(last)}. ${never}.`;
}

/** Heads, rows and caption of the table of angles. */
export function angleTable(angles) {
  const rows = angles.length ? shares(angles, 9).map((share, i) => [`${20 * i}° to ${20 * i + 20}°`, percent(share), percent(1 / 9)]) : [];
  return [["Angle of the move to q", "Share of the moves", "Uniform directions"], rows, "All moves of all steps."];
}

/** A line of Python that shows the same state in a notebook. */
export function asPython({ tower, optimiser, loss, batch_size, lr, steps, follow, seed }) {
  return `from course_lib.lessons.jacobian_conditions.tower_motion import TowerMotion\nTowerMotion(\n    "${tower}", optimiser="${optimiser}", loss="${loss}",\n` +
    `    batch_size=${batch_size}, lr=${lr}, steps=${steps}, follow=${follow}, seed=${seed},\n)`;
}
