// The interactive "which towers stay on the circle": a small training in the plane, the angle of every move, the lengths.
import { capital, drawing, fine, h, number, remembered, sized, svg } from "../shared/widgets/kit.js";
import { Interactive, button, card, hero, ladder, presets, selection, showing, slider, stepButtons, wideKey } from "../shared/widgets/controls.js";
import { Plane, niceReach } from "../shared/widgets/motion_plane.js";
import { norm } from "../shared/widgets/motion_math.js";
import { average } from "../shared/widgets/tables.js";
import { STILL, Training, USERS, pushed, radialSpeed } from "./tower_math.js";

const NAMES = ["tower", "optimiser", "loss", "batch_size", "lr", "steps", "follow", "seed", "everything"];
const RATES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 2, 5, 10];
const MOST_STEPS = 300;

const plain = { tower: "lookup", optimiser: "sgd", loss: "infonce", steps: 60 };
const PRESETS = {
  lookup: { text: "Plain table", set: { ...plain, lr: 0.5 } },
  bias: { text: "Bias", set: { ...plain, tower: "bias", lr: 0.5 } },
  layers: { text: "Two layers", set: { ...plain, tower: "two_layers", lr: 0.2 } },
  scale: { text: "Scale", set: { ...plain, tower: "scale", lr: 0.5 } },
  normalised: { text: "Normalised", set: { ...plain, tower: "normalised", lr: 0.5 } },
  momentum: { text: "Momentum", set: { ...plain, optimiser: "momentum", lr: 0.1 } },
  adam: { text: "Adam", set: { ...plain, optimiser: "adam", lr: 0.1 } },
  dot: { text: "Dot product", set: { ...plain, loss: "infonce_dot", lr: 0.5 } },
};

// ---- the choices, and what becomes of the right angle ----------------------------------------------------------------------

const choices = {
  tower: {
    lookup: { name: "a table, q = Eᵤ" },
    one_hot: { name: "a linear layer on one-hot inputs" },
    dense: { name: "a linear layer on features, q = W xᵤ", why: "The features of two people are not perpendicular, so the gradients of all people mix." },
    mlp: { name: "an MLP on features, q = B max(A xᵤ, 0)", why: "All people share both layers, so their gradients mix, and each layer turns the step of the other." },
    two_layers: { name: "a table and a linear layer, q = B Eᵤ", why: "All people share B, and BBᵀ turns the step of Eᵤ." },
    bias: { name: "a table with a shared bias, q = Eᵤ + b", why: "Every gradient of the batch moves the bias, and the bias moves everybody." },
    scale: { name: "a table with a shared scale, q = s Eᵤ" },
    normalised: { name: "a table, divided by its length, q = Eᵤ/‖Eᵤ‖" },
  },
  optimiser: {
    sgd: { name: "SGD" },
    momentum: { name: "SGD with momentum", why: "Momentum (0.9) adds old gradients, which were perpendicular to earlier vectors q." },
    decay: { name: "SGD with weight decay", why: "Decay (0.05) pulls every vector towards zero in every step." },
    lazy_decay: { name: "SGD with lazy decay", why: "Decay (0.05) pulls the vectors of the batch towards zero." },
    row_adagrad: { name: "row-wise AdaGrad", why: "A row of this matrix is a coordinate of all people, so the coordinates have rates of their own." },
    adagrad: { name: "AdaGrad", why: "Each number has a rate of its own, so the step turns." },
    adam: { name: "Adam, all rows", why: "Each number has a rate of its own, so the step turns." },
    lazy_adam: { name: "Adam, rows of the batch only", why: "Each number has a rate of its own, so the step turns." },
  },
  loss: {
    infonce: { name: "InfoNCE on cosines" },
    cosine_squared: { name: "(1 − cos)²" },
    infonce_dot: { name: "InfoNCE on dot products" },
  },
};

const KEEPS = 1e-9; // radial speed below this is rounding
const SHORTER = 1e-9; // part of its length that a vector must lose; less is rounding

/** Whether every row steps along its own gradient of the moment. */
const alongGradient = ({ optimiser, tower }) => optimiser === "sgd" || (optimiser === "row_adagrad" && tower !== "one_hot");

