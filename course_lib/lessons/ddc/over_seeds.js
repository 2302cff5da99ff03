// The interactive "alone and together": how much of DDC's two scalars everybody's vector carries, and what the lists of several trainings do.
import { drawing, evenNumbers, h, number, remembered, signed, svg, wholePercent } from "../shared/widgets/kit.js";
import { Interactive, beside, diamond, framed, key, presets, showing, slider } from "../shared/widgets/controls.js";
import { ALONE, SHIFTS, analyseAll, changes, markAll, trainingOf } from "./two_scalars_math.js";

const NAMES = ["models", "counts", "history", "seen", "test", "alpha", "beta", "shift"];
const PRESETS = Object.fromEntries(Object.entries({ alpha: "α alone", beta: "β alone", both: "Both: DDC" })
  .map(([name, text]) => [name, { text, set: { alpha: ALONE[name][0], beta: ALONE[name][1] } }]));

export default showing(NAMES, class extends Interactive {
  build(parts, state) {
    const trainings = state.models.map((model) => trainingOf(model, state));
    this.marked = remembered((shift) => markAll(trainings, { ...state, shift }));
    const share = (name, text) => this.control(slider, name, { text, min: 0, max: 1.5, step: 0.05, words: wholePercent });
    parts.presets = presets(PRESETS, (name) => this.set(PRESETS[name].set));
    share("alpha", "How much of each α");
    share("beta", "How much of each β");
    this.control(slider, "shift", { text: "Move all films", min: SHIFTS[0], max: SHIFTS.at(-1), step: 1, words: (shift) => (shift ? `${number(shift)} sd` : "not at all") });
    parts.plane = h("div", {});
    return framed({ look: "cw-flow", title: "α and β, alone and together", lead: "Each dot stands for the lists of one model. The models were trained from different random starts. Does every training say the same?" }, beside({
      start: parts.presets.box,
      main: [parts.alpha.box, parts.beta.box, parts.shift.box, h("p", { class: "cw-note" }, "All films move along the popularity axis, by so many standard deviations. No list of the model changes, but DDC finds another α and β.")],
      view: h("div", { class: "cw-card" }, h("p", { class: "cw-card-title" }, "Lists of ten ", h("span", { class: "cw-soft" }, "change against the same model without α and β")), parts.plane, legend()),
      words: parts.summary,
    }), parts.folds.box);
  }

  refresh(parts, state) {
    this.found = analyseAll(state, this.marked(state.shift));
    this.story = summary(state, this.found);
    parts.plane.replaceChildren(planeOf(this.found, this.story));
    this.fold({ numbers: () => [HEADS, rowsOf(this.found), "One row for each training."], python: asPython(state) });
  }
});

// ---- words ---------------------------------------------------------------------------------------------------------------

/** A whole number, or one figure below 1: what counts as a rise or a fall is not written as 0. */
const whole = (value) => signed(Math.abs(value) < 1 ? Number(value.toPrecision(1)) : Math.round(value));
const fromTo = (values, text) => {
  const [low, high] = [Math.min(...values), Math.max(...values)].map(text);
  return low === high ? low : `${low} to ${high}`;
};

function summary({ alpha, beta, shift, test }, found) {
  const [popular, ranks] = [0, 1].map((k) => found.map(({ change }) => change[k]));
  const which = (values, side) => values.filter((value) => side * value > 0).length;
  const told = (values, more, less) => `${fromTo(values, whole)} %, ${more} in ${which(values, 1)} and ${less} in ${which(values, -1)} of ${found.length} trainings`;
  const served = `Served: the model’s vectors with ${wholePercent(alpha)} of each person’s α and ${wholePercent(beta)} of each person’s β.`;
  const outcome = alpha || beta
    ? `The lists of ${test.length} people change in popularity by ${told(popular, "more popular", "less popular")}. MRR@10 changes by ${told(ranks, "higher", "lower")}.`
    : `These are the lists of the models: films with ${fromTo(found.map(({ now }) => now.popular), number)} ratings on average, and an MRR@10 of ${fromTo(found.map(({ now }) => now.mrr), number)}.`;
  const moved = shift ? `All films are moved by ${number(shift)} standard deviation${Math.abs(shift) === 1 ? "" : "s"} along the popularity axis. ` : "";
  return `${served} ${outcome} ${moved}DDC’s α is negative for ${fromTo(found.map(({ negative }) => 100 * negative), (value) => value.toFixed(0))} % of the people.`;
}

const HEADS = ["Training", "Popularity, model", "Popularity now", "Change, %", "MRR@10, model", "MRR@10 now", "Change, %", "α below 0"];

const rowsOf = (found) => found.map(({ marks, now, change, negative }, seed) => [
  `seed ${seed}`, ...[marks.model.popular, now.popular, change[0]].map(number), ...[marks.model.mrr, now.mrr].map((mrr) => mrr.toFixed(4)), number(change[1]), wholePercent(negative),
]);

