// The interactive "which towers stay on the circle": a small training in the plane, the angle of every move, the lengths.
// Runs in Jupyter (anywidget), on a static page (afm_host.js) and on paper alike.
import { fine, h, list, number, svg } from "../shared/widgets/kit.js";
import { Interactive, beside, button, framed, ladder, presets, showing, slider, table } from "../shared/widgets/controls.js";
import { Plane, niceReach } from "../shared/widgets/motion_plane.js";
import { selection, stepChart } from "../shared/widgets/motion_view.js";
import { Training, USERS } from "./tower_math.js";

const NAMES = ["tower", "optimiser", "loss", "batch_size", "lr", "steps", "follow", "seed"];
const RATES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 2, 5, 10];
const MOST_STEPS = 300;

const plain = { tower: "lookup", optimiser: "sgd", loss: "infonce", steps: 60 };
const PRESETS = {
  lookup: { text: "Plain lookup", set: { ...plain, lr: 0.5 } },
  dot: { text: "Dot product", set: { ...plain, loss: "infonce_dot", lr: 0.5 } },
  layers: { text: "Two layers", set: { ...plain, tower: "two_layers", lr: 0.2 } },
  bias: { text: "A bias", set: { ...plain, tower: "bias", lr: 0.1 } },
  momentum: { text: "Momentum", set: { ...plain, optimiser: "momentum", lr: 0.1 } },
  scale: { text: "Shared scale", set: { ...plain, tower: "scale", lr: 0.5 } },
  adam: { text: "Adam", set: { ...plain, optimiser: "adam", lr: 0.1 } },
};

export default showing((model) => new View(model, NAMES));

// ---- the choices: name, what it does to the angles, and the premise of Theorem 2.1 of P0 that it leaves open ----------------

const choices = {
  tower: {
    lookup: { name: "a lookup, q = Eᵤ" },
    one_hot: { name: "a linear layer on one-hot inputs", note: "The linear layer is the same function as a lookup, stored as the columns of a matrix." },
    dense: { name: "a linear layer on features, q = W xᵤ", note: "The features of two users are not perpendicular, so the gradients of all users mix.", open: "the inputs of the tower are not orthogonal" },
    two_layers: { name: "an embedding and a linear layer, q = B Eᵤ", note: "All users share B, and BBᵀ bends the step of Eᵤ.", open: "the tower is not linear in its parameters" },
    bias: { name: "a lookup with a shared bias, q = Eᵤ + b", note: "Every gradient of the batch moves the bias, and the bias moves everybody.", open: "all users share the bias" },
    scale: { name: "a lookup with a shared scale, q = s Eᵤ", note: "A loss of cosines never moves the scale s.", open: "the tower is not linear in its parameters" },
  },
  optimiser: {
    sgd: { name: "SGD" },
    momentum: { name: "SGD with momentum", note: "Momentum (0.9) adds old gradients, which were perpendicular to where q was.", open: "the optimiser has momentum" },
    decay: { name: "SGD with weight decay", note: "Decay (0.05) pulls every parameter towards zero in every step.", open: "the optimiser decays the weights" },
    lazy_decay: { name: "SGD with lazy decay", note: "Decay (0.05) pulls the rows that the batch touched towards zero.", open: "the optimiser decays the weights" },
    row_adagrad: { name: "row-wise Adagrad", note: "Each row of parameters has its own rate, so the direction of the row’s step stays.", open: "the optimiser is not plain SGD" },
    adam: { name: "Adam", note: "Each number has its own rate, so the step turns; the first step is the sign of the gradient.", open: "the optimiser is not plain SGD" },
  },
  loss: {
    infonce: { name: "InfoNCE on cosines" },
    cosine_squared: { name: "(1 − cos)²" },
    infonce_dot: { name: "InfoNCE on dot products", note: "The gradient of a dot product has a part along q.", open: "the loss sees more than cosines" },
  },
};

const chosen = (state) => Object.entries(choices).map(([name, options]) => options[state[name]]);
const capital = (text) => text[0].toUpperCase() + text.slice(1);

class View extends Interactive {
  // ---- building, once -------------------------------------------------------------------------------------------------

