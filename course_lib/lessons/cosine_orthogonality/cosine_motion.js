// The interactive "a step along the circle": drag q and k, look at the gradient of a loss, take steps, watch the length.
import { capital, drawing, fine, h, number, signed, sized, svg } from "../shared/widgets/kit.js";
import { choice, hero, ladder, presets, selection, showing, slider, stepButtons, stepper, wideKey } from "../shared/widgets/controls.js";
import { LOSSES, add, angleDegrees, cosine, descend, dot, lossAndGradient, norm, scale } from "../shared/widgets/motion_math.js";
import { Movable, Plane, niceReach } from "../shared/widgets/motion_plane.js";

const NAMES = ["q", "k", "negatives", "loss", "lr", "tau", "steps", "everything"];
const RATES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10];
const TEMPERATURES = [0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1, 2];
const MOST_STEPS = 500;
const MOST_NEGATIVES = 3;
const FARTHEST_HANDLE = 5;
const SHOTS = 6; // steps of the film strip
const NEW_NEGATIVES = [[1.5, -0.8], [-1.4, 0.7], [-0.6, -1.5]];

const PRESETS = {
  guess: { text: "Length 3, step 4", set: { q: [3, 0], k: [0, 2], loss: "cosine", lr: 12, steps: 0 } },
  turn: { text: "A large step", set: { q: [1.2, 0.3], k: [-0.6, 1.6], loss: "cosine", lr: 2, steps: 0 } },
  short: { text: "A short vector", set: { q: [0.25, 0.05], k: [0.5, 1.6], loss: "cosine", lr: 0.3, steps: 0 } },
  crowd: { text: "Among negatives", set: { q: [-0.9, 0.6], k: [0.8, 1.4], negatives: NEW_NEGATIVES, loss: "infonce", lr: 1.5, steps: 0 } },
  dot: { text: "Dot product", set: { q: [1.2, 0.3], k: [-0.6, 1.2], loss: "dot", lr: 0.2, steps: 0 } },
};

const LOSS_NAMES = {
  cosine: "1 − cos(q, k)",
  cosine_squared: "(1 − cos(q, k))²",
  infonce: "InfoNCE on cosines",
  dot: "minus the dot product",
  infonce_dot: "InfoNCE on dot products",
};

const LOSS_NOTES = {
  cosine: "Depends on the direction of q alone. Its gradient has length |sin| / ‖q‖: long vectors turn slowly.",
  cosine_squared: "Any function of cosines will do: the gradient is only stretched.",
  infonce: "Softmax over cosines divided by τ: the positive pulls, the negatives push.",
  dot: "The counterexample. Its gradient is −k wherever q is, so the step is k, and q grows without end.",
  infonce_dot: "A counterexample from practice. The gradient has a part along q.",
};

const rounded = (point) => point.map((value) => Math.round(value * 100) / 100);
const clamped = (point) => rounded(point.map((value) => Math.min(Math.max(value, -FARTHEST_HANDLE), FARTHEST_HANDLE)));

