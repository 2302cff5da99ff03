// What the interactive "a step along the circle" says: from a state to numbers, and from numbers to sentences.
// course_lib.lessons.cosine_orthogonality.cosine_motion writes the same sentences in Python.
import { fine, number } from "../shared/widgets/kit.js";
import { LOSSES, add, angleDegrees, cosine, descend, dot, lossAndGradient, norm, scale } from "../shared/widgets/motion_math.js";

export const LOSS_NAMES = {
  cosine: "1 − cos(q, k)",
  cosine_squared: "(1 − cos(q, k))²",
  infonce: "InfoNCE on cosines",
  dot: "minus the dot product",
  infonce_dot: "InfoNCE on dot products",
};

export const LOSS_NOTES = {
  cosine: "Depends on the direction of q alone. Its gradient has length |sin| / ‖q‖: long vectors turn slowly.",
  cosine_squared: "Any function of cosines will do: the gradient is only stretched. P0, Table 1, row 7.",
  infonce: "Softmax over cosines divided by τ: the positive pulls, the negatives push. Equations (13) to (16).",
  dot: "The counterexample. Its gradient is −k wherever q is, so the step is k, and q grows without end.",
  infonce_dot: "The counterexample that is in use. The gradient has a part along q. P0, Table 1, row 2.",
};

const AT_REST = 1e-9;
const PERPENDICULAR = 1e-9;
const isZero = (point) => point.every((value) => value === 0);

/** Which of the vectors has no direction, or null. */
function undefinedVector({ q, k, negatives }) {
  const points = [["q", q], ["k", k], ...negatives.map((point, i) => [`negative ${i + 1}`, point])];
  const found = points.find(([, point]) => isZero(point));
  return found ? `${found[0]} is the zero vector. It has no direction, so its cosine with anything is not defined. Move it.` : null;
}

/** The step that gradient descent takes from `here`, in numbers. */
export function stepFrom(here, keys, { loss: name, tau, lr }) {
  const { loss, gradient, scores } = lossAndGradient(name, here, keys, tau);
  const step = scale(gradient, -lr);
  const [before, size] = [norm(here), norm(gradient)];
  const radial = dot(gradient, here) / before;
  const angle = before * size < AT_REST ? null : angleDegrees(here, step);
  return {
    here, loss, gradient, scores, step, before, size, radial, angle,
    after: norm(add(here, step)), cosine: cosine(here, keys[0]), perpendicular: angle !== null && Math.abs(radial) < PERPENDICULAR * size,
  };
}

/** Everything that the picture shows. */
export function analyse(state) {
  const keys = [state.k, ...(LOSSES[state.loss].many ? state.negatives : [])];
  const trouble = undefinedVector(state);
  const trace = trouble ? [state.q] : descend({ ...state, keys });
  const here = trace[trace.length - 1];
  const ended = trouble || !isZero(here) ? trouble : `After ${trace.length - 1} steps q is the zero vector. It has no direction, so its cosine is not defined. Start over.`;
  return { problem: ended, state, keys, trace, here, lengths: trace.map(norm), step: ended ? null : stepFrom(here, keys, state) };
}

/** The sentences, in order. */
export function sentences(result) {
  if (result.problem) return [result.problem];
  return [opening(result), aboutGradient(result.step), aboutStep(result.step), aboutTrace(result.lengths)].filter(Boolean);
}

function opening({ state, keys, step }) {
  const { many, dot: plain } = LOSSES[state.loss];
  const score = `${plain ? "⟨q, k⟩" : "cos(q, k)"} = ${number(step.scores[0])}`;
  const count = keys.length - 1;
  const negatives = many ? `, ${count} negative${count === 1 ? "" : "s"}, τ = ${number(state.tau)}` : "";
  return `Loss: ${LOSS_NAMES[state.loss]}${negatives}, learning rate ${number(state.lr)}. ${score}, loss ${fine(step.loss)}.`;
}

function aboutGradient({ angle, size, radial, perpendicular }) {
  if (angle === null) return "The gradient is zero: q rests.";
  const start = `The gradient has length ${fine(size)}`;
  if (perpendicular) return `${start} and is perpendicular to q, so the step starts along the circle on which q lies.`;
  return `${start}. The step leaves at ${number(angle)}° to q, not at a right angle: it points ${radial < 0 ? "outward" : "inward"}.`;
}

function aboutStep({ angle, before, after, step, perpendicular }) {
  if (angle === null) return "";
  const move = norm(step);
  const change = `The next step takes the length of q from ${number(before)} to ${number(after)} (${percent(after / before - 1)})`;
  if (perpendicular) return `${change}, as Pythagoras says: √(${number(before)}² + ${fine(move)}²).`;
  return `${change}. A step as long and perpendicular would give ${number(Math.hypot(before, move))}.`;
}

function aboutTrace(lengths) {
  const taken = lengths.length - 1;
  if (!taken) return "";
  const shrank = lengths.slice(1).filter((length, t) => length - lengths[t] < -1e-12 * lengths[t]).length;
  const never = shrank === 0 ? "It never became shorter" : `It became shorter in ${shrank} of them`;
  return `After ${taken} step${taken === 1 ? "" : "s"} the length went from ${number(lengths[0])} to ${number(lengths[taken])}. ${never}.`;
}

export function percent(change) {
  if (Math.abs(change) < 5e-5) return "less than 0.01 %";
  return `${change > 0 ? "+" : ""}${number(100 * change)} %`;
}

/** Heads, rows and caption of the table of the trace. */
export function traceTable({ trace, keys, state }) {
  const heads = ["Step", "q", "Length of q", "cos(q, k)", "Loss", "Length of the gradient", "Angle of the step to q"];
  const rows = trace.filter((point) => !isZero(point)).map((point, t) => {
    const step = stepFrom(point, keys, state);
    const angle = step.angle === null ? "at rest" : `${number(step.angle)}°`;
    return [String(t), `(${point.map(number).join(", ")})`, number(step.before), number(step.cosine), fine(step.loss), fine(step.size), angle];
  });
  return [heads, rows, "Every step of gradient descent on q; the keys stay where they are."];
}

/** A line of Python that shows the same state in a notebook. */
export function asPython({ q, k, negatives, loss, lr, tau, steps }) {
  const point = (p) => `(${p.join(", ")})`;
  const points = negatives.length ? `(${negatives.map(point).join(", ")},)` : "()";
  return `from course_lib.lessons.cosine_orthogonality.cosine_motion import CosineMotion\nCosineMotion(\n    q=${point(q)}, k=${point(k)}, negatives=${points},\n` +
    `    loss="${loss}", lr=${lr}, tau=${tau}, steps=${steps},\n)`;
}