  build() {
    const { parts } = this;
    const head = {
      look: "cw-motion cw-words-under",
      title: "Which towers stay on the circle",
      lead: "24 users learn in the plane. Change one part, and look at the angle between each embedding and its move.",
    };
    const select = (name, text) => parts[name] = selection({ name, text, options: Object.entries(choices[name]).map(([value, option]) => [value, capital(option.name)]), onset: (value) => this.set({ [name]: value }) });
    const slide = (name, text, min, max) => parts[name] = slider({ name, text, min, max, step: 1, onset: (value) => this.set({ [name]: value }) });
    parts.presets = presets(PRESETS, (name) => this.set(PRESETS[name].set));
    parts.lr = ladder({ name: "lr", text: "Learning rate", values: RATES, onset: (lr) => this.set({ lr }) });
    parts.one = button("step", "One step", () => this.walk(1));
    parts.many = button("steps", "20 steps", () => this.walk(20));
    parts.reset = button("reset", "Reset", () => this.set({ steps: 0 }));
    parts.again = button("again", "Other random numbers", () => this.set({ seed: (this.state().seed + 1) % 1000 }));
    return framed(head,
      beside({
        start: parts.presets.box,
        main: [select("tower", "User tower").box, select("optimiser", "Optimiser of the users").box, select("loss", "Loss").box,
          slide("steps", "Steps of training", 0, MOST_STEPS).box, h("div", { class: "cw-row cw-buttons" }, parts.one, parts.many, parts.reset)],
        view: h("div", { class: "cw-pair" }, this.buildPlane(), this.buildAngles()),
        words: parts.summary,
        more: [h("div", { class: "cw-pair cw-stays" }, parts.lr.box, slide("batch_size", "Batch size", 4, USERS).box, slide("follow", "Follow user", 1, USERS).box), parts.again],
      }),
      parts.folds.box);
  }

  buildPlane() {
    const { parts } = this;
    parts.plane = svg("svg", { class: "cw-plane", viewBox: "0 0 400 400", role: "img", style: "--cw-wide:400" });
    return h("div", { class: "cw-card" },
      h("p", { class: "cw-card-title" }, "The paths of the users"),
      parts.plane,
      h("ul", { class: "cw-legend" },
        wideKey("path of the user you follow", svg("path", { class: "cw-path-followed", d: "M1 10H25" })),
        wideKey("its circle now", svg("path", { class: "cw-ring-now", d: "M1 10H25" })),
        wideKey("at the start", svg("path", { class: "cw-ring-next", d: "M1 10H25" })),
        wideKey("its last move", svg("path", { class: "cw-vector cw-vector-step", d: "M1 10H24M17 5L24 10L17 15" }))));
  }

  buildAngles() {
    const { parts } = this;
    parts.share = h("p", { class: "cw-share" });
    this.rose = new Rose();
    parts.chart = h("div", {});
    return h("div", { class: "cw-card" },
      h("p", { class: "cw-card-title" }, "Angle between q and its move"),
      this.rose.root, parts.share,
      h("ul", { class: "cw-legend" },
        wideKey("uniform directions", svg("path", { class: "cw-null", d: "M1 10H25" })),
        wideKey(`90 ± ${NEAR}°`, svg("path", { class: "cw-near", d: "M1 10H25" }))),
      parts.chart,
      h("ul", { class: "cw-legend" },
        wideKey("the user you follow", svg("path", { class: "cw-line-norm", d: "M1 10H25" })),
        wideKey("mean of all", svg("path", { class: "cw-line-mean-norm", d: "M1 10H25" }))));
  }

  walk(steps) {
    this.set({ steps: Math.min(this.state().steps + steps, MOST_STEPS) });
  }

  // ---- showing -------------------------------------------------------------------------------------------------------------

  refresh() {
    const state = this.state();
    const { steps, follow, ...settings } = state;
    const trained = JSON.stringify(settings);
    if (trained !== this.trained) this.training = new Training(state);
    this.trained = trained;
    const run = this.training.to(steps);
    this.result = { ...run, state, angles: run.moves.map(([, , angle]) => angle) };
    const said = sentences(this.result);
    this.story = said.join(" ");
    this.showControls(state);
    this.showPlane(state);
    this.rose.show(this.result.angles, said[1]);
    this.showShare();
    this.showNorms(state, said[3]);
    this.showTable();
    this.parts.folds.code.textContent = asPython(state);
    this.announce?.();
  }

  showControls({ batch_size: batch, lr, steps, follow, ...state }) {
    const { parts } = this;
    for (const name of Object.keys(choices)) parts[name].show(state[name]);
    parts.batch_size.show(batch, `${batch} pairs`);
    parts.lr.show(lr, number(lr));
    parts.steps.show(steps, String(steps));
    parts.follow.show(follow, `${follow} of ${USERS}`);
    parts.one.disabled = parts.many.disabled = steps >= MOST_STEPS;
    parts.reset.disabled = steps === 0;
  }

