// The interactive "a step along the circle": drag q and k, look at the gradient of a loss, take steps, watch the length.
// Runs in Jupyter (anywidget) and on a static page (afm_host.js) alike.
import { fine, h, number, svg } from "../shared/widgets/kit.js";
import { button, framed, ladder, presets, showing, table } from "../shared/widgets/controls.js";
import { LOSSES, norm, radialPart } from "../shared/widgets/motion_math.js";
import { Movable, Plane, niceReach } from "../shared/widgets/motion_plane.js";
import { selection, stepChart } from "../shared/widgets/motion_view.js";
import { LOSS_NAMES, LOSS_NOTES, analyse, asPython, percent, sentences, traceTable } from "./cosine_motion_text.js";

const NAMES = ["q", "k", "negatives", "loss", "lr", "tau", "steps"];
const RATES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10];
const TEMPERATURES = [0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1, 2];
const MOST_STEPS = 500;
const MOST_NEGATIVES = 3;
const FARTHEST_HANDLE = 5;
const NEW_NEGATIVES = [[1.5, -0.8], [-1.4, 0.7], [-0.6, -1.5]];

const PRESETS = {
  turn: { text: "A large step", set: { q: [1.2, 0.3], k: [-0.6, 1.6], loss: "cosine", lr: 2, steps: 0 } },
  short: { text: "A short vector", set: { q: [0.25, 0.05], k: [0.5, 1.6], loss: "cosine", lr: 0.3, steps: 0 } },
  crowd: { text: "Among negatives", set: { q: [-0.9, 0.6], k: [0.8, 1.4], negatives: NEW_NEGATIVES, loss: "infonce", lr: 1.5, steps: 0 } },
  dot: { text: "Dot product", set: { q: [1.2, 0.3], k: [-0.6, 1.2], loss: "dot", lr: 0.2, steps: 0 } },
};

export default showing((model) => new View(model, NAMES));

const capital = (text) => text[0].toUpperCase() + text.slice(1);
const rounded = (point) => point.map((value) => Math.round(value * 100) / 100);
const clamped = (point) => rounded(point.map((value) => Math.min(Math.max(value, -FARTHEST_HANDLE), FARTHEST_HANDLE)));

class View extends Movable {
  get story() {
    return sentences(this.result).join(" ");
  }

  // ---- building, once -------------------------------------------------------------------------------------------------

  build() {
    const { parts } = this;
    parts.message = h("p", { class: "cw-message", role: "status" });
    const head = {
      look: "cw-motion",
      title: "A step along the circle",
      lead: "Drag the tips of q and k. The arrow at the tip of q is its next step of gradient descent; k stays where it is.",
    };
    return framed(head,
      this.buildControls(),
      parts.message,
      h("div", { class: "cw-stage cw-stage-plane" }, this.buildPlane(), this.buildNumbers()),
      parts.summary,
      parts.folds.box);
  }

  buildControls() {
    const { parts } = this;
    parts.loss = selection({ name: "loss", text: "Loss", options: Object.entries(LOSS_NAMES).map(([value, words]) => [value, capital(words)]), notes: LOSS_NOTES, onset: (loss) => this.set({ loss }) });
    parts.lr = ladder({ name: "lr", text: "Learning rate", values: RATES, onset: (lr) => this.set({ lr }) });
    parts.tau = ladder({ name: "tau", text: "Temperature τ", values: TEMPERATURES, onset: (tau) => this.set({ tau }) });
    const step = (action, label, sign, change) => h("button", { type: "button", class: "cw-step", "data-action": action, "aria-label": label, onclick: change }, sign);
    parts.fewer = step("drop-negative", "Remove the last negative", "−", () => this.set({ negatives: this.state().negatives.slice(0, -1) }));
    parts.more = step("add-negative", "Add a negative", "+", () => this.addNegative());
    parts.count = h("span", { class: "cw-count" });
    parts.steppers = h("div", { class: "cw-steps cw-negatives" }, parts.fewer, parts.count, parts.more);
    return h("div", { class: "cw-controls" },
      (parts.presets = presets(PRESETS, (name) => this.set(PRESETS[name].set))).box,
      parts.loss.box,
      h("div", { class: "cw-control" }, parts.lr.box, parts.tau.box, parts.steppers));
  }