/**
 * The flowchart: questions with their answers (none behind the leaf), a number for each, and the leaf where they end:
 * what becomes of the right angle ("kept", "longer", "lost"), in words, and by what.
 */
function flow(state, { pulls }, radial) {
  const why = (name) => choices[name][state[name]].why;
  const worst = (angles) => (!angles.length ? "not yet" : Math.max(...angles) < 0.005 ? "0°" : `up to ${number(Math.max(...angles))}°`);
  const momentum = state.optimiser === "momentum";
  const leaves = {
    divided: { verdict: "kept", title: "The length is 1 after every step.", by: "The output cannot leave the circle: Jᵀq = 0 (exercise “An output on the sphere”). The rows that are divided do change their length." },
    loss: { verdict: "lost", title: "The gradient itself is not perpendicular.", by: "A dot product grows with the length of q, so its gradient has a part along q." },
    tower: { verdict: "lost", title: "The tower loses the right angle.", by: `${why("tower")} (Lemma “How the batch moves an embedding”.)` },
    optimiser: momentum
      ? { verdict: "longer", title: "Not perpendicular, yet never shorter.", by: `${why("optimiser")} (Proposition “Heavy ball”.)` }
      : { verdict: "lost", title: "The optimiser loses the right angle.", by: `${why("optimiser")}${/adam|adagrad/.test(state.optimiser) ? " (Proposition “Adam’s first step”.)" : ""}` },
    end: { verdict: "kept", title: "Every move is perpendicular, and no vector becomes shorter.", by: endOf(state) },
  };
  const asked = [
    { ask: "Is the output divided by its length?", answer: state.tower === "normalised", on: false, measure: "", leaf: "divided" },
    { ask: "Does the loss ignore lengths?", answer: state.loss !== "infonce_dot", on: true, measure: `gradient off the right angle: ${worst(pulls.map(([angle]) => Math.abs(angle - 90)))}`, leaf: "loss" },
    { ask: "Do the blocks JᵢJⱼᵀ keep a right angle?", answer: radial < KEEPS, on: true, measure: radial < KEEPS ? "speed along q: 0 %" : `speed along q: up to ${number(100 * radial)} %`, leaf: "tower" },
    { ask: "Does every row step along its own gradient?", answer: alongGradient(state), on: true, measure: `step off the gradient: ${worst(pulls.map(([, angle]) => angle))}`, leaf: "optimiser" },
  ];
  const last = asked.findIndex(({ answer, on }) => answer !== on);
  return { asked: asked.map((one, k) => ({ ...one, reached: last < 0 || k <= last, leaves: k === last })), leaf: leaves[last < 0 ? "end" : asked[last].leaf] };
}

function endOf({ optimiser, tower }) {
  if (optimiser === "row_adagrad") return "Proposition “Row-wise Adagrad”: the step is a multiple of the gradient.";
  if (tower === "scale") return "Theorem “Sharp criterion”: a loss of cosines never moves s.";
  return "Theorem “Orthogonal embedding motion”: the blocks are those of a table, and the tower is linear in its parameters.";
}

/** The move that shows a leaf: the first that shortens its vector, or else the one that is farthest from 90 degrees. */
function example({ moves, norms, path }) {
  const shrinks = ([t, user]) => norms[t][user] - norms[t + 1][user] > SHORTER * norms[t][user];
  const off = (move) => Math.abs(move[2] - 90);
  const farthest = (some) => some.reduce((one, other) => (off(other) > off(one) ? other : one), some[0]);
  const first = moves.find(shrinks);
  const found = first ? farthest(moves.filter((move) => move[0] === first[0] && shrinks(move))) : farthest(moves);
  if (!found) return null;
  const [t, user, angle] = found;
  return { step: t + 1, user: user + 1, angle, from: norms[t][user], to: norms[t + 1][user], q: path[t][user], shrinks: Boolean(first) };
}

const chosen = (state) => Object.entries(choices).map(([name, options]) => options[state[name]]);

