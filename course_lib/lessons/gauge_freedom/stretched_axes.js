// The interactive "stretch the axes": the same scores in another gauge, and what becomes of the cosines.
import { drawing, h, list, number, power, svg } from "../shared/widgets/kit.js";
import { beside, card, choice, framed, key, ladder, presets, showing, slider, table } from "../shared/widgets/controls.js";
import { namePlaces } from "./labels.js";
import { cosine, norm } from "../shared/widgets/motion_math.js";
import { Movable, Plane, niceReach } from "../shared/widgets/motion_plane.js";
import { analyse, feasibleStretch, linearDimension, swapSquares } from "./stretched_axes_math.js";

const NAMES = ["items", "users", "item_names", "user_names", "stretch", "shear", "turn", "sphere", "selected"];
const STRETCHES = [0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.4, 1.6, 2, 2.5, 3, 4];
const [SHORTEST, LONGEST] = [0.05, 20];
const FARTHEST_ITEM = 3;

const root = Math.sqrt;
const still = { shear: 0, turn: 0, selected: 0 };
const PRESETS = {
  given: { text: "As given", set: () => ({}), given: true },
  turn: { text: "Only a turn", set: () => ({ stretch: [1, 1], shear: 0, turn: 40 }) },
  generic: { text: "On the circle", set: () => ({ stretch: [1.25, 0.8], shear: 0, turn: 0, sphere: "items" }), given: true },
  mirror: { text: "A mirror", set: () => ({ stretch: [1, -1], shear: 0, turn: 0, sphere: "items" }), given: true },
  family: { text: "Counterexample", set: () => ({ ...still, ...pair(1 / 2), users: [[1, 0.2], [0.3, 0.8]], user_names: ["b₁", "b₂"], stretch: [root(1.5), root(0.5)], sphere: "items" }) },
  both: { text: "Both tables", set: () => ({ ...still, ...pair(1 / 3), users: pair(2 / 3).items, user_names: ["b₁", "b₂"], stretch: [root(2), root(0.5)], sphere: "both" }) },
};

/** Two items on the circle whose squares are (c, 1 - c). */
const pair = (c) => ({ items: [[root(c), root(1 - c)], [root(c), -root(1 - c)]], item_names: ["a₁", "a₂"] });

