// The interactive "why popular items grow long": a small training run, the norms of its items against their counts, and
// what the length does to the lists.
import { drawing, h, number, remembered, svg, thousands, wholePercent } from "../shared/widgets/kit.js";
import { Interactive, barLine, beside, button, diamond, framed, key, ladder, presets, showing, slider } from "../shared/widgets/controls.js";
import { average } from "../shared/widgets/tables.js";
import { WORLD, analyse, lengthsOf, predictedNorm, train } from "./norm_growth_math.js";

const NAMES = ["lr", "start_norm", "tau", "exponent", "step", "seed"];
const RATES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100];
const NORMS = [0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10];
const TEMPERATURES = [0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1];

const usual = { start_norm: 1, tau: 0.1, exponent: 1, step: WORLD.steps };
const PRESETS = {
  high: { text: "High learning rate", set: { ...usual, lr: 0.5 } },
  low: { text: "Low learning rate", set: { ...usual, lr: 0.01 } },
  longer: { text: "Norm × 2, rate × 4", set: { ...usual, lr: 2, start_norm: 2 } },
  equal: { text: "All items alike", set: { ...usual, lr: 0.5, exponent: 0 } },
  wild: { text: "Far too high", set: { ...usual, lr: 100 } },
};

export default showing(NAMES, class extends Interactive {
  build(parts) {
    this.frames = remembered((settings) => this.train(JSON.parse(settings)));
    this.rank = 0; // place of the item looked at, by popularity
    parts.presets = presets(PRESETS, (name) => { this.film.stop(); this.set(PRESETS[name].set); });
    const play = this.filmOf("step", { text: "Training step", last: WORLD.steps, every: WORLD.every, milliseconds: 120, words: (step) => `${step} of ${WORLD.steps}` });
    this.control(ladder, "lr", { text: "Learning rate", values: RATES, words: number });
    this.control(ladder, "start_norm", { text: "Initial norm", values: NORMS, words: number });
    this.control(ladder, "tau", { text: "Temperature τ", values: TEMPERATURES, words: number });
    this.control(slider, "exponent", { text: "Popularity exponent", min: 0, max: 1.5, step: 0.1, words: (exponent) => (exponent === 0 ? "0, all items alike" : number(exponent)) });
    const again = button("again", "Other random numbers", () => this.set({ seed: (this.state().seed + 1) % 1000 }));
    return framed({ look: "cw-flow", title: "Why popular items grow long", lead: "A small two-tower model learns from cosines. A cosine ignores length, yet the popular items end up long. Press Play." },
      beside({
        start: parts.presets.box,
        main: [h("div", { class: "cw-row" }, play), parts.lr.box],
        view: [this.buildChart(), this.buildLists(), this.buildInspector(parts)],
        words: parts.summary,
        more: [parts.start_norm.box, parts.tau.box, parts.exponent.box, again],
      }),
      parts.folds.box);
  }

  buildChart() {
    this.chart = new Chart((item) => this.lookAt(item));
    return h("div", { class: "cw-card" }, this.chart.root,
      h("ul", { class: "cw-legend" },
        key("item", svg("circle", { class: "cw-item", cx: 10, cy: 10, r: 4 })),
        key("most popular tenth", svg("path", { class: "cw-item-head", d: diamond(10, 10, 6.5) })),
        key("quartic law, one mean pull for all", svg("path", { class: "cw-law", d: "M1 10H19" })),
        key("n*, where it bends", svg("path", { class: "cw-bend", d: "M10 1V19" }))));
  }

  buildInspector(parts) {
    parts.inspector = h("p", { class: "cw-inspector" });
    parts.item = slider({ name: "item", text: "Look at an item:", min: 1, max: WORLD.items, step: 1, onset: (rank) => { this.rank = rank - 1; this.inspect(); } });
    return h("div", { class: "cw-card cw-look-at" }, parts.item.box, parts.inspector);
  }

  buildLists() {
    this.bars = { head: [barLine("draws", "cw-piece-wrong", WORLD.top), barLine("cosine", "cw-piece-pull", WORLD.top), barLine("dot", "cw-piece-push", WORLD.top)],
      taste: [barLine("cosine", "cw-piece-pull", 1 / WORLD.tastes), barLine("dot", "cw-piece-push", 1 / WORLD.tastes)] };
    const bars = (title, some) => h("div", {}, h("p", { class: "cw-small-title" }, title), h("div", { class: "cw-bars cw-tight" }, some.map(({ box }) => box)));
    return h("div", { class: "cw-card cw-stage cw-halves" },
      bars("The most popular tenth’s share", this.bars.head), bars("Lists: the user’s own taste", this.bars.taste));
  }

  /** A run, and axes that fit its end. */
  train(settings) {
    const frames = train(settings);
    this.chart.fit(settings, lengthsOf(settings, frames.at(-1)));
    return frames;
  }

  refresh(parts, state) {
    const { step, ...settings } = state;
    this.found = analyse(state, this.frames(JSON.stringify(settings))[Math.round(step / WORLD.every)]);
    this.story = sentences(state, this.found).join(" ");
    this.chart.update(state, this.found, this.story);
    this.showLists();
    this.inspect();
    this.fold({ numbers: () => [TABLE_HEADS, groups(this.found), "The items in ten groups of falling popularity, after the step shown."], python: asPython(state) });
  }

  lookAt(item) {
    this.rank = this.found.order.indexOf(item);
    this.inspect();
  }

  inspect() {
    const { parts, found } = this;
    const item = found.order[this.rank];
    parts.item.show(this.rank + 1, `number ${this.rank + 1} by popularity`);
    parts.inspector.textContent = `${found.counts[item] ? `Drawn ${times(found.counts[item])}` : "Not drawn"}. Norm ${number(found.norms[item])}; predicted from its count ${number(found.predicted[item])}; ` +
      `by the exact law ${number(found.law[item])}. In ${found.cosine.times[item]} of ${WORLD.users} lists by cosine, in ${found.dot.times[item]} by dot product.`;
    this.chart.mark(item);
  }

  showLists() {
    const { bars, found: { headOfDraws, cosine, dot } } = this;
    const words = (part) => (Number.isNaN(part) ? "none yet" : wholePercent(part));
    [headOfDraws, cosine.head, dot.head].forEach((part, k) => bars.head[k].show(part, words(part)));
    [cosine.taste, dot.taste].forEach((part, k) => bars.taste[k].show(part, words(part)));
  }
});