export default showing(NAMES, class extends Interactive {
  build(parts) {
    const select = (name, text) => this.control(selection, name, { text, options: Object.entries(choices[name]).map(([value, option]) => [value, capital(option.name)]) });
    const slide = (name, text, min, max, words) => this.control(slider, name, { text, min, max, step: 1, words });
    [this.training, this.radial] = [remembered((settings) => new Training(JSON.parse(settings))), remembered(radialSpeed)];
    parts.presets = presets(PRESETS, (name) => this.set(PRESETS[name].set));
    this.control(ladder, "lr", { text: "Learning rate", values: RATES, words: number });
    parts.walk = stepButtons(this, 20, MOST_STEPS);
    parts.again = button("again", "Other random numbers", () => this.set({ seed: (this.state().seed + 1) % 1000 }));
    parts.push = svg("svg", { role: "img" });
    return hero(this, {
      head: { look: "cw-motion cw-towers", title: "One push on one person: who moves?", lead: "24 people have a vector in the plane. A step of training (orange) turns one of them (purple). Red arrows and bars: vectors that become shorter." },
      controls: [select("tower", "Tower").box, slide("follow", "Person who is pushed", 1, USERS, (user) => `${user} of ${USERS}`).box, parts.lr.box],
      picture: parts.push,
      more: {
        start: parts.presets.box,
        main: [select("optimiser", "Optimiser of the people’s tower").box, select("loss", "Loss").box,
          slide("steps", "Steps of training", 0, MOST_STEPS).box, parts.walk.box, slide("batch_size", "Batch size", 4, USERS, (pairs) => `${pairs} pairs`).box, parts.again],
        view: [this.buildFlow(parts), h("div", { class: "cw-pair" }, this.buildPlane(parts), this.buildAngles(parts))],
      },
    });
  }

  buildFlow(parts) {
    parts.asks = h("ol", { class: "cw-asks", "aria-label": "Flowchart" });
    parts.leaf = h("div", { class: "cw-leaf" });
    return h("div", { class: "cw-card", "data-paper": true }, parts.asks, parts.leaf);
  }

  buildPlane(parts) {
    parts.plane = drawing({ width: 400, height: 400 }, { class: "cw-plane" });
    return card("The paths of the people", "", parts.plane,
      h("ul", { class: "cw-legend" },
        wideKey("path of the vector you follow", svg("path", { class: "cw-path-followed", d: "M1 10H25" })),
        wideKey("its circle now", svg("path", { class: "cw-ring-now", d: "M1 10H25" })),
        wideKey("at the start", svg("path", { class: "cw-ring-next", d: "M1 10H25" })),
        wideKey("its last move", svg("path", { class: "cw-vector cw-vector-step", d: "M1 10H24M17 5L24 10L17 15" }))));
  }

  buildAngles(parts) {
    parts.share = h("p", { class: "cw-share" });
    this.rose = new Rose();
    return card("Angle between q and its move", "", this.rose.root, parts.share,
      h("ul", { class: "cw-legend" },
        wideKey("uniform directions", svg("path", { class: "cw-null", d: "M1 10H25" })),
        wideKey(`90 ± ${NEAR}°`, svg("path", { class: "cw-near", d: "M1 10H25" }))));
  }

  refresh(parts, state) {
    const { steps, follow, everything, ...settings } = state;
    const run = this.training(JSON.stringify(settings)).to(steps);
    const found = flow(state, run, this.radial(state.tower, state.seed));
    this.result = { ...run, state, angles: run.moves.map(([, , angle]) => angle), flow: found, example: found.leaf.verdict === "kept" ? null : example(run) };
    const said = sentences(this.result);
    this.push = pushed(state);
    this.story = everything ? said.filter(Boolean).join(" ") : aboutPush(state, this.push);
    parts.walk.show(steps);
    this.showPush(state);
    this.showFlow();
    this.showPlane(state);
    this.rose.show(this.result.angles, said[3]);
    this.showShare();
    this.fold({ numbers: () => angleTable(this.result.angles), python: asPython(state) });
  }

  showFlow() {
    const { parts, result: { example: shown, flow: { asked, leaf } } } = this;
    parts.asks.replaceChildren(...asked.map(({ ask, answer, measure, reached, leaves }) => h("li", { class: "cw-ask", "data-way": leaves ? "off" : reached ? "on" : "unasked" },
      h("span", {}, ask, " ", reached ? h("strong", {}, answer ? "Yes." : "No.") : h("span", { class: "cw-soft" }, "Not asked.")), reached && measure ? h("span", { class: "cw-soft" }, measure) : null)));
    parts.leaf.setAttribute("data-verdict", leaf.verdict);
    parts.leaf.replaceChildren(h("p", {}, h("strong", {}, `${MARKS[leaf.verdict]} ${leaf.title}`), " ", leaf.by),
      h("p", {}, shown ? exampleText(shown) : ""));
  }

  /** Left the vectors and where the push takes them; right the change of each length, one column a person. */
  showPush({ follow }) {
    const { narrow, parts: { push }, push: { before, after } } = this;
    const { width, height, side, left, top, room, at } = narrow ? { width: 358, height: 386, side: 250, left: 22, top: 336, room: 316, at: 286 } : { width: 920, height: 380, side: 372, left: 460, top: 240, room: 430, at: 66 };
    const plane = new Plane(1.05 * Math.max(...[...before, ...after].map(norm)), side);
    const changes = before.map((q, user) => norm(after[user]) - norm(q));
    const most = Math.max(...changes.map(Math.abs), 1e-9);
    const column = (change, user) => {
      const [x, high] = [left + (user * room) / USERS, Math.max(1, (Math.abs(change) / most) * (narrow ? 40 : 110))];
      return svg("rect", { class: change < -STILL ? "cw-shrinks" : "cw-knob-item", x: x.toFixed(1), y: (change < 0 ? top : top - high).toFixed(1), width: (room / USERS - 3).toFixed(1), height: high.toFixed(1) });
    };
    const words = (kind, x, y, text) => svg("text", { class: `cw-hero-text ${kind}`, x, y }, text);
    const shorter = changes.filter((change) => change < -STILL).length;
    sized(push, { width, height });
    push.setAttribute("aria-label", this.story);
    push.replaceChildren(
      svg("svg", { x: narrow ? 54 : 20, y: 4, width: side, height: side }, plane.axes(), plane.circle(norm(before[follow - 1]), "cw-ring-next"),
        before.map((q) => spot(plane, q, "cw-dot-other", 3)),
        before.map((q, user) => (Math.hypot(after[user][0] - q[0], after[user][1] - q[1]) > STILL && user !== follow - 1 ? plane.arrow(q, after[user], `cw-vector ${changes[user] < -STILL ? "cw-shrinks" : "cw-grows"}`) : null)),
        plane.arrow([0, 0], before[follow - 1], "cw-vector cw-vector-q"), plane.arrow(before[follow - 1], after[follow - 1], "cw-vector cw-vector-step")),
      svg("path", { class: "cw-frame", d: `M${left} ${top}h${room}` }), ...changes.map(column),
      words(`cw-shrinks cw-hero-count${narrow ? " cw-small" : ""}`, left, at, `${shorter} of ${USERS}`), words(narrow ? "" : "cw-hero-under", narrow ? left + 130 : left, narrow ? at : at + 26, narrow ? "become shorter" : "vectors become shorter"),
      ...(narrow ? [] : [words("cw-soft", left, height - 14, "change of length, a bar for each person; longer is up")]));
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
    parts.plane.setAttribute("aria-label", `The paths of ${USERS} people. The vector of person ${follow} went from length ${number(norms[0][user])} to ${number(norms[last][user])}. ${moved}`);
  }

  showShare() {
    const { parts, result: { angles } } = this;
    parts.share.replaceChildren(...(angles.length
      ? [h("strong", {}, percent(shareNear(angles))), ` of ${angles.length} moves within 90 ± ${NEAR}°; uniform directions: ${percent(NULL_SHARE)}`]
      : ["Nothing has moved yet."]));
  }

});

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
const shareNear = (angles) => angles.filter((angle) => Math.abs(angle - 90) <= NEAR).length / angles.length;

