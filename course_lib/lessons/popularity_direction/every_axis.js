// The interactive "the axis before training": on every data set, how closely the items' places follow popularity after training, before it,
// and counted from the data alone. The numbers are stored results. Runs in Jupyter (anywidget), on a static page and on paper alike.
import { h, list, number, svg } from "../shared/widgets/kit.js";
import { Interactive, beside, choice, diamond, framed, key, showing, slider, table } from "../shared/widgets/controls.js";
import { selection } from "../shared/widgets/motion_view.js";
import { average } from "../shared/widgets/tables.js";

const NAMES = ["sets", "law", "show", "place"];
const SHOWS = [["after", "after training"], ["before", "and before training"], ["data", "and counted from the data"]];
const LAWS = [
  ["RecBole", "uniformly, redrawn if liked (RecBole)"], ["cornac", "uniformly, left out if liked (cornac)"], ["Spotlight", "uniformly, liked or not (Spotlight)"],
  ["LightFM", "by popularity, redrawn if liked (LightFM)"], ["implicit", "by popularity, left out if liked (implicit)"], ["LightGCN", "uniformly, people alike (LightGCN)"],
];
const ORDER = { after: "after training", before: "after · before", data: "after · before · from the data" }; // of the numbers of a row
const NONE = "not measured";

export default showing((model) => new View(model, NAMES));

class View extends Interactive {
  build() {
    const { parts } = this;
    parts.show = choice({ name: "show", label: "Show", options: SHOWS, onset: (show) => this.look(show) });
    parts.law = selection({ name: "law", text: "The other item is drawn (grey: no model trained)", options: LAWS, onset: (law) => this.set({ law }) });
    parts.place = slider({ name: "place", text: "Look at", min: 1, max: this.state().sets.length, step: 1, onset: (place) => this.set({ place }) });
    parts.rows = h("div", {});
    parts.order = h("span", { class: "cw-soft" });
    const head = {
      look: "cw-flow cw-film cw-words-across",
      title: "The axis before training",
      lead: "How closely do the places of the items along the axis follow popularity, and was that so before any training?",
    };
    return framed(head, beside({
      main: [parts.show.box, parts.law.box],
      more: parts.place.box,
      view: h("div", { class: "cw-card" }, h("p", { class: "cw-card-title" }, "Correlation r of place and popularity ", parts.order), parts.rows, legend()),
      words: parts.summary,
    }), parts.folds.box);
  }

  /** Whether a model was trained under a law, on any of the data sets. */
  trained(law) {
    return this.state().sets.some((set) => set.trained[law]);
  }

  /** Another view; where it has nothing of the law, with the first of the laws. */
  look(show) {
    this.set(show === "data" || this.trained(this.state().law) ? { show } : { show, law: LAWS[0][0] });
  }

  refresh() {
    const state = this.state();
    const { parts } = this;
    this.story = summary(state);
    parts.show.show(state.show);
    parts.law.show(state.law);
    LAWS.forEach(([law], k) => (parts.law.choices[k].disabled = state.show !== "data" && !this.trained(law)));
    parts.order.textContent = ORDER[state.show];
    parts.place.show(state.place, state.sets[state.place - 1].name);
    parts.rows.replaceChildren(picture(state, this.story));
    this.showTable();
    parts.folds.code.textContent = asPython(state);
    this.announce?.();
  }

  showTable() {
    const { data, table: holder } = this.parts.folds;
    if (data.open) holder.replaceChildren(table(HEADS, rowsOf(this.state()), "Correlations with popularity, means over splits or seeds."));
  }
}

// ---- what is shown of a data set: numbers of each seed, none where nothing is stored -----------------------------------------------

/** What the chosen `show` reveals, in this order: [name, numbers, words, how they are drawn]. */
function seriesOf({ law, show }, set) {
  const all = [
    ["after", set.trained[law] ?? [], "after training", (x, y) => svg("circle", { class: "cw-item cw-plain", cx: x, cy: y, r: 5 })],
    ["before", set.untrained, "before training", (x, y) => svg("circle", { class: "cw-tail", cx: x, cy: y, r: 5 })],
    ["data", set.first[law] ?? [], "from the data", (x, y) => svg("path", { class: "cw-item-head cw-plain", d: diamond(x, y, 6.5) })],
  ];
  return all.slice(0, 1 + SHOWS.findIndex(([name]) => name === show));
}

const short = (values) => (values.length ? number(average(values)) : NONE);

// ---- words ---------------------------------------------------------------------------------------------------------------