export default showing(NAMES, class extends Movable {
  build(parts) {
    this.given = this.state();
    const choices = Object.fromEntries(Object.entries(PRESETS).map(([name, { text }]) => [name, { text, set: this.presetState(name) }]));
    parts.presets = presets(choices, (name) => this.usePreset(name));
    this.buildControls(parts);
    const checks = [[parts.stay, "stay on the circle"], [parts.mirror, "mirror axis 2"]];
    return framed({ look: "cw-flow", title: "Stretch the axes", lead: "A matrix multiplies the dots, and the inverse of its transpose the squares. No prediction changes. The cosines between dots do." },
      beside({
        start: parts.presets.box,
        main: parts.axes.map(({ box }) => box),
        view: [
          h("div", { class: "cw-pair" }, this.buildPlane("trained", "As trained", "drag an item"), this.buildPlane("moved", "In the other gauge", "")),
          h("div", { class: "cw-pair cw-wide-right" }, this.buildNeighbours(parts), this.buildScores(parts))],
        words: parts.summary,
        more: [parts.sphere.box, h("div", { class: "cw-options" }, checks.map(([input, text]) => h("label", { class: "cw-option" }, input, text))),
          h("div", { class: "cw-pair cw-stays" }, parts.shear.box, parts.turn.box)],
      }),
      parts.folds.box);
  }

  buildControls(parts) {
    parts.axes = [0, 1].map((axis) => ladder({ name: `stretch_${axis + 1}`, text: `Stretch axis ${axis + 1}`, values: STRETCHES, onset: (size) => this.setStretch(axis, size) }));
    this.control(slider, "shear", { text: "Shear", min: -2, max: 2, step: 0.1, words: number });
    this.control(slider, "turn", { text: "Turn", min: -180, max: 180, step: 5, words: (turn) => `${number(turn)}°` });
    this.control(choice, "sphere", {
      label: "Length 1:", options: [["free", "no row"], ["items", "items"], ["both", "items and users"]],
      onset: (sphere) => { this.set({ sphere }); if (this.stays()) this.setStretch(0, this.sizes()[0]); },
    });
    parts.stay = h("input", { type: "checkbox", name: "stay", onchange: () => this.setStretch(0, this.sizes()[0]) });
    parts.mirror = h("input", { type: "checkbox", name: "mirror", onchange: () => this.set({ stretch: this.signed(this.sizes()) }) });
  }

  buildPlane(name, title, hint) {
    const plane = drawing({ width: 400, height: 400 }, { class: "cw-plane", role: name === "trained" ? "group" : "img", "data-paper": true });
    const back = svg("g", { "aria-hidden": "true" });
    const handles = svg("g");
    plane.append(back, handles);
    this.parts[name] = { plane, back, handles };
    return h("div", { class: `cw-card ${name === "moved" ? "cw-up" : ""}` },
      h("p", { class: "cw-card-title" }, title, " ", h("span", { class: "cw-soft" }, hint)),
      plane,
      name === "trained" ? legend() : (this.parts.meter = h("div", { class: "cw-meter" })));
  }

  buildNeighbours(parts) {
    parts.neighbours = h("div", { class: "cw-lists" });
    parts.nearestTo = h("span", {});
    return card(["Nearest to ", parts.nearestTo], "", parts.neighbours);
  }

  buildScores(parts) {
    parts.scores = h("div", { class: "cw-table", tabindex: "0", role: "region", "aria-label": "Scores of the users for the items" });
    parts.difference = h("p", { class: "cw-note" });
    return h("div", { class: "cw-card cw-compact" }, h("p", { class: "cw-card-title" }, "Scores ", h("span", { class: "cw-soft" }, "user · item, in both gauges")), parts.scores, parts.difference);
  }

  usePreset(name) {
    this.parts.stay.checked = false;
    this.set(this.presetState(name));
  }

  /** What a preset sets: some start from the tables that were given. */
  presetState(name) {
    const { set, given } = PRESETS[name];
    return { ...(given ? this.given : {}), ...set() };
  }

  sizes() {
    return this.state().stretch.map(Math.abs);
  }

  signed([first, second]) {
    return [first, this.parts.mirror.checked ? -second : second];
  }

  stays() {
    return this.parts.stay.checked && this.state().sphere !== "free";
  }

  setStretch(axis, size) {
    const sizes = this.sizes();
    sizes[axis] = size;
    const wanted = this.signed(sizes);
    if (!this.stays()) return this.set({ stretch: wanted });
    const state = this.state();
    const { items, users } = analyse(state);
    const stretch = feasibleStretch(wanted, { sphere: state.sphere, items, users, held: axis }).map((d) => Math.sign(d) * Math.min(Math.max(Math.abs(d), SHORTEST), LONGEST));
    return this.set({ stretch, shear: 0 });
  }

  /** Moves an item; on the circle it slides along it. */
  move(k, place) {
    const state = this.state();
    const size = norm(place);
    if (size < SHORTEST) return;
    const fit = state.sphere !== "free" ? 1 / size : Math.min(1, FARTHEST_ITEM / size);
    const tidy = place.map((value) => Number((value * fit).toFixed(state.sphere !== "free" ? 6 : 3)));
    this.set({ items: state.items.map((row, i) => (i === k ? tidy : row)), selected: k });
    if (this.stays()) this.setStretch(0, this.sizes()[0]);
  }

  placeOf(k) {
    return analyse(this.state()).items[k];
  }

  select(k) {
    if (this.state().selected !== k) this.set({ selected: k });
  }

  refresh(parts, state) {
    this.found = analyse(state);
    this.story = sentences(state, this.found).join(" ");
    this.showControls(parts, state);
    this.showTrained(state);
    this.showMoved(state);
    this.showMeter(state);
    this.showNeighbours(state);
    this.showScores(state);
    this.fold({ numbers: () => tableOf(state, this.found), python: asPython(state, this.found) });
  }

  showControls(parts, { stretch, sphere }) {
    parts.axes.forEach((axis, k) => axis.show(Math.abs(stretch[k]), `× ${number(stretch[k])}`));
    parts.mirror.checked = stretch[1] < 0;
    parts.stay.disabled = sphere === "free";
    parts.shear.input.disabled = this.stays();
  }

  /** How far a plane must reach to show all rows. */
  reach(state, rows) {
    return niceReach(1.2 * Math.max(...rows.map(norm), state.sphere === "free" ? 0.1 : 1));
  }

  showTrained(state) {
    const { plane, back, handles } = this.parts.trained;
    const { items, users, selected, before } = this.found;
    if (this.dragged === undefined || !this.frame) this.frame = new Plane(this.reach(state, [...items, ...users]));
    const named = this.nameMarks(this.frame, [...items, ...users], [...state.item_names, ...state.user_names]);
    back.replaceChildren(...scenery(this.frame, { items, selected, nearest: before[0] }), ...this.userMarks(named.slice(items.length)));
    const names = JSON.stringify(state.item_names);
    if (names !== this.handled) {
      this.tips = state.item_names.map((name, k) => this.handle(name, k));
      handles.replaceChildren(...this.tips.map(({ root }) => root));
      this.handled = names;
    }
    items.forEach((row, k) => {
      const { root: handle } = placed(this.tips[k], named[k]);
      handle.setAttribute("aria-valuenow", row[0].toFixed(2));
      handle.setAttribute("aria-valuetext", `${point(row)}${k === selected ? ", selected" : `, cosine to ${state.item_names[selected]} ${number(cosine(row, items[selected]))}`}`);
      handle.classList.toggle("cw-dragged", this.dragged === k);
    });
    plane.setAttribute("aria-label", "Items as trained: each can be moved");
  }

  handle(name, k) {
    const about = { class: "cw-handle", "data-handle": k, ...this.grip(k, name, FARTHEST_ITEM), onfocus: () => this.select(k) };
    return mark(about, svg("circle", { class: "cw-touch", r: 18 }), svg("circle", { class: "cw-knob-item", r: 6.5 }));
  }

  showMoved(state) {
    const { plane, back, handles } = this.parts.moved;
    const { newItems, newUsers, selected, after, lengths } = this.found;
    const frame = new Plane(this.reach(state, [...newItems, ...newUsers]));
    const named = this.nameMarks(frame, [...newItems, ...newUsers], lengths.map(({ name, off }) => (off ? `${name} ✕` : name)));
    back.replaceChildren(...scenery(frame, { items: newItems, selected, nearest: after[0], image: this.found.matrix }), ...this.userMarks(named.slice(newItems.length)));
    handles.replaceChildren(...newItems.map((_, k) => placed(mark({ class: "cw-still", onclick: () => this.select(k) }, svg("circle", { class: "cw-touch", r: 18 }), svg("circle", { class: "cw-knob-item", r: 6.5 })), named[k]).root));
    plane.setAttribute("aria-label", `The same model in another gauge. ${this.story}`);
  }

  /** Where every mark stands, and where its name goes. */
  nameMarks(frame, rows, texts) {
    const places = rows.map((row) => frame.at(row));
    return namePlaces(places, texts, 400).map((name, k) => ({ at: places[k], name, text: texts[k] }));
  }

  userMarks(named) {
    return named.map((one) => placed(mark({}, svg("rect", { class: "cw-user", x: -5, y: -5, width: 10, height: 10 })), one, "cw-soft-name").root);
  }

  showMeter({ sphere }) {
    const held = this.found.lengths.filter((row) => row.held);
    this.parts.meter.replaceChildren(...(sphere === "free" ? [h("p", { class: "cw-note" }, "Lengths are free: every invertible R is allowed.")] : [meter(held)]));
  }

  showNeighbours({ item_names: names }) {
    const { selected, items, newItems, before, after } = this.found;
    this.parts.nearestTo.textContent = names[selected];
    const column = (title, rows, order, other) => h("div", {}, h("p", { class: "cw-small-title" }, title),
      h("ol", { class: "cw-ranking" }, order.map((k, place) => {
        const rise = other.indexOf(k) - place;
        return h("li", {}, h("span", {}, names[k]), h("span", { class: "cw-value" }, number(cosine(rows[k], rows[selected]))),
          h("span", { class: "cw-rise" }, rise > 0 ? `▲${rise}` : rise < 0 ? `▼${-rise}` : ""));
      })));
    this.parts.neighbours.replaceChildren(column("as trained", items, before, before), column("now", newItems, after, before));
  }

  showScores({ item_names: itemNames, user_names: userNames }) {
    const { newScores, scores, scoreChanges } = this.found;
    const cell = (i, j) => (number(scores[i][j]) === number(newScores[i][j]) ? number(scores[i][j]) : `${number(scores[i][j])} → ${number(newScores[i][j])}`);
    this.parts.scores.replaceChildren(table(["User", ...itemNames], userNames.map((name, i) => [name, ...itemNames.map((_, j) => cell(i, j))]), "One number where both gauges agree."));
    const most = Math.max(...scoreChanges);
    this.parts.difference.textContent = `${most ? `Largest difference between the two products: ${power(most)}. That is rounding.` : "The two products are equal to the last bit."}`;
  }
});