  showPlane({ follow }) {
    const { parts, result: { path, norms, moves } } = this;
    const user = follow - 1;
    const plane = new Plane(niceReach(1.05 * Math.max(...norms.map((all) => Math.max(...all)))));
    const last = path.length - 1;
    const seen = thinned(path);
    const of = (one) => seen.map((all) => all[one]);
    const move = moves.findLast(([, mover]) => mover === user);
    parts.plane.replaceChildren(
      plane.axes(),
      ...path[0].flatMap((_, other) => (other === user ? [] : [plane.trace(of(other), "cw-path-other"), spot(plane, path[last][other], "cw-dot-other", 2.4)])),
      plane.circle(norms[0][user], "cw-ring-next"), plane.circle(norms[last][user], "cw-ring-now"),
      plane.trace(of(user), "cw-path-followed"), spot(plane, path[last][user], "cw-knob", 6),
      ...(move ? [plane.arrow(path[move[0]][user], path[move[0] + 1][user], "cw-vector cw-vector-step")] : []));
    const moved = move ? `Its last move stood at ${number(move[2])}° to it.` : "It has not moved.";
    parts.plane.setAttribute("aria-label", `The paths of ${USERS} users. User ${follow} went from length ${number(norms[0][user])} to ${number(norms[last][user])}. ${moved}`);
  }

  showShare() {
    const { parts, result: { angles } } = this;
    parts.share.replaceChildren(...(angles.length
      ? [h("strong", {}, percent(shareNear(angles))), ` of ${angles.length} moves within 90 ± ${NEAR}°; uniform directions: ${percent(NULL_SHARE)}`]
      : ["Nothing has moved yet."]));
  }

  showNorms({ follow }, name) {
    const { norms } = this.result;
    const means = norms.map(mean);
    this.parts.chart.replaceChildren(stepChart({
      title: "Lengths, step by step", name, steps: norms.length - 1,
      lines: [{ values: thinned(means), kind: "cw-line-mean-norm" }, { values: thinned(norms.map((all) => all[follow - 1])), kind: "cw-line-norm" }],
    }));
  }

  showTable() {
    const { data, table: holder } = this.parts.folds;
    if (data.open) holder.replaceChildren(table(...angleTable(this.result.angles)));
  }
}

/** At most a hundred of many points, evenly spread, the last among them: more cannot be seen. */
function thinned(points, most = 100) {
  const every = Math.ceil(points.length / most);
  return every === 1 ? points : points.filter((_, t) => (points.length - 1 - t) % every === 0);
}

// ---- words ---------------------------------------------------------------------------------------------------------------

const NEAR = 10;
const PETALS = 27;
const NULL_SHARE = (2 * NEAR) / 180;

const percent = (share) => `${number(100 * share)} %`;
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const shareNear = (angles) => angles.filter((angle) => Math.abs(angle - 90) <= NEAR).length / angles.length;

/** The share of the angles in each of `count` equal parts of 0 to 180 degrees. */
function shares(angles, count) {
  const found = Array.from({ length: count }, () => 0);
  for (const angle of angles) found[Math.min(Math.floor((angle * count) / 180), count - 1)] += 1;
  return found.map((times) => times / Math.max(angles.length, 1));
}

const sentences = ({ state, angles, norms }) => [opening(state), aboutAngles(angles), aboutTheorem(state), aboutNorms(norms), ...chosen(state).map(({ note }) => note).filter(Boolean)];

function opening(state) {
  const [tower, optimiser, loss] = chosen(state).map(({ name }) => name);
  return `${capital(tower)}; ${optimiser}; ${loss}; ${state.steps} step${state.steps === 1 ? "" : "s"}.`;
}

function aboutAngles(angles) {
  if (!angles.length) return "Nothing has moved yet.";
  const count = angles.length === 1 ? "the one move" : `all ${angles.length} moves`;
  const worst = Math.max(...angles.map((angle) => Math.abs(angle - 90)));
  if (worst < 1e-3) return `Of ${count}, each stood perpendicular to its embedding, to a thousandth of a degree.`;
  return `Of ${count}, ${percent(shareNear(angles))} stood within 90 ± ${NEAR}° to their embeddings (uniform directions: ${percent(NULL_SHARE)}); the farthest stood ${fine(worst)}° away from 90°.`;
}

