// The hero of the chapter: eight debiasing methods as marks in a plane of popularity and accuracy, training by training.
import { drawing, h, list, number, signed, svg } from "../shared/widgets/kit.js";
import { Interactive, hero, selection, showing } from "../shared/widgets/controls.js";
import { average } from "../shared/widgets/tables.js";

const NAMES = ["panels", "training", "panel", "everything"];
const METHODS = ["IPS", "DICE", "MACR", "PC", "PAAC", "DCCL", "TPAB", "DDC"];
const MEAN = 3; // the place after the three trainings
const PLANE = { width: 560, height: 390, left: 54, right: 12, top: 12, bottom: 44, across: [-18, 28], up: [-18, 12] };
const HIGH = 22; // of a label
const DIRECTIONS = Array.from({ length: 16 }, (_, k) => [Math.cos((k * Math.PI) / 8), Math.sin((k * Math.PI) / 8)]);
const SHIFTS = [22, 34, 46, 58, 70, 82, 94, 110, 130, 150, 170, 190].flatMap((far) => DIRECTIONS.map((way) => way.map((part) => Math.round(far * part))));

export default showing(NAMES, class extends Interactive {
  build(parts, { panels }) {
    this.control(selection, "panel", { text: "Data and model", options: panels.map(({ name }, k) => [String(k), `${k + 1}: ${name}`]), onset: (k) => this.set({ panel: Number(k) }) });
    const play = this.filmOf("training", { text: "Training", last: MEAN, milliseconds: 900, words: (_, state) => which(state) });
    parts.marks = METHODS.map((name) => mark(name));
    parts.list = h("ul", { class: "cw-tally", "data-paper": true });
    parts.hits = h("p", {});
    return hero(this, {
      head: { title: "Which method keeps the promise?", lead: "Labels are methods; without one a model stands where the lines cross. Filled: the 95 % interval of accuracy leaves out 0." },
      controls: [h("div", { class: "cw-row" }, play), parts.panel.box],
      picture: h("div", { class: "cw-hero-stage" }, plane(parts.marks), h("div", {}, h("p", { class: "cw-card-title" }, h("span", { class: "cw-verdict" }, `${everywhere({ panels }).length} of ${METHODS.length}`), " methods keep it everywhere. ", h("span", { class: "cw-soft" }, "Data and model where it is kept on average:")), parts.list)),
      more: { view: h("div", { class: "cw-card" }, parts.hits) },
    });
  }

  refresh(parts, state) {
    const { methods, hits } = state.panels[state.panel];
    this.story = story(state);
    const spots = METHODS.map((name) => place(methods[name], state.training));
    const free = apart(spots, parts.marks, this.narrow ? 1.4 : 1); // on a phone labels are larger: .cw-pill
    parts.marks.forEach(({ name, move }, k) => move(spots[k], free[k], state.training === MEAN ? methods[name].halves[1] : 0));
    parts.marks.forEach(({ name, root }) => root.classList.toggle("cw-unsure", state.training !== MEAN || !sure(methods[name])));
    parts.list.replaceChildren(...METHODS.map((name) => tally(name, state)));
    parts.hits.textContent = `A list of hits instead of the model: popularity ${signed(hits[0])} %, accuracy ${signed(hits[1])} %.`;
    this.fold({ numbers: () => [HEADS, rows(state), `${state.panels[state.panel].name}: changes against the model without a method, in %.`], python: asPython(state) });
  }
});

// ---- what is shown -------------------------------------------------------------------------------------------------------

/** Change of popularity and of accuracy, in one training or on average. */
const place = ({ points }, training) => (training === MEAN ? [0, 1].map((axis) => average(points.map((point) => point[axis]))) : points[training]);

/** Whether the accuracy changes by more than its 95 % interval, taken alone. */
const sure = (method) => Math.abs(place(method, MEAN)[1]) > method.halves[1];