/** Lines of Python that compute popularity and MRR@10 of each training, and show the same state. */
const asPython = ({ alpha, beta, shift }) => [
  "import numpy as np", "", "from course_lib import correction, metrics, popularity", "from course_lib.lessons.ddc.over_seeds import OverSeeds", "",
  `shown = OverSeeds(alpha=${alpha}, beta=${beta}, shift=${shift})`, "counts, lists = np.array(shown.counts), []",
  "for model in shown.trainings():  # tables and the scalars of DDC, one for each seed",
  "    pop = popularity.popularity_direction(model.items, counts)",
  "    pref = correction.preference_directions(model.users, model.items, shown.train)",
  "    served = model.users + shown.alpha * model.alpha[:, None] * pop + shown.beta * model.beta[:, None] * pref",
  "    ranked = metrics.top_k(served, model.items, shown.known, 10)",
  '    mrr = metrics.metrics_from_ranking(ranked, shown.tested, (10,))["mrr@10"]',
  "    lists.append((counts[ranked].mean(), mrr))", "print(np.round(lists, 4))", "shown",
].join("\n");

// ---- pictures ----------------------------------------------------------------------------------------------------------

const FRAME = { width: 360, height: 270, left: 56, right: 14, top: 12, bottom: 42 };
const MARKS = {
  alpha: (x, y) => svg("path", { class: "cw-tail", d: `M${(x - 6).toFixed(1)} ${(y + 5).toFixed(1)}h12l-6 -11z` }),
  beta: (x, y) => svg("rect", { class: "cw-tail", x: (x - 5).toFixed(1), y: (y - 5).toFixed(1), width: 10, height: 10 }),
  both: (x, y) => svg("path", { class: "cw-tail", d: diamond(x, y, 7) }),
};

const legend = () => h("ul", { class: "cw-legend" },
  key("now, one dot for each training", svg("circle", { class: "cw-item", cx: 10, cy: 10, r: 6 })),
  key("α alone", MARKS.alpha(10, 10)), key("β alone", MARKS.beta(10, 10)), key("both: DDC", MARKS.both(10, 10)),
  key("the model", svg("path", { class: "cw-bend", d: "M10 1V19M1 10H19" })));

/** Popularity across, accuracy up; a faint line joins each dot with the model. */
function planeOf(found, story) {
  const { width, height, left, right, top, bottom } = FRAME;
  const marks = found.flatMap(({ marks: own }) => Object.keys(MARKS).map((name) => ({ name, change: changes(own[name], own) })));
  const all = [[0, 0], ...marks.map(({ change }) => change), ...found.map(({ change }) => change)];
  const [across, up] = [0, 1].map((k) => {
    const [low, high] = [Math.min(...all.map((one) => one[k])), Math.max(...all.map((one) => one[k]))];
    const room = Math.max(1, 0.08 * (high - low));
    return [low - room, high + room];
  });
  const x = (value) => left + ((value - across[0]) / (across[1] - across[0])) * (width - left - right);
  const y = (value) => top + ((up[1] - value) / (up[1] - up[0])) * (height - top - bottom);
  const at = ([popular, mrr]) => [x(popular), y(mrr)];
  return drawing({ width, height, most: 540 }, { "aria-label": story },
    svg("rect", { class: "cw-half", x: left, y: top, width: width - left - right, height: height - top - bottom }),
    svg("path", { class: "cw-bend", d: `M${x(0).toFixed(1)} ${top}V${height - bottom}M${left} ${y(0).toFixed(1)}H${width - right}` }),
    evenNumbers(...across, 6).map((value) => svg("text", { class: "cw-axis-text", x: x(value), y: height - bottom + 15 }, signed(value))),
    evenNumbers(...up, 6).map((value) => svg("text", { class: "cw-axis-text cw-end", x: left - 5, y: y(value) + 4 }, signed(value))),
    svg("text", { class: "cw-axis-text", x: (left + width - right) / 2, y: height - 8 }, "popularity of the lists, change in %"),
    svg("text", { class: "cw-axis-text", x: 0, y: 0, transform: `translate(13 ${((top + height - bottom) / 2).toFixed(0)}) rotate(-90)` }, "MRR@10, change in %"),
    svg("path", { class: "cw-ray", d: found.map(({ change }) => `M${x(0).toFixed(1)} ${y(0).toFixed(1)}L${at(change).map((value) => value.toFixed(1)).join(" ")}`).join("") }),
    marks.map(({ name, change }) => MARKS[name](...at(change))),
    found.map(({ change }) => svg("circle", { class: "cw-item cw-plain", cx: x(change[0]).toFixed(1), cy: y(change[1]).toFixed(1), r: 5.5 })));
}