// ---- words -------------------------------------------------------------------------------------------------------------

const times = (count) => (count === 1 ? "once" : `${thousands(count)} times`);
const draws = (count) => (count < 0.01 ? "below 0.01 draws" : number(count) === "1" ? "1 draw" : `${count < 1000 ? number(count) : thousands(Math.round(count))} draws`);

function sentences(state, found) {
  const { step, norms: lengths, drawn, counts } = found;
  if (!found.draws) return [`All items start with a norm near ${number(state.start_norm)}.`, "Before the first step no item has been drawn, and no norm has grown. Press Play to see which items become long."];
  const [most, least] = [drawn[0], drawn[drawn.length - 1]];
  const growth = `After ${step} steps the item drawn most often (${times(counts[most])}) has norm ${number(lengths[most])}, ` +
    `${drawn.length < counts.length ? "and of the items drawn so far " : ""}the one drawn least often (${times(counts[least])}) ${number(lengths[least])}.`;
  return [growth, `All started near ${number(state.start_norm)}.`, aboutLaw(found), aboutLists(found)];
}

function aboutLaw({ slope, crossover, stepPart }) {
  const bend = `The predicted line bends at n* (${draws(crossover)})`;
  const fit = Number.isNaN(slope) ? "" : `On logarithmic axes the slope of norm against count is ${number(slope)}; the law’s limit is 0.25. `;
  return `${fit}${bend}${stepPart >= 0.05 ? ` and leaves out the length of single steps, ${wholePercent(stepPart)} of the growth here` : ""}.`;
}

const aboutLists = ({ headOfDraws, cosine, dot }) => `The most popular tenth gets ${wholePercent(headOfDraws)} of the draws, ${wholePercent(cosine.head)} of the lists by cosine ` +
  `and ${wholePercent(dot.head)} of the lists by dot product.`;

const TABLE_HEADS = ["Items, by popularity", "Drawn", "Mean norm", "Predicted", "Exact law", "Share of lists, cosine", "Share of lists, dot"];

/** The items in ten groups of falling popularity, as cells of a table. */
function groups({ order, counts, norms: lengths, predicted, law, cosine, dot }) {
  const size = order.length / 10;
  return Array.from({ length: 10 }, (_, k) => {
    const members = order.slice(k * size, (k + 1) * size);
    const of = (values) => members.map((item) => values[item]);
    const [low, high] = [Math.min(...of(counts)), Math.max(...of(counts))];
    const share = ({ times }) => wholePercent(of(times).reduce((a, b) => a + b, 0) / (WORLD.users * WORLD.list));
    return [`${k * size + 1} to ${(k + 1) * size}`, low === high ? String(low) : `${low} to ${high}`,
      ...[lengths, predicted, law].map((values) => number(average(of(values)))), share(cosine), share(dot)];
  });
}

/** Python that trains the same run and computes the first row of the table. */
const asPython = ({ lr, start_norm: startNorm, tau, exponent, seed, step }) => `import numpy as np

from course_lib import geometry, norms, popularity
from course_lib.lessons.popularity_norm_coupling import norm_growth

settings = dict(lr=${lr}, start_norm=${startNorm}, tau=${tau}, exponent=${exponent}, seed=${seed})
run = norm_growth.train(**settings, steps=${step})
top = popularity.head_items(run.counts, norm_growth.TOP)
predicted = norms.predicted_norm(${startNorm}, lr=${lr}, h=run.h, updates=run.counts)
exact = geometry.quartic_norm(run.starts, lr=${lr}, h=run.gradients.T, step=run.steps.T)
print(geometry.norm(run.items)[top].mean(), "the mean norm of the most popular tenth")
print(predicted[top].mean(), "predicted;", exact[top].mean(), "by the exact law")
for by_cosine in (True, False):
    lists = norm_growth.recommend(run, by_cosine=by_cosine)
    print(np.isin(lists, top).mean(), "of the lists by", "cosine" if by_cosine else "dot product")
norm_growth.NormGrowth(**settings, step=${step})`;