export default showing(NAMES, class extends Movable {
  build(parts) {
    parts.presets = presets(PRESETS, (name) => this.set(PRESETS[name].set));
    parts.walk = stepButtons(this, 25, MOST_STEPS);
    parts.chart = h("div", { class: "cw-chart" });
    parts.points = h("div", { class: "cw-points", role: "group", "aria-label": "Coordinates" });
    parts.strip = svg("svg", { role: "img" });
    this.buildControls(parts);
    return hero(this, {
      head: { look: "cw-motion", title: "Can a step of training make q shorter?", lead: "Training turns the thick arrow q towards the thin arrow k. The short arrow is the next step, the dashed circle the length after it." },
      controls: [parts.score.box, parts.lr.box, parts.turn.box],
      picture: parts.strip,
      more: {
        start: parts.presets.box,
        main: [parts.walk.box, parts.loss.box, parts.tau.box, parts.negatives.box],
        view: [this.buildPlane(parts), h("div", { class: "cw-pair" }, parts.points, parts.chart)],
      },
    });
  }

  buildControls(parts) {
    this.control(selection, "loss", { text: "Loss", options: Object.entries(LOSS_NAMES).map(([value, words]) => [value, capital(words)]), notes: LOSS_NOTES });
    this.control(ladder, "lr", { text: "Learning rate", values: RATES, words: number });
    parts.score = choice({ name: "score", label: "Score", options: [["cosine", "cosine"], ["dot", "dot product"]], onset: (loss) => this.set({ loss }) });
    parts.turn = slider({ name: "turn", text: "Direction of k", min: -180, max: 180, step: 5, onset: (degrees) => this.set({ k: rounded(pointing(degrees, norm(this.state().k))) }) });
    this.control(ladder, "tau", { text: "Temperature τ", values: TEMPERATURES, words: number });
    parts.negatives = stepper({ name: "negative", least: 0, most: MOST_NEGATIVES, onstep: (more) => (more ? this.addNegative() : this.set({ negatives: this.state().negatives.slice(0, -1) })) });
  }

  addNegative() {
    const { negatives } = this.state();
    const next = NEW_NEGATIVES.find((point) => !negatives.some((known) => String(known) === String(point))) ?? NEW_NEGATIVES[0];
    this.set({ negatives: [...negatives, next] });
  }

  buildPlane(parts) {
    parts.message = h("p", { class: "cw-message", role: "status" });
    parts.picture = svg("g", { "aria-hidden": "true" });
    parts.handles = svg("g");
    parts.front = svg("g", { "aria-hidden": "true", class: "cw-front" });
    parts.plane = drawing({ width: 400, height: 400 }, { class: "cw-plane", role: "group", "data-paper": true }, parts.picture, parts.handles, parts.front);
    return h("div", { class: "cw-card" }, parts.message, parts.plane, legend());
  }

  /** The points that can be moved: name, words, place. q is moved from where its steps have brought it. */
  handles() {
    const words = (name) => ({ q: "q", k: "k, the positive" })[name] ?? `negative ${name.slice(1)}`;
    return Object.entries({ ...pointsOf(this.state()), q: this.result.here }).map(([name, place]) => [name, words(name), place]);
  }

  move(name, point) {
    const place = clamped(point);
    if (name === "q") this.set({ q: place, steps: 0 });
    else if (name === "k") this.set({ k: place });
    else this.set({ negatives: this.state().negatives.map((known, i) => (name === `n${i + 1}` ? place : known)) });
  }

  placeOf(name) {
    return this.handles().find(([known]) => known === name)[2];
  }

  refresh(parts, state) {
    this.result = analyse(state);
    this.shots = this.result.trace.length && !undefinedVector(state.q, this.result.keys) ? shotsOf(state, this.result.keys) : [];
    this.story = (state.everything ? sentences(this.result) : aboutShots(this.shots, this.result, state)).join(" ");
    this.showControls(state);
    this.showStrip();
    this.showPlane();
    this.showNumbers();
    this.fold({ numbers: () => traceTable(this.result), python: asPython(this.result) });
  }

  showControls({ k, loss, negatives, steps }) {
    const { parts, result } = this;
    const { dot: plain, many } = LOSSES[loss];
    const degrees = Math.round((Math.atan2(k[1], k[0]) * 180) / Math.PI);
    parts.score.show(plain ? "dot" : "cosine");
    parts.turn.show(degrees, `${degrees}°`);
    parts.tau.box.hidden = parts.negatives.box.hidden = !many;
    parts.negatives.show(negatives.length);
    parts.message.textContent = result.problem ?? "";
    parts.message.hidden = !result.problem;
    parts.walk.show(steps, Boolean(result.problem));
  }

  /** The first steps of q, a frame each, all drawn to one scale; below each the length that q has there. */
  showStrip() {
    const { parts: { strip }, shots, narrow } = this;
    const { columns, cell, low } = narrow ? { columns: 3, cell: 119, low: 26 } : { columns: SHOTS, cell: 154, low: 30 };
    const reach = 1.08 * Math.max(0.5, ...shots.map(({ before, after }) => Math.max(before, after)));
    const plane = new Plane(reach, cell - 4);
    const frames = shots.map((shot, t) => {
      const { here, step, before, after, angle, perpendicular, shorter } = shot;
      const next = add(here, step);
      const far = scale(this.state().k, (0.8 * reach) / norm(this.state().k));
      const name = (letter, place, side) => {
        const [[x, y], long] = [plane.at(scale(place, 0.6)), norm(place)];
        return svg("text", { class: "cw-hero-text cw-middle", x: x + (side * 13 * place[1]) / long, y: y + (side * 13 * place[0]) / long + 5 }, letter);
      };
      return svg("svg", { x: 2 + (t % columns) * cell, y: 2 + Math.floor(t / columns) * (cell + low), width: cell - 4, height: cell + low - 4 },
        svg("rect", { class: "cw-shot", width: cell - 4, height: cell - 4, rx: 8 }),
        plane.circle(before, "cw-ring-now"), plane.circle(after, "cw-ring-next"),
        plane.arrow([0, 0], far, "cw-vector cw-vector-k"), plane.arrow([0, 0], here, "cw-vector cw-vector-q"),
        angle === null ? null : plane.arrow(here, next, "cw-vector cw-vector-step"), perpendicular ? plane.rightAngle(here, step, "cw-right-angle") : null,
        t ? null : [name("k", far, -1), name("q", here, 1)],
        svg("text", { class: `cw-hero-text cw-middle ${shorter ? "cw-cross" : ""}`, x: cell / 2 - 2, y: cell + 15 }, `${t ? "" : "length "}${number(before)}${shorter ? " shorter" : ""}`));
    });
    sized(strip, { width: columns * cell, height: (SHOTS / columns) * (cell + low) });
    strip.setAttribute("aria-label", this.story);
    strip.replaceChildren(...frames);
  }

  showPlane() {
    const { parts, result } = this;
    const { trace, here, step } = result;
    const points = this.handles();
    const after = step ? here.map((value, i) => value + step.step[i]) : here;
    const farthest = Math.max(...[...trace, after, ...points.map(([, , place]) => place)].map(norm), 0.5);
    if (!this.dragged || !this.frame) this.frame = new Plane(niceReach(1.12 * farthest));
    const plane = this.frame;
    const circles = step ? [
      trace.length > 1 ? ringsOf(trace).map((length) => plane.circle(length, "cw-ring-faint")) : null,
      plane.circle(step.before, "cw-ring-now"), plane.circle(step.after, "cw-ring-next"),
    ] : [];
    parts.picture.replaceChildren(
      plane.axes(), ...circles.flat().filter(Boolean),
      ...(trace.length > 1 ? [plane.trace(trace, "cw-trace"), ...dots(plane, trace)] : []),
      ...points.map(([name, , place]) => plane.arrow([0, 0], place, `cw-vector cw-vector-${name[0]}`)));
    parts.front.replaceChildren(
      ...(step && step.angle !== null ? [plane.arrow(here, after, "cw-vector cw-vector-step")] : []),
      ...(step?.perpendicular ? [plane.rightAngle(here, step.step, "cw-right-angle")] : []));
    this.showHandles(points);
    this.showPoints();
    parts.plane.setAttribute("aria-label", `The plane with q and its keys. ${this.story}`);
  }

  /** Handles stay the same elements while they are dragged. */
  showHandles(points) {
    const names = points.map(([name]) => name).join();
    if (names !== this.handled) {
      this.tips = points.map(([name, words]) => this.handle(name, words));
      this.parts.handles.replaceChildren(...this.tips.map(({ root }) => root));
      this.handled = names;
    }
    points.forEach(([name, , place], i) => {
      const { root, label } = this.tips[i];
      root.setAttribute("transform", `translate(${this.frame.at(place).map((value) => value.toFixed(2)).join(" ")})`);
      const [dx, dy] = labelShift(place);
      label.setAttribute("x", dx.toFixed(1));
      label.setAttribute("y", (dy + 5).toFixed(1));
      root.setAttribute("aria-valuenow", place[0].toFixed(2));
      root.setAttribute("aria-valuetext", `x ${number(place[0])}, y ${number(place[1])}, length ${number(norm(place))}`);
      root.classList.toggle("cw-dragged", this.dragged === name);
    });
  }

  handle(name, words) {
    const label = svg("text", { class: "cw-handle-text" }, name);
    const about = { class: `cw-handle cw-handle-${name[0]}`, "data-handle": name, ...this.grip(name, words, FARTHEST_HANDLE) };
    return { label, root: svg("g", about, svg("circle", { class: "cw-touch", r: 22 }), knob(name), label) };
  }

  /** The fields stay the same elements while numbers are typed. */
  showPoints() {
    const state = this.state();
    const points = Object.entries(pointsOf(state)).map(([name, point]) => [name, name === "q" && state.steps ? "q, start" : name, point]);
    const names = points.map(([, words]) => words).join();
    if (names !== this.fielded) {
      this.fields = points.map(([name, words]) => ["x", "y"].map((axis, i) => this.coordinate(name, words, axis, i)));
      this.parts.points.replaceChildren(...points.map(([, words], k) => h("div", { class: "cw-point" }, h("var", {}, words), this.fields[k].map((input, i) => h("label", {}, "xy"[i], " ", input)))));
      this.fielded = names;
    }
    points.forEach(([, , point], k) => this.fields[k].forEach((input, i) => {
      if (Number(input.value) !== point[i] || input.value === "") input.value = point[i];
    }));
  }

  coordinate(name, words, axis, i) {
    const change = (event) => {
      const place = [...pointsOf(this.state())[name]];
      if (event.target.value === "") event.target.value = place[i]; // an emptied field: nothing has moved
      place[i] = Number(event.target.value);
      this.move(name, place);
    };
    return h("input", { type: "number", name: `${name}-${axis}`, min: -FARTHEST_HANDLE, max: FARTHEST_HANDLE, step: 0.1, "aria-label": `${words}, ${axis}`, onchange: change });
  }

  showNumbers() {
    const { parts, result: { lengths } } = this;
    const taken = lengths.length - 1;
    parts.chart.replaceChildren(taken ? stepChart({
      lines: [{ values: lengths, kind: "cw-line-norm" }], title: "Length of q, step by step",
      name: `Length of q over ${stepsIn(lengths)}: from ${number(lengths[0])} to ${number(lengths[taken])}.`,
    }) : "");
  }
});