/** The share of the angles in each of `count` equal parts of 0 to 180 degrees. */
function shares(angles, count) {
  const found = Array.from({ length: count }, () => 0);
  for (const angle of angles) found[Math.min(Math.floor((angle * count) / 180), count - 1)] += 1;
  return found.map((times) => times / Math.max(angles.length, 1));
}

const MARKS = { kept: "✓", longer: "≈", lost: "✕" };

const sentences = ({ state, angles, norms, flow: { leaf }, example: shown }) => [opening(state), leaf.title, shown ? exampleText(shown) : "", aboutAngles(angles), aboutNorms(norms)];

/** The point of the push. */
function aboutPush({ follow }, { before, after }) {
  const others = before.filter((q, user) => user !== follow - 1 && Math.hypot(after[user][0] - q[0], after[user][1] - q[1]) > STILL).length;
  const shorter = before.filter((q, user) => norm(after[user]) - norm(q) < -STILL).length;
  const moved = others ? `also moves ${others} other ${others === 1 ? "person" : "people"}` : "moves nobody else";
  return `One push on person ${follow} ${moved}, and ${shorter || "none"} of the ${USERS} vectors ${shorter === 1 ? "becomes" : "become"} shorter.`;
}

const exampleText = ({ step, user, angle, from, to, q, shrinks }) => `${shrinks ? "Counterexample" : "Example"}: step ${step} moves person ${user} from (${q.map(number).join(", ")}) at ${number(angle)}° to its vector, ` +
  `and its length ${fromTo(from, to)}.`;

