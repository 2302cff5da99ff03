// The interactive "which towers stay on the circle": a small training in the plane, the angle of every move, the lengths.
// Runs in Jupyter (anywidget) and on a static page (afm_host.js) alike.
import { h, number, svg } from "../shared/widgets/kit.js";
import { Interactive, button, framed, ladder, presets, showing, slider, table } from "../shared/widgets/controls.js";
import { norm } from "../shared/widgets/motion_math.js";
import { Plane, niceReach } from "../shared/widgets/motion_plane.js";
import { selection, stepChart } from "../shared/widgets/motion_view.js";
import { USERS } from "./tower_math.js";
import {
  LOSS_NAMES, LOSS_NOTES, NEAR, OPTIMISER_NAMES, OPTIMISER_NOTES, PETALS, TOWER_NAMES, TOWER_NOTES, analyse, angleTable, asPython, percent,
  sentences, shareNear, shares,
} from "./tower_motion_text.js";

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

const capital = (text) => text[0].toUpperCase() + text.slice(1);

class View extends Interactive {
  get story() {
    return sentences(this.result).join(" ");
  }

  // ---- building, once -------------------------------------------------------------------------------------------------

  build() {
    const { parts } = this;
    const head = {
      look: "cw-motion",
      title: "Which towers stay on the circle",
      lead: "A real training of 24 users in the plane. Change one part of it, and look at the angle between each embedding and its move.",
    };
    return framed(head,
      this.buildControls(),
      h("div", { class: "cw-stage cw-stage-plane" }, this.buildPlane(), this.buildAngles()),
      parts.summary,
      parts.folds.box);
  }

  buildControls() {
    const { parts } = this;
    const select = (name, text, names, notes) => selection({ name, text, notes, options: Object.entries(names).map(([value, words]) => [value, capital(words)]), onset: (value) => this.set({ [name]: value }) });
    const slide = (name, text, min, max, step) => slider({ name, text, min, max, step, onset: (value) => this.set({ [name]: value }) });
    parts.tower = select("tower", "User tower", TOWER_NAMES, TOWER_NOTES);
    parts.optimiser = select("optimiser", "Optimiser of the users", OPTIMISER_NAMES, OPTIMISER_NOTES);
    parts.loss = select("loss", "Loss", LOSS_NAMES, LOSS_NOTES);
    parts.batch = slide("batch_size", "Batch size", 4, USERS, 1);
    parts.lr = ladder({ name: "lr", text: "Learning rate", values: RATES, onset: (lr) => this.set({ lr }) });
    parts.steps = slide("steps", "Steps of training", 0, MOST_STEPS, 1);
    return h("div", { class: "cw-controls" },
      (parts.presets = presets(PRESETS, (name) => this.set(PRESETS[name].set))).box,
      parts.tower.box, parts.optimiser.box, parts.loss.box,
      h("div", { class: "cw-control" }, parts.lr.box, parts.batch.box, parts.steps.box));
  }

  buildPlane() {
    const { parts } = this;
    parts.plane = svg("svg", { class: "cw-plane", viewBox: "0 0 400 400", role: "img", style: "--cw-wide:400" });
    parts.follow = slider({ name: "follow", text: "Follow user", min: 1, max: USERS, step: 1, onset: (follow) => this.set({ follow }) });
    parts.one = button("step", "One step", () => this.walk(1));
    parts.many = button("steps", "20 steps", () => this.walk(20));
    parts.reset = button("reset", "Back to the start", () => this.set({ steps: 0 }));
    parts.again = button("again", "Other random numbers", () => this.set({ seed: (this.follower.state().seed + 1) % 1000 }));
    return h("div", { class: "cw-card" },
      h("p", { class: "cw-card-title" }, "The paths of the users"),
      parts.plane,
      h("ul", { class: "cw-legend" },
        wideKey("path of the user you follow", svg("path", { class: "cw-path-followed", d: "M1 10H25" })),
        wideKey("its circle now", svg("path", { class: "cw-ring-now", d: "M1 10H25" })),
        wideKey("at the start", svg("path", { class: "cw-ring-next", d: "M1 10H25" })),
        wideKey("its last move", svg("path", { class: "cw-vector cw-vector-step", d: "M1 10H24M17 5L24 10L17 15" }))),
      parts.follow.box,
      h("div", { class: "cw-row cw-buttons cw-below" }, parts.one, parts.many, parts.reset, parts.again));
  }

  buildAngles() {
    const { parts } = this;
    parts.rose = h("div", { class: "cw-rose" });
    parts.share = h("p", { class: "cw-share" });
    parts.chart = h("div", { class: "cw-chart" });
    return h("div", { class: "cw-card" },
      h("p", { class: "cw-card-title" }, "Angle between q and its move ", h("span", { class: "cw-soft" }, "all moves so far")),
      parts.rose, parts.share,
      h("ul", { class: "cw-legend" },
        wideKey("share of the moves, as an area", svg("rect", { class: "cw-petal", x: 5, y: 3, width: 16, height: 14 })),
        wideKey("uniform directions", svg("path", { class: "cw-null", d: "M1 10H25" })),
        wideKey(`90 ± ${NEAR}°`, svg("path", { class: "cw-near", d: "M1 10H25" }))),
      parts.chart,
      h("ul", { class: "cw-legend" },
        wideKey("the user you follow", svg("path", { class: "cw-line-norm", d: "M1 10H25" })),
        wideKey("mean of all", svg("path", { class: "cw-line-mean-norm", d: "M1 10H25" })),
        wideKey("the others", svg("path", { class: "cw-line-other", d: "M1 10H25" }))));
  }

  walk(steps) {
    this.set({ steps: Math.min(this.follower.state().steps + steps, MOST_STEPS) });
  }

