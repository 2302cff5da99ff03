// The hero of the chapter: a row for each debiasing method, a box for each data set and model, and who keeps the promise in all of them.
import { capital, drawing, h, list, number, signed, svg } from "../shared/widgets/kit.js";
import { Interactive, hero, key, showing } from "../shared/widgets/controls.js";
import { average } from "../shared/widgets/tables.js";

const NAMES = ["panels", "training", "everything"];
const METHODS = { IPS: "weights of the loss", DICE: "loss and draws", MACR: "loss and ranking", PC: "ranking", PAAC: "loss", DCCL: "loss", TPAB: "model", DDC: "user vectors" }; // what each changes
const NO_MODEL = "list of hits";
const MEAN = 3; // the place after three trainings of those that each model has
const REACH = [30, 20]; // % of popularity and of accuracy from the middle of a box to its edge
const WIDE = { width: 900, names: 152, across: 158, down: 36, gap: 7, counts: 84, heads: [17, 37], top: 46, dot: 5.5 };
const NARROW = { width: 358, names: 50, across: 62, down: 25, gap: 4, counts: 42, heads: [13, 28], top: 35, dot: 4.5 };

export default showing(NAMES, class extends Interactive {
  build(parts, state) {
    const play = this.filmOf("training", { text: "Training", last: MEAN, milliseconds: 900, words: (_, now) => which(now) });
    parts.verdict = h("strong", { class: "cw-verdict" });
    this.draw(parts, state);
    return hero(this, {
      head: { title: "Eight methods promise lists that are less popular and more accurate", lead: "In each box: left is less popular, up is more accurate. Green: the promise is kept." },
      controls: [h("div", { class: "cw-row" }, play)],
      picture: [parts.stage = h("div", { class: "cw-hero-grid" }, parts.picture),
        h("div", { class: "cw-under-grid" }, h("p", {}, parts.verdict, " keep it in every box"), h("ul", { class: "cw-legend" }, legend(state).map(([words, ...marks]) => key(words, marks))))],
      more: { view: h("p", { class: "cw-card" }, "Distances in a box grow with the square root of the change, so that a small change can be seen; beyond its edge a point stands at the edge.") },
    });
  }

  /** The grid, anew where the room becomes a phone's. */
  draw(parts, { panels }) {
    [parts.drawnFor, parts.picture, parts.boxes, parts.counts] = [this.narrow, ...grid(this.narrow ? NARROW : WIDE, panels)];
    parts.stage?.replaceChildren(parts.picture);
  }

  refresh(parts, state) {
    if (parts.drawnFor !== this.narrow) this.draw(parts, state);
    this.story = story(state);
    parts.boxes.forEach(({ name, panel, show }) => show(place(state, name, panel), curve(state, panel), kept(state, name, panel), sure(state, name, panel), told(state, name, panel)));
    const counts = Object.keys(METHODS).map((name) => state.panels.filter((_, panel) => kept(state, name, panel)).length);
    counts.forEach((count, k) => (parts.counts[k].textContent = `${count} of ${state.panels.length}`));
    parts.verdict.textContent = `${counts.filter((count) => count === state.panels.length).length} of ${counts.length}`;
    this.fold({ numbers: () => [HEADS, rows(state), `Changes against the model without a method, in %; ${which(state)}.`], python: asPython(state) });
  }
});

// ---- what is shown -------------------------------------------------------------------------------------------------------

/** Change of popularity and of accuracy, in one training or on average. */
function place({ panels, training }, name, panel) {
  const { points } = panels[panel].methods[name];
  return training === MEAN ? [0, 1].map((axis) => average(points.map((point) => point[axis]))) : points[training];
}

/** The same for a weight on popularity, weight by weight. */
const curve = ({ panels, training }, panel) => (training === MEAN
  ? panels[panel].curves[0].map((_, k) => [0, 1].map((axis) => average(panels[panel].curves.map((one) => one[k][axis])))) : panels[panel].curves[training]);

const good = ([popularity, accuracy]) => popularity < 0 && accuracy > 0;

/** Whether lists become less popular and more accurate: the box is green. */
const kept = (state, name, panel) => good(place(state, name, panel));