// ---- words -------------------------------------------------------------------------------------------------------------

const SAME = 1e-9; // how much a score may differ by rounding

/** The sentences, in order. */
function sentences(state, found) {
  return [aboutGauge(state, found), aboutNeighbours(state, found), ...aboutSphere(state, found)];
}

function aboutGauge({ stretch, shear, turn }, { scoreChanges }) {
  const moves = [`Axis 1 is stretched by ${number(stretch[0])}, axis 2 by ${number(stretch[1])}.`];
  if (shear) moves.push(`Shear ${number(shear)}.`);
  if (turn) moves.push(`Turned by ${number(turn)}°.`);
  return `${moves.join(" ")} Scores that changed: ${scoreChanges.filter((change) => change > SAME).length} of ${scoreChanges.length}.`;
}

function aboutNeighbours({ item_names: names }, { selected, items, newItems, before, after, changed }) {
  const ranking = (rows, order) => list(order.slice(0, 3).map((k) => `${names[k]} (${number(cosine(rows[k], rows[selected]))})`));
  const [first, second] = [ranking(items, before), ranking(newItems, after)];
  const both = first === second ? `as trained and now ${second}` : `as trained ${first}; now ${second}`;
  return `Nearest to ${names[selected]} by cosine: ${both}. Items with another nearest neighbour: ${changed.filter(Boolean).length} of ${items.length}.`;
}