  // ---- showing -------------------------------------------------------------------------------------------------------------

  refresh() {
    const state = this.follower.state();
    const trained = JSON.stringify({ ...state, follow: 0 });
    if (trained !== this.trained) this.result = analyse(state);
    this.trained = trained;
    this.showControls(state);
    this.showPlane(state);
    this.showAngles();
    this.showNorms(state);
    this.showTable();
    this.parts.folds.code.textContent = asPython(state);
    this.announce();
  }

  showControls({ tower, optimiser, loss, batch_size: batch, lr, steps, follow }) {
    const { parts } = this;
    parts.tower.show(tower);
    parts.optimiser.show(optimiser);
    parts.loss.show(loss);
    parts.batch.show(batch, `${batch} pairs`);
    parts.lr.show(lr, number(lr));
    parts.steps.show(steps, String(steps));
    parts.follow.show(follow, `${follow} of ${USERS}`);
    parts.one.disabled = parts.many.disabled = steps >= MOST_STEPS;
    parts.reset.disabled = steps === 0;
  }

  showPlane({ follow }) {
    const { parts, result: { path, norms, moves } } = this;
    const user = follow - 1;
    const plane = new Plane(niceReach(1.05 * Math.max(...norms.flat())));
    const last = path.length - 1;
    const mine = path.map((all) => all[user]);
    const move = [...moves].reverse().find(([, mover]) => mover === user);
    parts.plane.replaceChildren(
      plane.axes(),
      ...path[0].flatMap((_, other) => (other === user ? [] : [plane.trace(path.map((all) => all[other]), "cw-path-other"), spot(plane, path[last][other], "cw-dot-other", 2.4)])),
      plane.circle(norms[0][user], "cw-ring-next"), plane.circle(norms[last][user], "cw-ring-now"),
      plane.trace(mine, "cw-path-followed"), spot(plane, mine[last], "cw-knob", 6),
      ...(move ? [plane.arrow(path[move[0]][user], path[move[0] + 1][user], "cw-vector cw-vector-step")] : []));
    const moved = move ? `Its last move stood at ${number(move[2])}° to it.` : "It has not moved.";
    parts.plane.setAttribute("aria-label", `The paths of ${USERS} users. User ${follow} went from length ${number(norms[0][user])} to ${number(norms[last][user])}. ${moved}`);
  }

  showAngles() {
    const { parts, result: { angles } } = this;
    parts.rose.replaceChildren(rose(angles, sentences(this.result)[1]));
    parts.share.replaceChildren(...(angles.length
      ? [h("strong", {}, percent(shareNear(angles))), ` of ${angles.length} moves within 90 ± ${NEAR}°; uniform directions: ${percent((2 * NEAR) / 180)}`]
      : ["Nothing has moved yet."]));
  }

  showNorms({ follow }) {
    const { parts, result: { norms } } = this;
    const of = (user) => norms.map((all) => all[user]);
    const mean = norms.map((all) => all.reduce((sum, value) => sum + value, 0) / USERS);
    const others = norms[0].map((_, user) => user).filter((user) => user !== follow - 1);
    parts.chart.replaceChildren(stepChart({
      title: "Lengths, step by step",
      name: sentences(this.result)[3],
      lines: [...others.map((user) => ({ values: of(user), kind: "cw-line-other" })), { values: mean, kind: "cw-line-mean-norm" }, { values: of(follow - 1), kind: "cw-line-norm" }],
    }));
  }

  showTable() {
    const { data, table: holder } = this.parts.folds;
    if (data.open) holder.replaceChildren(table(...angleTable(this.result.angles)));
  }
}

// ---- pictures ----------------------------------------------------------------------------------------------------------

const wideKey = (text, ...picture) => h("li", {}, svg("svg", { viewBox: "0 0 26 20", "aria-hidden": "true" }, picture), text);

function spot(plane, point, kind, r) {
  const [cx, cy] = plane.at(point);
  return svg("circle", { class: kind, cx: cx.toFixed(2), cy: cy.toFixed(2), r });
}

/** Petals over a half circle: the area of a petal is in proportion to the share of its angles. */
function rose(angles, name) {
  const [radius, centre, base] = [150, 170, 172];
  const place = (degrees, length) => {
    const angle = (degrees * Math.PI) / 180;
    return `${(centre + length * Math.cos(angle)).toFixed(2)} ${(base - length * Math.sin(angle)).toFixed(2)}`;
  };
  const arc = (low, high, length) => `${place(low, length)}A${length.toFixed(2)} ${length.toFixed(2)} 0 0 0 ${place(high, length)}`;
  const found = shares(angles, PETALS);
  const most = Math.max(2 / PETALS, ...found); // what fills the half circle
  const petals = found.map((share, i) => (share ? svg("path", {
    class: "cw-petal", d: `M${centre} ${base}L${arc((180 * i) / PETALS, (180 * (i + 1)) / PETALS, radius * Math.sqrt(share / most))}Z`,
  }) : null));
  const text = (x, y, kind, words) => svg("text", { class: `cw-axis-text ${kind}`, x, y }, words);
  return svg("svg", { viewBox: "0 0 340 196", role: "img", "aria-label": name, style: "--cw-wide:340" },
    svg("path", { class: "cw-half", d: `M${arc(0, 180, radius)}Z` }), petals,
    svg("path", { class: "cw-null", d: `M${arc(0, 180, radius * Math.sqrt(1 / PETALS / most))}` }),
    [-NEAR, NEAR].map((side) => svg("path", { class: "cw-near", d: `M${centre} ${base}L${place(90 + side, radius)}` })),
    text(centre, 14, "", "90°, perpendicular"), text(centre + radius, 190, "cw-end", "0°, outward"), text(centre - radius, 190, "cw-start", "180°, inward"));
}