  addNegative() {
    const { negatives } = this.state();
    const next = NEW_NEGATIVES.find((point) => !negatives.some((known) => String(known) === String(point))) ?? NEW_NEGATIVES[0];
    if (negatives.length < MOST_NEGATIVES) this.set({ negatives: [...negatives, next] });
  }

  buildPlane() {
    const { parts } = this;
    parts.picture = svg("g", { "aria-hidden": "true" });
    parts.handles = svg("g");
    parts.front = svg("g", { "aria-hidden": "true", class: "cw-front" });
    parts.plane = svg("svg", { class: "cw-plane", viewBox: "0 0 400 400", role: "group", style: "--cw-wide:400" }, parts.picture, parts.handles, parts.front);
    parts.points = h("div", { class: "cw-points", role: "group", "aria-label": "Coordinates" });
    return h("div", { class: "cw-card" },
      h("p", { class: "cw-card-title" }, "The plane ", h("span", { class: "cw-soft" }, "drag, or focus a tip and use the arrow keys")),
      parts.plane, legend(),
      h("p", { class: "cw-small-title cw-below" }, "Coordinates"), parts.points);
  }

  buildNumbers() {
    const { parts } = this;
    parts.one = button("step", "One step", () => this.walk(1));
    parts.many = button("steps", "25 steps", () => this.walk(25));
    parts.reset = button("reset", "Back to the start", () => this.set({ steps: 0 }));
    parts.facts = h("dl", { class: "cw-facts" });
    parts.chart = h("div", { class: "cw-chart" });
    return h("div", { class: "cw-card" },
      h("p", { class: "cw-card-title" }, "The next step"),
      parts.facts,
      h("div", { class: "cw-row cw-buttons" }, parts.one, parts.many, parts.reset),
      parts.chart);
  }

  // ---- what the reader does ----------------------------------------------------------------------------------------------

  walk(steps) {
    this.set({ steps: Math.min(this.state().steps + steps, MOST_STEPS) });
  }