/** Whether a green box is green by more than the 95 % interval of accuracy, taken alone; a single training has no interval. */
const sure = (state, name, panel) => state.training === MEAN && kept(state, name, panel) && place(state, name, panel)[1] > state.panels[panel].methods[name].halves[1];

/** Accuracy minus that on the line at the same popularity, training by training, then their mean. */
const beyond = ({ panels, training }, name, panel) => average(panels[panel].methods[name].points.map(([popularity, accuracy], k) =>
  accuracy - at([...panels[panel].curves[k]].sort(([a], [b]) => a - b), popularity)).filter((_, k) => training === MEAN || k === training));

/** The height of a line at a place between two of its points. */
function at(line, across) {
  const [[left, low], [right, high]] = line.slice(Math.max(0, line.findIndex(([place]) => place >= across) - 1)).slice(0, 2);
  return low + ((high - low) * (across - left)) / (right - left);
}

const which = ({ training }) => (training === MEAN ? "mean of all" : `${training + 1}`);
const when = ({ training }) => (training === MEAN ? "On average" : `In training ${training + 1}`);

function story(state) {
  const { panels, training } = state;
  const names = Object.keys(METHODS);
  const everywhere = names.filter((name) => panels.every((_, panel) => kept(state, name, panel)));
  const nowhere = panels.filter((_, panel) => !names.some((name) => kept(state, name, panel))).map(({ name }) => name);
  const green = panels.flatMap(({ name: data }, panel) => names.filter((name) => kept(state, name, panel)).map((name) => [`${name} on ${data}`, sure(state, name, panel)]));
  const certain = green.filter(([, above]) => above).map(([words]) => words);
  return `${when(state)}, ${everywhere.length ? list(everywhere) : "no method"} makes lists less popular and more accurate with every data set and model` +
    `${nowhere.length ? `; with ${list(nowhere)}, no method does` : ""}. ` +
    (training === MEAN ? `Of the ${green.length} green boxes, ${certain.length ? `only ${list(certain)}` : "none"} has an interval above 0.` : `${green.length} boxes are green.`);
}

const changes = (name, data, [popularity, accuracy]) => `${name}, ${data}: popularity ${signed(popularity)} %, accuracy ${signed(accuracy)} %`;
const told = (state, name, panel) => changes(name, state.panels[panel].name, place(state, name, panel));

const HEADS = ["Data and model", "Method", "Popularity", "± 95 %", "MRR@10", "± 95 %", "MRR@10 beyond the line", "Trainings that keep the promise"];

const rows = (state) => state.panels.flatMap(({ name: data, methods, hits }, panel) => [
  ...Object.keys(METHODS).map((name) => {
    const [popularity, accuracy] = place(state, name, panel);
    const [wide, high] = methods[name].halves.map((half) => (state.training === MEAN ? number(half) : ""));
    return [data, name, signed(popularity), wide, signed(accuracy), high, signed(beyond(state, name, panel)), `${methods[name].points.filter(good).length} of ${methods[name].points.length}`];
  }),
  [data, NO_MODEL, signed(hits[0]), "", signed(hits[1]), "", "", ""]]);

const asPython = ({ training }) => [
  "from course_lib import experiments", "from course_lib.lessons.ddc.rivals import METHODS, SETS, Rivals", "from course_lib.lessons.ddc.weight import CHANGES", "",
  't3 = experiments.load_result("P1-T3", "laptop")',
  "for data, name in SETS.items():",
  '    for backbone in ("MF", "LightGCN"):',
  "        for method in METHODS:",
  "            popularity, accuracy = (t3.values(change, data=data, backbone=backbone, method=method) for change in CHANGES)",
  '            print(name, backbone, method, [f"{value:+.1f}" for value in popularity], [f"{value:+.1f}" for value in accuracy])',
  `Rivals(training=${training})`].join("\n");

// ---- pictures ------------------------------------------------------------------------------------------------------------

const frame = (x, y, width, height, look) => svg("rect", { class: look, x, y, width, height, rx: 5 });
const spot = (x, y, r, look) => svg("circle", { class: look, cx: x, cy: y, r });

