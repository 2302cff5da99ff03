// The interactive "one rate, long vectors, other lists": stored models of real films, one for each effective rate.
import { drawing, h, list, number, svg, thousands } from "../shared/widgets/kit.js";
import { Interactive, barLine, choice, diamond, filmLine, hero, key, ladder, presets, showing } from "../shared/widgets/controls.js";
import { average } from "../shared/widgets/tables.js";

const NAMES = ["films", "rate", "person", "index", "everything"];
const PRESETS = {
  chapter: { text: "The chapter’s rate", set: { rate: 10 } },
  low: { text: "Low rate", set: { rate: 0.2 } },
  high: { text: "High rate", set: { rate: 50 } },
};
const KINDS = { dot: "dot product", cosine: "cosine" };

export default showing(NAMES, class extends Interactive {
  build(parts, { films }) {
    parts.presets = presets(PRESETS, (name) => this.set(PRESETS[name].set));
    this.control(ladder, "rate", { text: "Effective learning rate η/‖q₀‖²", values: films.rates, words: number });
    this.control(choice, "person", { label: "Person", options: films.people.map((_, k) => [k + 1, k + 1]) });
    parts.liked = h("p", { class: "cw-note" });
    this.bars = Object.fromEntries(Object.keys(KINDS).map((kind) => [kind, barLine(kind, kind === "dot" ? "cw-piece-push" : "cw-piece-pull")]));
    this.chart = new Chart(films);
    this.control(choice, "index", { label: "Index", options: Object.entries(KINDS) });
    parts.whose = h("p", { class: "cw-card-title" });
    parts.ten = h("ol", { class: "cw-ten", "data-paper": true });
    return hero(this, {
      head: { title: "Popular films grow long", lead: "Each dot is a film of a model that was trained on cosines, which ignore lengths. Then two indexes search its vectors." },
      controls: [parts.index.box, parts.rate.box, parts.person.box],
      picture: h("div", { class: "cw-hero-stage" }, this.chart.root, h("div", {}, parts.whose, parts.ten)),
      more: {
        start: parts.presets.box,
        main: [parts.liked, h("div", {}, h("p", { class: "cw-small-title" }, "Pairs of a film in everybody’s lists; full bar: most popular films"),
          h("div", { class: "cw-bars cw-tight" }, Object.values(this.bars).map(({ box }) => box)))],
        view: h("ul", { class: "cw-legend" },
          key("film", svg("path", { class: "cw-specks", d: "M10 10h0" })),
          key("named film", svg("path", { class: "cw-item-head", d: diamond(10, 10, 6) })),
          key("quartic law, one mean pull for all films", svg("path", { class: "cw-law", d: "M1 10H19" }))),
      },
    });
  }

  refresh(parts, state) {
    const found = shown(state);
    this.story = state.everything ? story(state, found) : point(state, found);
    const { person, films, index } = state;
    parts.whose.replaceChildren(`First films for person ${person} `, h("span", { class: "cw-soft" }, `by ${KINDS[index]}, and their likes`));
    parts.ten.replaceChildren(...found.lists[index].slice(0, this.narrow ? 5 : 10).map((id) =>
      filmLine([films.titles[id], h("span", { class: "cw-soft" }, ` ${films.counts[id]}`)], found.person.hidden.includes(id) && "hidden film")));
    parts.liked.textContent = `Liked, among others: ${list(found.person.liked.map((id) => state.films.titles[id]))}.`;
    for (const [kind, bar] of Object.entries(this.bars)) bar.show(found.model.count[kind] / state.films.popular, number(Math.round(found.model.count[kind])));
    this.chart.show(found, this.story);
    this.fold({ numbers: () => [HEADS, rows(state), "All stored models."], python: asPython(state) });
  }
});

// ---- words -------------------------------------------------------------------------------------------------------------

function shown({ films, rate, person }) {
  const model = films.models[films.rates.indexOf(rate)];
  return { model, person: films.people[person - 1], lists: Object.fromEntries(Object.keys(KINDS).map((kind) => [kind, model.lists[kind][person - 1]])) };
}

const listed = (films, ids) => number(Math.round(average(ids.map((id) => films.counts[id]))));

const point = ({ films, person }, { model, lists }) => `The vector of ${films.named[0]}, the most popular film, is ${number(model.lengths[0] / 100)} long, that of the median film ${number(model.median)}. ` +
  `So a dot product shows person ${person} films with ${listed(films, lists.dot)} likes on average, and the cosine films with ${listed(films, lists.cosine)}.`;

function story({ films, rate, person }, { model, lists }) {
  const { count, lengths, median, slope } = model;
  const [dot, cosine] = Object.keys(KINDS).map((kind) => lists[kind]);
  const common = dot.filter((id) => cosine.includes(id)).length;
  return `At an effective rate of ${number(rate)} the vector of ${films.named[0]}, the most popular film, ends with length ${number(lengths[0] / 100)}, and that of the median film with ${number(median)}. ` +
    `All began near 1. On logarithmic axes the slope of length against pairs is ${number(slope)}. ` +
    `The two lists of person ${person} have ${common || "no"} ${common === 1 ? "film" : "films"} in common: their films have ${listed(films, dot)} pairs on average by dot product and ${listed(films, cosine)} by cosine. ` +
    `Over all ${thousands(films.users)} people the means are ${number(Math.round(count.dot))} and ${number(Math.round(count.cosine))}; lists of the most popular films have ${number(Math.round(films.popular))}.`;
}