function aboutTheorem(state) {
  const reasons = chosen(state).map(({ open }) => open).filter(Boolean);
  return reasons.length ? `P0’s Theorem 2.1 does not cover this choice: ${list(reasons)}.` : "P0’s Theorem 2.1 covers this choice.";
}

function aboutNorms(norms) {
  const [first, last] = [mean(norms[0]), mean(norms[norms.length - 1])];
  if (norms.length === 1) return `The mean length is ${number(first)}.`;
  const shrank = norms[0].filter((_, user) => norms.some((all, t) => t > 0 && all[user] - norms[t - 1][user] < -1e-9 * norms[t - 1][user])).length;
  const never = shrank === 0 ? "No embedding ever became shorter" : `${shrank} of ${USERS} embeddings became shorter at some step`;
  return `The mean length went from ${number(first)} to ${number(last)}. ${never}.`;
}

/** Heads, rows and caption of the table of angles. */
function angleTable(angles) {
  const rows = angles.length ? shares(angles, 9).map((share, i) => [`${20 * i}° to ${20 * i + 20}°`, percent(share), percent(1 / 9)]) : [];
  return [["Angle of the move to q", "Share of the moves", "Uniform directions"], rows, "All moves of all steps."];
}

/** Python that trains the same and counts the angles of the table. */
const asPython = ({ tower, optimiser, loss, batch_size, lr, steps, follow, seed }) => `import numpy as np

from course_lib.lessons.jacobian_conditions import small_towers
from course_lib.lessons.jacobian_conditions.tower_motion import TowerMotion

settings = dict(tower="${tower}", optimiser="${optimiser}", loss="${loss}", batch_size=${batch_size}, lr=${lr}, steps=${steps}, seed=${seed})
angles = small_towers.train(**settings).moves[:, 2]
counts, _ = np.histogram(angles, bins=np.linspace(0, 180, 10))
print(100 * counts / max(len(angles), 1), "percent of the moves in each 20 degrees")
TowerMotion(**settings, follow=${follow})`;

// ---- pictures ----------------------------------------------------------------------------------------------------------

const wideKey = (text, ...picture) => h("li", {}, svg("svg", { viewBox: "0 0 26 20", "aria-hidden": "true" }, picture), text);

function spot(plane, point, kind, r) {
  const [cx, cy] = plane.at(point);
  return svg("circle", { class: kind, cx: cx.toFixed(2), cy: cy.toFixed(2), r });
}

const [RADIUS, CENTRE, BASE] = [150, 170, 172];

/** Petals over a half circle: the area of a petal is in proportion to the share of its angles. */
class Rose {
  constructor() {
    this.petals = svg("g", {});
    this.uniform = svg("path", { class: "cw-null" });
    const text = (x, y, kind, words) => svg("text", { class: `cw-axis-text ${kind}`, x, y }, words);
    this.root = svg("svg", { class: "cw-rose", viewBox: "0 0 340 196", role: "img", style: "--cw-wide:340" },
      svg("path", { class: "cw-half", d: `M${arc(0, 180, RADIUS)}Z` }), this.petals, this.uniform,
      [-NEAR, NEAR].map((side) => svg("path", { class: "cw-near", d: `M${CENTRE} ${BASE}L${onCircle(90 + side, RADIUS)}` })),
      text(CENTRE, 14, "", "90°, perpendicular"), text(CENTRE + RADIUS, 190, "cw-end", "0°, outward"), text(CENTRE - RADIUS, 190, "cw-start", "180°, inward"));
  }

  show(angles, name) {
    const found = shares(angles, PETALS);
    const most = Math.max(2 / PETALS, ...found); // what fills the half circle
    const petal = (share, i) => svg("path", { class: "cw-petal", d: `M${CENTRE} ${BASE}L${arc((180 * i) / PETALS, (180 * (i + 1)) / PETALS, RADIUS * Math.sqrt(share / most))}Z` });
    this.petals.replaceChildren(...found.map((share, i) => share && petal(share, i)).filter(Boolean));
    this.uniform.setAttribute("d", `M${arc(0, 180, RADIUS * Math.sqrt(1 / PETALS / most))}`);
    this.root.setAttribute("aria-label", name);
  }
}

function onCircle(degrees, length) {
  const angle = (degrees * Math.PI) / 180;
  return `${(CENTRE + length * Math.cos(angle)).toFixed(2)} ${(BASE - length * Math.sin(angle)).toFixed(2)}`;
}

const arc = (low, high, length) => `${onCircle(low, length)}A${length.toFixed(2)} ${length.toFixed(2)} 0 0 0 ${onCircle(high, length)}`;