const good = ([popularity, accuracy]) => popularity < 0 && accuracy > 0;

/** In how many of the three trainings a method makes lists less popular and more accurate. */
const inCorner = ({ points }) => points.filter(good).length;

/** The methods that do so on average, in every choice of data and model. */
const everywhere = ({ panels }) => METHODS.filter((one) => panels.every(({ methods }) => good(place(methods[one], MEAN))));

const which = ({ training }) => (training === MEAN ? "mean of the three" : `${training + 1} of 3`);

function story(state) {
  const { name, methods } = state.panels[state.panel];
  const now = METHODS.filter((one) => good(place(methods[one], state.training)));
  const always = METHODS.filter((one) => inCorner(methods[one]) === 3);
  const safe = now.filter((one) => sure(methods[one]));
  const doing = (names) => (names.length ? `${list(names)} ${names.length === 1 ? "does" : "do"}` : "none does");
  const when = state.training === MEAN ? "On average" : `In training ${state.training + 1}`;
  return `${name}. ${when}, ${now.length || "none"} of the ${METHODS.length} methods ${now.length > 1 ? "give" : "gives"} less popular and more accurate lists${now.length ? `: ${list(now, 8)}` : ""}.` +
    (state.training === MEAN && now.length ? ` Of these, ${safe.length ? `only ${list(safe)} ${safe.length === 1 ? "has" : "have"}` : "none has"} a 95 % interval of the accuracy above 0.` : "") +
    (state.everything ? ` In all three trainings ${doing(always)}.` : "");
}

const HEADS = ["Method", "Popularity, mean", "± 95 %", "MRR@10, mean", "± 95 %", "Trainings in the corner"];

const rows = ({ panels, panel }) => METHODS.map((name) => {
  const found = panels[panel].methods[name];
  const [popularity, accuracy] = place(found, MEAN);
  return [name, signed(popularity), number(found.halves[0]), signed(accuracy), number(found.halves[1]), `${inCorner(found)} of 3`];
});

function asPython({ panels, panel, training }) {
  const [data, backbone] = panels[panel].name.split(", ");
  return [
    "from course_lib import experiments", "from course_lib.lessons.ddc.rivals import CHANGES, METHODS, SETS, Rivals", "",
    `[data] = [key for key, name in SETS.items() if name == "${data}"]`,
    't3 = experiments.load_result("P1-T3", "laptop")',
    "for method in METHODS:",
    `    popularity, accuracy = (t3.values(change, data=data, backbone="${backbone}", method=method) for change in CHANGES)`,
    '    print(method, [f"{value:+.1f}" for value in popularity], [f"{value:+.1f}" for value in accuracy])',
    `Rivals(training=${training}, panel=${panel})`].join("\n");
}

// ---- pictures ------------------------------------------------------------------------------------------------------------

const scale = (value, [low, high], from, to) => from + ((Math.min(Math.max(value, low), high) - low) / (high - low)) * (to - from);
const x = (value) => scale(value, PLANE.across, PLANE.left, PLANE.width - PLANE.right);
const y = (value) => scale(value, PLANE.up, PLANE.height - PLANE.bottom, PLANE.top);

/** A point that glides, with a bar upwards for the interval of its accuracy, and its label at a free place, joined by a line. */
function mark(name) {
  const [bar, leader, point] = [svg("path", { class: "cw-whisker" }), svg("path", { class: "cw-map-leader" }), svg("circle", { r: 6, style: name === "DDC" ? "fill:var(--cw-push)" : "" })];
  const under = svg("g", { class: "cw-disc" }, bar, leader);
  const wide = 8 + 10 * name.length;
  const label = svg("g", {}, svg("g", { class: "cw-pill" }, svg("rect", { x: -wide / 2, y: -HIGH / 2, width: wide, height: HIGH, rx: HIGH / 2 }), svg("text", { y: 5 }, name)));
  const root = svg("g", { class: `cw-disc cw-method${name === "DDC" ? " cw-own" : ""}` }, point, label);
  const move = ([popularity, accuracy], [dx, dy], half) => {
    const here = `translate(${x(popularity).toFixed(1)}px, ${y(accuracy).toFixed(1)}px)`;
    [under, root].forEach((part) => (part.style.transform = here));
    label.style.transform = `translate(${dx}px, ${dy}px)`;
    leader.setAttribute("d", `M0 0L${dx} ${dy}`);
    bar.setAttribute("d", `M0 ${(y(accuracy + half) - y(accuracy)).toFixed(1)}V${(y(accuracy - half) - y(accuracy)).toFixed(1)}`);
  };
  return { name, wide, under, root, move };
}