const HEADS = ["Effective rate", "Length of the most popular film", "Median length", "Slope", "Pairs of a listed film, dot", "Pairs, cosine", "NDCG@10, dot", "NDCG@10, cosine"];

const rows = ({ films }) => films.models.map(({ lengths, median, slope, count, ndcg }, k) => [number(films.rates[k]), number(lengths[0] / 100), number(median), slope.toFixed(3),
  ...[count.dot, count.cosine].map((value) => value.toFixed(1)), ...[ndcg.dot, ndcg.cosine].map((value) => value.toFixed(3))]);

/** Python that trains this model and computes its row of the table. */
const asPython = ({ films, rate, person, index }) => `import numpy as np

from course_lib.lessons.popularity_norm_coupling import films
from course_lib.lessons.popularity_norm_coupling.effective_rate import EffectiveRate
from course_lib.training import towers

train, test = films.split()
model, _ = films.at_rate(train, ${rate})  # ${number(films.time / rate)} steps
lengths, found = towers.item_norms(model, train.n_items), towers.judge(model, train, test)
print(lengths[train.col_counts.argmax()], np.median(lengths), "long: the most popular film, the median film")
print(found["slope"], "the slope of length against pairs")
print(found["AvgPop dot"], found["AvgPop cos"], "pairs of a listed film, by dot product and by cosine")
EffectiveRate(${rate}, person=${person}, index="${index}")`;

// ---- pictures ----------------------------------------------------------------------------------------------------------

const FRAME = { width: 540, height: 344, left: 104, right: 12, top: 12, bottom: 106 };
const STRIPS = { dot: 44, cosine: 16 }; // above the lower edge
const LENGTHS = [0.5, 1, 2, 5, 10, 20];

/** Length against pairs, both logarithmic; the axes are those of all models, so that a change of the rate can be seen. */
class Chart {
  constructor(films) {
    Object.assign(this, { films, most: Math.max(...films.shown), least: Math.min(...films.shown), high: Math.max(...films.models.flatMap(({ lengths }) => lengths)) / 90 });
    this.low = Math.min(...films.models.flatMap(({ lengths }) => lengths)) / 110;
    const { width, height, left, right, top, bottom } = FRAME;
    const text = (x, y, kind, words) => svg("text", { class: `cw-hero-text ${kind}`, x: x.toFixed(1), y: y.toFixed(1) }, words);
    this.specks = svg("path", { class: "cw-specks" });
    this.named = svg("path", { class: "cw-item-head cw-plain" });
    this.law = svg("path", { class: "cw-law" });
    this.names = films.named.map((name) => svg("text", { class: "cw-hero-text cw-end" }, name));
    this.listed = Object.fromEntries(Object.keys(KINDS).map((kind) => [kind, Array.from({ length: 10 }, () => svg("circle", { class: kind === "dot" ? "cw-user" : "cw-knob-item", r: 7, cy: height - STRIPS[kind] }))]));
    this.root = drawing({ width, height }, {},
      svg("path", { class: "cw-frame", d: `M${left} ${top}V${height - bottom}H${width - right}` }),
      [5, 20, 50, 200, 500].filter((count) => count <= this.most).map((count) => text(this.x(count), height - bottom + 18, "cw-middle cw-soft", String(count))),
      LENGTHS.filter((length) => length > this.low && length < this.high).map((length) => text(left - 6, this.y(length) + 5, "cw-end cw-soft", String(length))),
      text(width - right, height - bottom + 38, "cw-end", "likes of the film"), text(left + 8, top + 16, "cw-start", "length of its vector"),
      this.theory = text(width - right, 0, "cw-end cw-soft", "the quartic law"),
      Object.entries(STRIPS).map(([kind, low]) => [svg("path", { class: "cw-frame", d: `M${left} ${height - low}H${width - right}` }), text(left - 8, height - low + 5, "cw-end", `by ${kind}`)]), Object.values(this.listed),
      this.specks, this.law, this.named, this.names);
  }

  x(count) {
    return FRAME.left + 12 + (Math.log(count / this.least) / Math.log(this.most / this.least)) * (FRAME.width - FRAME.left - FRAME.right - 24);
  }

  y(length) {
    return FRAME.top + (Math.log(this.high / length) / Math.log(this.high / this.low)) * (FRAME.height - FRAME.top - FRAME.bottom);
  }

  show({ model: { lengths, law }, lists }, name) {
    const { films, names } = this;
    for (const [kind, dots] of Object.entries(this.listed)) dots.forEach((dot, k) => dot.setAttribute("cx", this.x(films.counts[lists[kind][k]]).toFixed(1)));
    const places = lengths.map((length, k) => [this.x(films.shown[k]), this.y(length / 100)]);
    this.specks.setAttribute("d", places.slice(names.length).map(([x, y]) => `M${x.toFixed(1)} ${y.toFixed(1)}h0`).join(""));
    this.named.setAttribute("d", places.slice(0, names.length).map(([x, y]) => diamond(x, y, 6)).join(""));
    this.law.setAttribute("d", law.map((length, k) => `${k ? "L" : "M"}${this.x(this.least * (this.most / this.least) ** (k / (law.length - 1))).toFixed(1)} ${this.y(length / 100).toFixed(1)}`).join(""));
    this.theory.setAttribute("y", (this.y(law.at(-1) / 100) + 22).toFixed(1));
    names.forEach((text, k) => {
      text.setAttribute("x", (places[k][0] - 9).toFixed(1));
      text.setAttribute("y", Math.max(11, places[k][1] - (k ? 5 : 17)).toFixed(1)); // the first name above the others, which it would touch
    });
    this.root.setAttribute("aria-label", name);
  }
}