function aboutSphere({ sphere }, found) {
  if (sphere === "free") return [];
  const held = found.lengths.filter((row) => row.held);
  const [shortest, longest] = [Math.min, Math.max].map((end) => number(end(...held.map((row) => row.length))));
  const rows = sphere === "items" ? "Item rows" : "Item and user rows";
  const verdict = found.feasible
    ? `${rows} must have length 1, and they have: this gauge is feasible.`
    : `${rows} must have length 1, but now they have ${shortest === longest ? longest : `${shortest} to ${longest}`} ` +
      `(${list(held.filter(({ off }) => off).map(({ name }) => name))}): this gauge leaves the circle.`;
  return [verdict, aboutFreedom(sphere, found)];
}

function aboutFreedom(sphere, { freedom: kind, items, users }) {
  if (kind === "other") {
    const second = swapSquares(items[0], users[0]);
    return `Besides the identity one other stretch keeps these rows on the circle: ${number(second[0])} and ${number(second[1])} (up to mirrors).`;
  }
  const stretches = {
    family: "A family of stretches with one parameter keeps these rows on the circle.",
    none: "Of all stretches only the identity keeps these rows on the circle (up to mirrors).",
  }[kind];
  if (sphere === "both") return stretches;
  const linear = [
    "Of all linear gauges only turns and mirrors do.",
    "Besides turns and mirrors, linear gauges with one parameter do.",
    "Besides turns and mirrors, linear gauges with two parameters do.",
  ][linearDimension(items)];
  return `${stretches} ${linear}`;
}

const point = (row) => `${number(row[0])}, ${number(row[1])}`;

/** Cells of the table: every row of both tables. */
function tableOf({ item_names: itemNames, user_names: userNames }, { selected, items, users, newItems, newUsers }) {
  const chosen = itemNames[selected];
  const heads = ["Row", "Trained", "Now", "Length now", `Cosine to ${chosen}, trained`, `Cosine to ${chosen}, now`];
  const itemRow = (name, k) => [name, point(items[k]), point(newItems[k]), number(norm(newItems[k])), number(cosine(items[selected], items[k])), number(cosine(newItems[selected], newItems[k]))];
  const userRow = (name, k) => [name, point(users[k]), point(newUsers[k]), number(norm(newUsers[k])), "user", "user"];
  return [heads, [...itemNames.map(itemRow), ...userNames.map(userRow)], "Every row before and after."];
}

/** Python that computes the cosines of the table. */
function asPython({ items, users, item_names: itemNames, user_names: userNames, stretch, shear, turn, sphere, selected }, found) {
  const rowsOf = (names, rows) => `{${names.map((name, k) => `${JSON.stringify(name)}: (${rows[k].join(", ")})`).join(", ")}}`;
  return `import numpy as np

from course_lib import gauge, geometry
from course_lib.lessons.gauge_freedom.stretched_axes import StretchedAxes

shown = StretchedAxes(
    ${rowsOf(itemNames, items)},
    ${rowsOf(userNames, users)},
    stretch=(${stretch.join(", ")}), shear=${shear}, turn=${turn}, sphere="${sphere}", selected=${selected},
)
items, users = shown.trained
new_items, new_users = gauge.apply_linear_gauge(items, users, shown.gauge_matrix)
print(np.abs(new_users @ new_items.T - users @ items.T).max(), "the largest change of a score")
print(geometry.cosine(items[${found.selected}], items).tolist(), "cosines as trained")
print(geometry.cosine(new_items[${found.selected}], new_items).tolist(), "and in the other gauge")
shown`;
}