/** For each label the nearest shift at which it covers no label and no point, and stays on its side of both lines. */
function apart(spots, marks, swell) {
  const points = spots.map(([popularity, accuracy]) => [x(popularity), y(accuracy)]);
  const taken = points.map(([across, down]) => [across, down, 6, 6]); // the middle of a box, and half its sides
  const side = ([across, down]) => `${across < x(0)} ${down < y(0)}`;
  return marks.map(({ wide }, k) => {
    const boxAt = ([dx, dy]) => [points[k][0] + dx, points[k][1] + dy, (swell * wide) / 2, (swell * HIGH) / 2];
    const free = (shift) => {
      const box = boxAt(shift);
      return inside(box) && side(box) === side(points[k]) && !taken.some((other) => meet(box, other));
    };
    const shift = SHIFTS.find(free) ?? SHIFTS[0];
    taken.push(boxAt(shift));
    return shift;
  });
}

const meet = (a, b) => Math.abs(a[0] - b[0]) < a[2] + b[2] + 2 && Math.abs(a[1] - b[1]) < a[3] + b[3] + 2;

const inside = ([across, down, half, tall]) => across - half > PLANE.left && across < PLANE.width - half && down > PLANE.top + 24 + tall && down < PLANE.height - PLANE.bottom;

/** A method's name, and whether it keeps the promise with each data and model; those that are shown are outlined. */
const tally = (name, { panels, panel }) => h("li", {}, h("span", {}, name), panels.map(({ methods }, k) => {
  const kept = good(place(methods[name], MEAN));
  return h("span", { class: `cw-kept${kept ? " cw-yes" : ""}${k === panel ? " cw-now" : ""}` }, kept ? k + 1 : "–");
}));

function plane(marks) {
  const { width, height, left, right, top, bottom } = PLANE;
  return drawing({ width, height }, { "aria-label": "Debiasing methods by change of popularity and of accuracy; the text gives the numbers" },
    svg("rect", { class: "cw-corner", x: left, y: top, width: x(0) - left, height: y(0) - top, rx: 8 }),
    svg("text", { class: "cw-hero-text cw-start", x: left + 10, y: top + 22 }, "the promise"),
    svg("path", { class: "cw-frame", d: `M${left} ${y(0)}H${width - right}M${x(0)} ${top}V${height - bottom}` }),
    [-10, 0, 10, 20].map((value) => svg("text", { class: "cw-hero-text cw-soft cw-middle", x: x(value), y: height - bottom + 14 }, `${signed(value)} %`)),
    [-15, -10, -5, 0, 5, 10].map((value) => svg("text", { class: "cw-hero-text cw-soft cw-end", x: left - 4, y: y(value) + 5 }, signed(value))),
    svg("text", { class: "cw-hero-text cw-start", x: left, y: height - 7 }, "← less popular lists"),
    svg("text", { class: "cw-hero-text cw-end", x: width - right, y: height - 7 }, "more popular lists →"),
    svg("text", { class: "cw-hero-text cw-end", x: width - right, y: top + 16 }, "↑ more accurate, %"),
    marks.map(({ under }) => under), marks.map(({ root }) => root));
}