const legend = (state) => [
  ["less popular and more accurate", frame(1, 3, 18, 14, "cw-box cw-yes"), spot(10, 10, 4, "cw-spot")],
  ...(state.panels.some((_, panel) => Object.keys(METHODS).some((name) => sure({ ...state, training: MEAN }, name, panel))) ? [["95 % interval of accuracy above 0", frame(1, 3, 18, 14, "cw-box cw-yes cw-sure"), spot(10, 10, 4, "cw-spot")]] : []),
  ["only a weight on popularity: above it is better", svg("path", { class: "cw-weight-line", d: "M1 18Q7 6 19 14" })],
  ["single trainings", spot(4, 10, 2, "cw-ghost"), spot(10, 7, 2, "cw-ghost"), spot(16, 12, 2, "cw-ghost")],
];

/** The picture, its boxes, and the words that count the green boxes of each row. */
function grid(size, panels) {
  const { width, names, across, down, gap, counts, heads, top } = size;
  const all = [...Object.keys(METHODS), NO_MODEL];
  const left = (panel) => names + panel * (across + gap);
  const above = (row) => top + row * (down + gap);
  const words = (x, y, look, text) => svg("text", { x, y, class: look }, text);
  const [sets, models] = [0, 1].map((part) => panels.map(({ name }) => name.split(", ")[part]));
  const totals = Object.keys(METHODS).map((_, row) => words(width - counts / 2, above(row) + down / 2 + 5, "cw-hero-text cw-middle", ""));
  const boxes = Object.keys(METHODS).flatMap((name, row) => panels.map((_, panel) => box(size, name, panel, left(panel), above(row), panels[panel].methods[name].points)));
  const picture = drawing({ width, height: above(all.length) }, { "aria-label": "A row of boxes for each debiasing method; the text gives the numbers" },
    sets.map((name, panel) => (name === sets[panel - 1] ? null : words(left(panel) + across + gap / 2, heads[0], "cw-hero-text cw-middle", name))),
    models.map((name, panel) => words(left(panel) + across / 2, heads[1], "cw-hero-text cw-soft cw-middle", name)),
    all.map((name, row) => [
      words(0, above(row) + down / 2 + (size === WIDE && METHODS[name] ? -2 : 5), `cw-hero-text cw-start${METHODS[name] ? " cw-strong" : " cw-soft"}`, size === WIDE ? name : name.replace("list of ", "")),
      size === WIDE && METHODS[name] && words(0, above(row) + down / 2 + 14, "cw-hero-text cw-soft cw-start", METHODS[name])]),
    boxes.map(({ root }) => root), totals,
    panels.map(({ name, hits }, panel) => {
      const { root, show } = box(size, NO_MODEL, panel, left(panel), above(all.length - 1), []);
      show(hits, [], false, false, changes(NO_MODEL, name, hits));
      return root;
    }));
  return [picture, boxes, totals];
}

/** A box: its upper left quarter is the promise; `show(place, line, kept, sure, words)` moves its point and its line. */
function box({ across, down, dot }, name, panel, left, top, points) {
  const part = (value, reach) => Math.max(-1, Math.min(1, Math.sign(value) * Math.sqrt(Math.abs(value) / reach)));
  const spotAt = ([popularity, accuracy]) => [left + across / 2 + part(popularity, REACH[0]) * (across / 2 - dot - 1), top + down / 2 - part(accuracy, REACH[1]) * (down / 2 - dot - 1)].map((value) => value.toFixed(1));
  const within = (change) => change.every((value, axis) => Math.abs(value) <= REACH[axis]);
  const [area, path, point, title] = [frame(left, top, across, down, "cw-box"), svg("path", { class: "cw-weight-line" }), svg("circle", { class: "cw-spot", r: dot }), svg("title")];
  const root = svg("g", {}, title, area, frame(left, top, across / 2, down / 2, "cw-promise"),
    svg("path", { class: "cw-frame", d: `M${left} ${top + down / 2}h${across}M${left + across / 2} ${top}v${down}` }),
    path, points.map((one) => spot(...spotAt(one), dot * 0.4, "cw-ghost")), point);
  const show = (now, line, green, certain, words) => {
    area.setAttribute("class", `cw-box${green ? " cw-yes" : ""}${certain ? " cw-sure" : ""}`);
    point.style.transform = `translate(${spotAt(now).map((value) => `${value}px`).join(", ")})`;
    path.setAttribute("d", line.length ? `M${line.filter(within).map((one) => spotAt(one).join(" ")).join("L")}` : "");
    title.textContent = words;
  };
  return { name, panel, root, show };
}