// ---- pictures ----------------------------------------------------------------------------------------------------------

/** Axes, the circle and what the gauge makes of it, rays, and the wedge between an item and its nearest. */
function scenery(plane, { items, selected, nearest, image }) {
  const circle = Array.from({ length: 73 }, (_, k) => [Math.cos((k * Math.PI) / 36), Math.sin((k * Math.PI) / 36)]);
  const pulled = image ? circle.map(([x, y]) => [x * image[0][0] + y * image[1][0], x * image[0][1] + y * image[1][1]]) : null;
  const unit = (row) => row.map((value) => (value / norm(row)) * plane.reach * 0.4);
  const wedge = [[0, 0], unit(items[selected]), unit(items[nearest])];
  return [
    plane.axes(),
    svg("path", { class: "cw-wedge", d: `${plane.trace(wedge, "").getAttribute("d")}Z` }),
    plane.circle(1, "cw-unit-circle"),
    pulled ? plane.trace(pulled, "cw-pulled-circle") : null,
    ...items.map((row, k) => plane.trace([[0, 0], row], k === selected ? "cw-ray cw-ray-selected" : k === nearest ? "cw-ray cw-ray-nearest" : "cw-ray")),
    svg("circle", { class: "cw-chosen", cx: plane.at(items[selected])[0].toFixed(1), cy: plane.at(items[selected])[1].toFixed(1), r: 12 }),
  ].filter(Boolean);
}

/** A mark with a name. */
function mark(attributes, ...shapes) {
  const words = svg("text", { class: "cw-row-name" });
  return { words, root: svg("g", attributes, shapes, words) };
}

/** Moves a mark and its name to their places. */
function placed(one, { at: [x, y], name: [dx, dy, anchor], text }, kind = "") {
  one.root.setAttribute("transform", `translate(${x.toFixed(2)} ${y.toFixed(2)})`);
  one.words.textContent = text;
  for (const [name, value] of Object.entries({ class: `cw-row-name ${kind}`, x: dx, y: dy, "text-anchor": anchor })) one.words.setAttribute(name, value);
  return one;
}

/** Lengths of the rows that must have length 1, on a line from 0 to the longest: a dot on 1, or a cross off it. */
function meter(held) {
  const most = Math.max(2, ...held.map((row) => row.length)) * 1.05;
  const [width, left, right] = [340, 12, 12];
  const x = (size) => left + (size / most) * (width - left - right);
  const off = held.filter((row) => row.off);
  const words = off.length ? `Not feasible: ${off.length} of ${held.length} rows have left the circle ✕` : `Feasible: all ${held.length} rows have length 1 ✓`;
  const cross = (at) => `M${at - 5} 15l10 10m0 -10l-10 10`;
  return h("div", {}, h("p", { class: "cw-small-title" }, words),
    drawing({ width, height: 48 }, { "aria-label": `Lengths: ${held.map((row) => `${row.name} ${number(row.length)}`).join(", ")}` },
      svg("path", { class: "cw-frame", d: `M${left} 20H${width - right}` }),
      svg("path", { class: "cw-bend", d: `M${x(1).toFixed(1)} 6V34` }),
      [0, 1, ...(most > 2.2 ? [Math.floor(most)] : [2])].map((size) => svg("text", { class: "cw-axis-text cw-large", x: x(size), y: 44 }, String(size))),
      held.map((row) => (row.off ? svg("path", { class: "cw-off", d: cross(Number(x(row.length).toFixed(1))) }) : svg("circle", { class: "cw-item", cx: x(row.length).toFixed(1), cy: 20, r: 5 })))));
}

function legend() {
  return h("ul", { class: "cw-legend" },
    key("item", svg("circle", { class: "cw-knob-item", cx: 10, cy: 10, r: 6 })),
    key("user", svg("rect", { class: "cw-user", x: 5, y: 5, width: 10, height: 10 })),
    key("looked at", svg("circle", { class: "cw-chosen", cx: 10, cy: 10, r: 8 })),
    key("angle to the nearest", svg("path", { class: "cw-wedge", d: "M2 18L18 12L14 3Z" })),
    key("length 1", svg("circle", { class: "cw-unit-circle", cx: 10, cy: 10, r: 8 })),
    key("what length 1 became", svg("ellipse", { class: "cw-pulled-circle", cx: 10, cy: 10, rx: 9, ry: 4 })));
}