/** Three decimals, or as many up to six as show that the length has changed. */
function fromTo(from, to) {
  const digits = [3, 4, 5, 6].find((count) => from.toFixed(count) !== to.toFixed(count));
  return digits ? `goes from ${from.toFixed(digits)} to ${to.toFixed(digits)}` : `hardly changes (${from.toFixed(3)})`;
}

function opening(state) {
  const [tower, optimiser, loss] = chosen(state).map(({ name }) => name);
  return `${capital(tower)}; ${optimiser}; ${loss}; ${state.steps} step${state.steps === 1 ? "" : "s"}.`;
}

function aboutAngles(angles) {
  if (!angles.length) return "Nothing has moved yet.";
  const count = angles.length === 1 ? "the one move" : `all ${angles.length} moves`;
  const worst = Math.max(...angles.map((angle) => Math.abs(angle - 90)));
  if (worst < 1e-3) return `${capital(count)} stood perpendicular to ${angles.length === 1 ? "its vector" : "their vectors"}, to a thousandth of a degree.`;
  return `Of ${count}, ${percent(shareNear(angles))} stood within 90 ± ${NEAR}° to their vectors (uniform directions: ${percent(NULL_SHARE)}); the farthest stood ${fine(worst)}° away from 90°.`;
}

function aboutNorms(norms) {
  const [first, last] = [average(norms[0]), average(norms[norms.length - 1])];
  if (norms.length === 1) return `The mean length is ${number(first)}.`;
  const shrank = norms[0].filter((_, user) => norms.some((all, t) => t > 0 && all[user] - norms[t - 1][user] < -SHORTER * norms[t - 1][user])).length;
  const never = shrank === 0 ? "No vector ever became shorter" : `${shrank} of ${USERS} vectors became shorter at some step`;
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
run = small_towers.train(**settings)
angles, (to_vector, to_move) = run.moves[:, 2], run.pulls.T
print(np.abs(to_vector - 90).max(initial=0), "degrees: the gradients off the right angle")
print(100 * small_towers.radial_speed(settings["tower"], settings["seed"]), "percent: the radial speed of the tower")
print(to_move.max(initial=0), "degrees: the steps off the gradients")
counts, _ = np.histogram(angles, bins=np.linspace(0, 180, 10))
print(100 * counts / max(len(angles), 1), "percent of the moves in each 20 degrees")
TowerMotion(**settings, follow=${follow})`;

// ---- pictures ----------------------------------------------------------------------------------------------------------

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
    this.root = drawing({ width: 340, height: 196 }, { class: "cw-rose" },
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