// ---- pictures ----------------------------------------------------------------------------------------------------------

const FRAME = { width: 420, height: 256, left: 36, right: 12, top: 12, bottom: 40 };

/** 1, 2, 5 times a power of ten between two positive numbers. */
function niceNumbers(low, high) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) {
    for (const digit of [1, 2, 5]) found.push(power >= 0 ? digit * 10 ** power : digit / 10 ** -power);
  }
  return found.filter((value) => value >= low && value <= high);
}

const tick = (kind, x, y, words) => svg("text", { class: `cw-axis-text cw-large ${kind}`, x: x.toFixed(1), y: y.toFixed(1) }, words);

/** Norm against count, both logarithmic; the axes fit the end of the run, so that a run can be played. */
class Chart {
  constructor(onenter) {
    this.law = svg("path", { class: "cw-law" });
    this.bend = svg("path", { class: "cw-bend" });
    this.bendText = svg("text", { class: "cw-axis-text cw-large cw-start", y: FRAME.height - FRAME.bottom - 8 }, "n*");
    this.ring = svg("circle", { class: "cw-ring", r: 9 });
    this.marks = Array.from({ length: WORLD.items }, (_, item) => svg("path", { onpointerenter: () => onenter(item), onclick: () => onenter(item) }));
    this.kinds = [];
    this.axes = svg("g");
    const { width, height, left, right, top, bottom } = FRAME;
    this.root = drawing({ width, height }, {},
      svg("path", { class: "cw-frame", d: `M${left} ${top}V${height - bottom}H${width - right}` }), this.axes,
      tick("", (left + width) / 2, height - 5, "times drawn"), tick("cw-start", left + 6, top + 10, "norm"),
      this.bend, this.bendText, this.marks, this.law, this.ring);
  }

  /** Chooses the axes for a run. */
  fit({ start_norm: startNorm }, end) {
    const sizes = [startNorm, ...end.norms, ...end.predicted];
    const [low, high] = [Math.min(...sizes) / 1.15, Math.max(...sizes) * 1.15];
    const widen = Math.max(1, Math.sqrt(4 / (high / low))); // at least a factor of 4, so that flat looks flat
    Object.assign(this, { low: low / widen, high: high * widen, most: Math.max(10, Math.max(...end.counts) * 1.2) });
    const below = FRAME.height - FRAME.bottom + 17;
    this.axes.replaceChildren(tick("", this.x(0), below, "0"),
      ...niceNumbers(1, this.most).filter((count) => /^10*$/.test(count)).map((count) => tick("", this.x(count), below, String(count))),
      ...niceNumbers(this.low, this.high).map((norm) => tick("cw-end", FRAME.left - 6, this.y(norm) + 4, number(norm))));
  }

  x(count) {
    return FRAME.left + (Math.log(Math.max(count, 0.5) / 0.5) / Math.log(this.most / 0.5)) * (FRAME.width - FRAME.left - FRAME.right);
  }

  y(norm) {
    return FRAME.top + (Math.log(this.high / norm) / Math.log(this.high / this.low)) * (FRAME.height - FRAME.top - FRAME.bottom);
  }

  update({ lr, start_norm: startNorm }, { counts, norms, head, h2, crossover }, name) {
    this.root.setAttribute("aria-label", `Norm against count. ${name}`);
    this.places = counts.map((count, item) => [this.x(count), this.y(norms[item])]);
    this.marks.forEach((mark, item) => {
      const [x, y] = this.places[item];
      const kind = head.has(item) ? "cw-item-head" : "cw-item";
      if (this.kinds[item] !== kind) mark.setAttribute("class", this.kinds[item] = kind);
      mark.setAttribute("d", head.has(item) ? diamond(x, y, 6) : `M${(x - 3.2).toFixed(1)} ${y.toFixed(1)}a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0 -6.4 0z`);
    });
    const line = Array.from({ length: 41 }, (_, k) => this.most ** (k / 40));
    this.law.setAttribute("d", line.map((n, k) => `${k ? "L" : "M"}${this.x(n).toFixed(1)} ${this.y(predictedNorm(startNorm, { lr, h2, n })).toFixed(1)}`).join(""));
    const inside = crossover >= 1 && crossover <= this.most;
    const x = inside ? this.x(crossover).toFixed(1) : 0;
    this.bend.setAttribute("d", inside ? `M${x} ${FRAME.top}V${FRAME.height - FRAME.bottom}` : "");
    this.bendText.setAttribute("x", Number(x) + 5);
    this.bendText.setAttribute("visibility", inside ? "visible" : "hidden");
  }

  mark(item) {
    const [x, y] = this.places[item];
    this.ring.setAttribute("cx", x.toFixed(1));
    this.ring.setAttribute("cy", y.toFixed(1));
  }
}