  /** The points that can be moved: name, words, place. q is moved from where its steps have brought it. */
  handles() {
    const { q, k, negatives, loss } = this.state();
    const used = LOSSES[loss].many ? negatives : [];
    const place = this.result?.here ?? q;
    return [["q", "q", place], ["k", "k, the positive", k], ...used.map((point, i) => [`n${i + 1}`, `negative ${i + 1}`, point])];
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

  canvas() {
    return this.parts.plane;
  }

  // ---- showing -------------------------------------------------------------------------------------------------------------

  refresh() {
    const state = this.state();
    this.result = analyse(state);
    this.showControls(state);
    this.showPlane();
    this.showNumbers();
    this.showTable();
    this.parts.folds.code.textContent = asPython(state);
    this.announce();
  }

  showControls({ loss, lr, tau, negatives, steps }) {
    const { parts, result } = this;
    const { many } = LOSSES[loss];
    parts.loss.show(loss);
    parts.lr.show(lr, number(lr));
    parts.tau.show(tau, number(tau));
    parts.tau.box.hidden = parts.steppers.hidden = !many;
    parts.count.textContent = negatives.length === 1 ? "1 negative" : `${negatives.length} negatives`;
    parts.fewer.disabled = negatives.length === 0;
    parts.more.disabled = negatives.length >= MOST_NEGATIVES;
    parts.message.textContent = result.problem ?? "";
    parts.message.hidden = !result.problem;
    parts.one.disabled = parts.many.disabled = Boolean(result.problem) || steps >= MOST_STEPS;
    parts.reset.disabled = steps === 0;
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
    const { parts } = this;
    const names = points.map(([name]) => name).join();
    if (parts.handles.dataset.names !== names) {
      parts.handles.replaceChildren(...points.map(([name, words]) => this.handle(name, words)));
      parts.handles.dataset.names = names;
    }
    points.forEach(([name, , place], i) => {
      const handle = parts.handles.children[i];
      const [x, y] = this.frame.at(place);
      handle.style.transform = `translate(${x.toFixed(2)}px, ${y.toFixed(2)}px)`;
      const [dx, dy] = labelShift(place);
      handle.querySelector("text").setAttribute("x", dx);
      handle.querySelector("text").setAttribute("y", dy + 5);
      handle.setAttribute("aria-valuenow", place[0].toFixed(2));
      handle.setAttribute("aria-valuetext", `x ${number(place[0])}, y ${number(place[1])}, length ${number(norm(place))}`);
      handle.classList.toggle("cw-dragged", this.dragged === name);
    });
  }

  handle(name, words) {
    const drag = (event) => this.onDrag(event, name);
    return svg("g", {
      class: `cw-handle cw-handle-${name[0]}`, "data-handle": name, tabindex: "0", role: "slider", "aria-label": words,
      "aria-roledescription": "point in the plane", "aria-valuemin": -FARTHEST_HANDLE, "aria-valuemax": FARTHEST_HANDLE,
      onkeydown: (event) => this.onKey(event, name), onpointerdown: drag, onpointermove: drag, onpointerup: drag, onpointercancel: drag,
    }, svg("circle", { class: "cw-touch", r: 22 }), knob(name), svg("text", { class: "cw-handle-text" }, name));
  }

  showPoints() {
    const { parts } = this;
    const { q, k, negatives, loss, steps } = this.state();
    const points = [["q", steps ? "q, start" : "q", q], ["k", "k", k], ...(LOSSES[loss].many ? negatives : []).map((point, i) => [`n${i + 1}`, `n${i + 1}`, point])];
    const names = points.map(([, words]) => words).join();
    if (parts.points.dataset.names !== names) {
      parts.points.replaceChildren(...points.map(([name, words]) => h("div", { class: "cw-point" }, h("var", {}, words), ["x", "y"].map((axis, i) => this.coordinate(name, words, axis, i)))));
      parts.points.dataset.names = names;
    }
    points.forEach(([name, , point]) => ["x", "y"].forEach((axis, i) => {
      const input = parts.points.querySelector(`[name="${name}-${axis}"]`);
      if (Number(input.value) !== point[i] || input.value === "") input.value = point[i];
    }));
  }

  coordinate(name, words, axis, i) {
    const change = (event) => {
      if (event.target.value === "") return;
      const place = this.pointNamed(name).slice();
      place[i] = Number(event.target.value);
      this.move(name, place);
    };
    return h("label", {}, axis, " ", h("input", { type: "number", name: `${name}-${axis}`, min: -FARTHEST_HANDLE, max: FARTHEST_HANDLE, step: 0.1, "aria-label": `${words}, ${axis}`, onchange: change }));
  }

  pointNamed(name) {
    const { q, k, negatives } = this.state();
    return { q, k }[name] ?? negatives[Number(name.slice(1)) - 1];
  }

  showNumbers() {
    const { parts, result } = this;
    const { step, lengths } = result;
    const facts = step ? [
      ["cos(q, k)", number(step.cosine)],
      ["gradient, length", fine(step.size)],
      ["its part along q", number(Math.abs(step.radial) < 1e-9 * step.size ? 0 : radialPart(step.gradient, step.here))],
      ["angle to q", step.angle === null ? "at rest" : `${number(step.angle)}°`],
      ["length of q, now", number(step.before)],
      ["after the step", `${number(step.after)} (${percent(step.after / step.before - 1)})`],
    ] : [];
    parts.facts.replaceChildren(...facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
    const taken = lengths.length - 1;
    parts.chart.replaceChildren(taken ? stepChart({
      lines: [{ values: lengths, kind: "cw-line-norm" }], title: "Length of q, step by step",
      name: `Length of q over ${taken} steps: from ${number(lengths[0])} to ${number(lengths[taken])}.`,
    }) : h("p", { class: "cw-empty" }, "No step taken yet."));
  }

  showTable() {
    const { parts: { folds: { data, table: holder } }, result } = this;
    if (!data.open) return;
    holder.replaceChildren(result.problem ? h("p", {}, result.problem) : table(...traceTable(result)));
  }
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
  const key = (text, ...picture) => h("li", {}, svg("svg", { viewBox: "0 0 26 20", "aria-hidden": "true" }, picture), text);
  const line = (kind) => svg("path", { class: kind, d: "M1 10H25" });
  return h("ul", { class: "cw-legend" },
    key("as long as q", line("cw-ring-now")), key("as long as q after the step", line("cw-ring-next")),
    key("next step", svg("path", { class: "cw-vector cw-vector-step", d: "M1 10H24M17 5L24 10L17 15" })),
    key("right angle", svg("path", { class: "cw-right-angle", d: "M6 5H17V16" })));
}