// ---- numbers and words ------------------------------------------------------------------------------------------------

/** The points of a state by name, the negatives where the loss has any. */
const pointsOf = ({ q, k, negatives, loss }) => ({ q, k, ...(LOSSES[loss].many ? Object.fromEntries(negatives.map((point, i) => [`n${i + 1}`, point])) : {}) });

const AT_REST = 1e-9;
const PERPENDICULAR = 1e-9;
const stepsIn = (trace) => (trace.length === 2 ? "1 step" : `${trace.length - 1} steps`);
const isZero = (point) => point.every((value) => value === 0);

/** Which of the vectors in use has no direction, or null. */
function undefinedVector(q, [k, ...negatives]) {
  const points = [["q", q], ["k", k], ...negatives.map((point, i) => [`negative ${i + 1}`, point])];
  const found = points.find(([, point]) => isZero(point));
  return found ? `${found[0]} is the zero vector. It has no direction, so its cosine with anything is not defined. Move it.` : null;
}

/** The step that gradient descent takes from `here`, in numbers. */
function stepFrom(here, keys, { loss: name, tau, lr }) {
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

const pointing = (degrees, length) => [Math.cos((degrees * Math.PI) / 180), Math.sin((degrees * Math.PI) / 180)].map((value) => value * length);

/** The first steps of q from where it starts; `shorter` where the step before made q shorter. */
function shotsOf(state, keys) {
  const shots = descend({ ...state, keys, steps: SHOTS - 1 }).filter((point) => !isZero(point)).map((point) => stepFrom(point, keys, state));
  return shots.map((shot, t) => ({ ...shot, shorter: t > 0 && shots[t - 1].before - shot.before > 1e-12 * shot.before }));
}

/** The point of the strip. */
function aboutShots(shots, { problem }, { loss }) {
  if (!shots.length) return [problem];
  if (shots[0].angle === null) return ["The gradient is zero where q starts, so q rests."];
  const lengths = shots.map(({ before }) => before);
  if (shots.length < SHOTS && shots.at(-1).after === 0) lengths.push(0); // the zero vector has no frame
  const taken = lengths.length - 1;
  const ways = `${taken === 1 ? "1 step takes" : `${taken} steps take`} its length ${fromTo(lengths[0], lengths[taken])}`;
  const shorter = shrunken(lengths);
  if (!LOSSES[loss].dot) return [`Each step stands at a right angle to q, so no step makes q shorter: ${ways}.`];
  return [`A dot product sees the length of q, so a step need not stand at a right angle to q: ${ways}, and ${shorter || "none"} of them made q shorter.`];
}

/** How many steps made q shorter. */
const shrunken = (lengths) => lengths.slice(1).filter((length, t) => length - lengths[t] < -1e-12 * lengths[t]).length;

/** Two lengths with as many decimals, up to six, as show that they differ. */
function fromTo(from, to) {
  const digits = number(from) === number(to) && [3, 4, 5, 6].find((count) => from.toFixed(count) !== to.toFixed(count));
  const [start, end] = [from, to].map((length) => (digits ? length.toFixed(digits) : number(length)));
  return `from ${start} to ${end}`;
}

/** Everything that the picture shows. */
function analyse(state) {
  const keys = [state.k, ...(LOSSES[state.loss].many ? state.negatives : [])];
  const trouble = undefinedVector(state.q, keys);
  const trace = trouble ? [state.q] : descend({ ...state, keys });
  const here = trace[trace.length - 1];
  const ended = trouble || !isZero(here) ? trouble : `After ${stepsIn(trace)} q is the zero vector. It has no direction, so its cosine is not defined. Start over.`;
  return { problem: ended, state, keys, trace, here, lengths: trace.map(norm), step: ended ? null : stepFrom(here, keys, state) };
}

/** The sentences, in order. */
function sentences(result) {
  if (result.problem) return [result.problem];
  return [aboutGradient(result.step), aboutStep(result.step), aboutTrace(result.lengths), setting(result)].filter(Boolean);
}

function setting({ state, keys, step }) {
  const { many, dot: plain } = LOSSES[state.loss];
  const count = keys.length - 1;
  const negatives = many ? ` with ${count} negative${count === 1 ? "" : "s"} and τ = ${number(state.tau)}` : "";
  return `The loss is ${LOSS_NAMES[state.loss]}${negatives}, now ${fine(step.loss)}; ${plain ? "⟨q, k⟩" : "cos(q, k)"} is ${number(step.scores[0])}, the learning rate ${number(state.lr)}.`;
}

function aboutGradient({ angle, radial, perpendicular }) {
  if (angle === null) return "The gradient is zero: q rests.";
  if (perpendicular) return "The next step is perpendicular to q: it starts along the circle on which q lies.";
  return `The next step leaves at ${number(angle)}° to q, not at a right angle: it points ${radial < 0 ? "outward" : "inward"}.`;
}

function aboutStep({ angle, before, after, step, perpendicular }) {
  if (angle === null) return "";
  const move = norm(step);
  const change = `It takes the length of q from ${number(before)} to ${number(after)} (${percent(after / before - 1)})`;
  if (perpendicular) return `${change}, as Pythagoras says: √(${number(before)}² + ${fine(move)}²).`;
  return `${change}; a perpendicular step of the same length would give ${number(Math.hypot(before, move))}.`;
}

function aboutTrace(lengths) {
  const taken = lengths.length - 1;
  if (!taken) return "";
  const shrank = shrunken(lengths);
  const never = shrank === 0 ? "It never became shorter" : `It became shorter${taken === 1 ? "" : ` in ${shrank} of them`}`;
  return `After ${stepsIn(lengths)} the length went ${fromTo(lengths[0], lengths[taken])}. ${never}.`;
}

function percent(change) {
  if (Math.abs(change) < 5e-5) return "a change of less than 0.01 %";
  return `${signed(100 * change)} %`;
}

/** Heads, rows and caption of the table of the trace. */
function traceTable({ trace, keys, state, problem }) {
  const heads = ["Step", "q", "Length of q", "cos(q, k)", "Loss", "Length of the gradient", "Angle of the step to q"];
  if (problem) return [heads, [], problem];
  const rows = trace.map((point, t) => {
    const step = stepFrom(point, keys, state);
    const angle = step.angle === null ? "at rest" : `${number(step.angle)}°`;
    return [String(t), `(${point.map(number).join(", ")})`, number(step.before), number(step.cosine), fine(step.loss), fine(step.size), angle];
  });
  return [heads, rows, "Every step of gradient descent on q; the keys stay where they are."];
}

/** Python that descends the same way and computes the last row of the table. */
function asPython({ state, keys, problem }) {
  const { q, k, negatives, loss, lr, tau, steps } = state;
  const point = (p) => `(${p.join(", ")})`;
  const widget = `CosineMotion(\n    q=${point(q)}, k=${point(k)}, negatives=[${negatives.map(point).join(", ")}],\n    loss="${loss}", lr=${lr}, tau=${tau}, steps=${steps},\n)`;
  if (problem) return `from course_lib.lessons.cosine_orthogonality.cosine_motion import CosineMotion\n\n${widget}`;
  return `import numpy as np

from course_lib import geometry
from course_lib.lessons.cosine_orthogonality.cosine_motion import CosineMotion
from course_lib.lessons.shared.widgets import motion

keys = np.array([${keys.map(point).join(", ")}])  # the positive first
trace = motion.descend("${loss}", np.array(${point(q)}), keys, lr=${lr}, tau=${tau}, steps=${steps})
loss, gradient, _ = motion.loss_and_gradient("${loss}", trace[-1], keys, ${tau})
print(geometry.norm(trace[-1]), "long; loss", loss, "and a gradient of length", geometry.norm(gradient))
print(geometry.norm(trace[-1] - ${lr} * gradient), "long after the next step")
${widget}`;
}

// ---- pictures ----------------------------------------------------------------------------------------------------------

/** Lengths for the faint circles: of the start, and of a few points of the trace, evenly spread. */
function ringsOf(trace) {
  const every = Math.ceil((trace.length - 1) / 6);
  return trace.filter((_, t) => t % every === 0 && t < trace.length - 1).map(norm);
}

function dots(plane, trace) {
  return trace.slice(0, -1).map((point) => {
    const [cx, cy] = plane.at(point);
    return svg("circle", { class: "cw-trace-dot", cx: cx.toFixed(2), cy: cy.toFixed(2), r: 2.2 });
  });
}

/** From the tip of an arrow to the middle of its letter, away from the origin. */
function labelShift([x, y]) {
  const length = Math.hypot(x, y) || 1;
  return [(20 * x) / length, (-20 * y) / length];
}

/** q a disc, k a ring, a negative a square: shapes that need no colour. */
function knob(name) {
  if (name === "q") return svg("circle", { class: "cw-knob", r: 8 });
  if (name === "k") return svg("circle", { class: "cw-knob cw-knob-open", r: 8 });
  return svg("rect", { class: "cw-knob cw-knob-open", x: -7, y: -7, width: 14, height: 14 });
}

function legend() {
  const line = (kind) => svg("path", { class: kind, d: "M1 10H25" });
  return h("ul", { class: "cw-legend" },
    wideKey("as long as q", line("cw-ring-now")), wideKey("as long as q after the step", line("cw-ring-next")),
    wideKey("next step", svg("path", { class: "cw-vector cw-vector-step", d: "M1 10H24M17 5L24 10L17 15" })),
    wideKey("right angle", svg("path", { class: "cw-right-angle", d: "M6 5H17V16" })));
}

/** Lines over the steps 0 to `steps`: lines = [{values, kind}, ...], their values evenly spread; `name` says in words what is seen. */
function stepChart({ lines, name, title, steps = lines[0].values.length - 1 }) {
  const [width, height, left, right, top, bottom] = [340, 140, 44, 10, 8, 26];
  const all = lines.flatMap(({ values }) => values);
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const room = Math.max((high - low) * 0.08, high * 0.01, 1e-9);
  const last = Math.max(steps, 1);
  const y = (value) => top + ((high + room - value) / (high - low + 2 * room)) * (height - top - bottom);
  const x = (t, count) => left + (t / Math.max(count - 1, 1)) * (width - left - right);
  const path = (values) => values.map((value, t) => `${t ? "L" : "M"}${x(t, values.length).toFixed(1)} ${y(value).toFixed(1)}`).join("");
  const ticks = number(low) === number(high) ? [high] : [low, high];
  return h("div", {}, h("p", { class: "cw-small-title" }, title),
    drawing({ width, height }, { "aria-label": name },
      svg("path", { class: "cw-frame", d: `M${left} ${top}V${height - bottom}H${width - right}` }),
      lines.map(({ values, kind }) => svg("path", { class: kind, d: path(values) })),
      ticks.map((value) => svg("text", { class: "cw-axis-text cw-end", x: left - 6, y: y(value) + 4 }, number(value))),
      svg("text", { class: "cw-axis-text cw-start", x: left, y: height - 10 }, "0"),
      svg("text", { class: "cw-axis-text cw-end", x: width - right, y: height - 10 }, `${last} step${last === 1 ? "" : "s"}`)));
}