function summary(state) {
  const { sets } = state;
  const told = (k) => {
    const stored = (set) => seriesOf(state, set)[k][1].length > 0;
    const [some, none] = [sets.filter(stored), sets.filter((set) => !stored(set)).map((set) => set.name)];
    if (!some.length) return NONE;
    return some.map((set) => `${short(seriesOf(state, set)[k][1])} on ${set.name}`).join(", ") + (none.length ? `; ${NONE} on ${list(none)}` : "");
  };
  const drawn = LAWS.find(([name]) => name === state.law)[1];
  const lines = [`A training step compares a liked item with another item, drawn ${drawn}.`, `Correlation r after training: ${told(0)}.`];
  if (state.show !== "after") lines.push(`Before training, with random vectors: ${told(1)}.`);
  if (state.show === "data") lines.push(`Counted from the data alone, without a model: ${told(2)}.`);
  const most = sets.reduce((one, set) => (set.chance > one.chance ? set : one));
  return [...lines, aboutSet(state), `Random vectors reach ${number(most.chance)} on average on ${most.name === "films of this page" ? "the " : ""}${most.name}, measured on the same items from which the axis is computed.`].join(" ");
}

/** How alike the lists along the first axis are. */
function aboutSet({ sets, law, place, show }) {
  const { name, side } = sets[place - 1];
  if (show !== "data") return `Looked at: ${name}, ${short(seriesOf({ law, show }, sets[place - 1]).at(-1)[1])}.`;
  if (!side[law]) return `Looked at: ${name}, ${NONE}.`;
  return `Looked at: ${name}, where ${number(100 * average(side[law]))} % of the people are on one side of the first axis, along which they would all get the same list.`;
}

const HEADS = ["Data", "After training", "Before training", "From the data alone", "Least of the seeds", "Most", "Chance", "People on the larger side"];

const rowsOf = ({ sets, law }) => sets.map((set) => {
  const first = set.first[law] ?? [];
  const ends = first.length ? [Math.min(...first), Math.max(...first)].map(number) : [NONE, NONE];
  return [set.name, short(set.trained[law] ?? []), short(set.untrained), short(first), ...ends, number(set.chance), short(set.side[law] ?? [])];
});

/** Lines of Python that compute the first axis of the films, and read that of the others. */
const asPython = ({ sets, law, show, place }) => [
  "from course_lib import experiments, popularity", "from course_lib.lessons.popularity_direction import films", "from course_lib.lessons.popularity_direction.every_axis import EveryAxis", "",
  `shown = EveryAxis(law="${law}", show="${show}", place=${place})`,
  "train = films.train()  # who liked what; no model is trained",
  "axis = films.first_axis(train, popularity.LIBRARY_LAWS[shown.law])  # first singular vector of pulls minus pushes",
  "r = {shown.sets[0][\"name\"]: popularity.pearson(axis, train.col_counts)}",
  'stored = experiments.load_result("P1-X2", "laptop")',
  `for data, name in ${JSON.stringify(Object.fromEntries(sets.filter(({ data }) => data).map(({ data, name }) => [data, name]))).replace(/":"/g, '": "').replace(/","/g, '", "')}.items():`,
  '    r[name] = stored.mean("first axis", data=data, law=shown.law)', "print(r)", "shown",
].join("\n");

// ---- the picture ---------------------------------------------------------------------------------------------------------

const FRAME = { width: 340, left: 6, right: 14, top: 0, row: 34, bottom: 34 };
const [LOW, HIGH] = [-0.1, 1];

const legend = () => h("ul", { class: "cw-legend" },
  key("after training, on items that the axis was not computed from", svg("circle", { class: "cw-item", cx: 10, cy: 10, r: 5 })),
  key("before training", svg("circle", { class: "cw-tail", cx: 10, cy: 10, r: 5 })),
  key("counted from the data: the first axis", svg("path", { class: "cw-item-head", d: diamond(10, 10, 6.5) })),
  key("mean of chance, on the items it was computed from", svg("path", { class: "cw-wish", d: "M10 1V19" })));

function picture(state, story) {
  const { width, left, right, top, row, bottom } = FRAME;
  const x = (r) => left + ((r - LOW) / (HIGH - LOW)) * (width - left - right);
  const height = top + row * state.sets.length + bottom;
  const rows = state.sets.map((set, k) => {
    const y = top + row * k;
    const line = y + 25;
    const series = seriesOf(state, set);
    const words = series.map(([, values]) => short(values)).join(" · ");
    return svg("g", {},
      svg("text", { class: "cw-axis-text cw-start cw-large", x: left, y: y + 13, "font-weight": k === state.place - 1 ? 700 : 400 }, set.name),
      svg("text", { class: "cw-axis-text cw-end", x: width - right, y: y + 13 }, words),
      svg("path", { class: "cw-frame", d: `M${left} ${line}H${width - right}M${x(0).toFixed(1)} ${line - 4}v8` }),
      svg("path", { class: "cw-wish", d: `M${x(set.chance).toFixed(1)} ${line - 6}V${line + 9}` }),
      series.flatMap(([, values, , draw]) => values.map((r) => draw(Number(x(r).toFixed(1)), line))));
  });
  const foot = top + row * state.sets.length;
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": story, style: "--cw-wide:340" }, rows,
    [0, 0.25, 0.5, 0.75, 1].map((r) => svg("text", { class: "cw-axis-text", x: x(r), y: foot + 16 }, number(r))),
    svg("text", { class: "cw-axis-text", x: width / 2, y: height - 4 }, "r, 1 if the places follow popularity exactly"));
}
