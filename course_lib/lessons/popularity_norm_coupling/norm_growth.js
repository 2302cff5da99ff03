// The interactive "why popular items grow long": a small training run, the norms of its items against their counts, and
// what the length does to the lists. Runs in Jupyter (anywidget) and on a static page (afm_host.js) alike.
import { h, number, wholePercent, svg } from "../shared/widgets/kit.js";
import { Film, Interactive, button, diamond, framed, key, ladder, presets, showing, slider, table } from "../shared/widgets/controls.js";
import { TABLE_HEADS, WORLD, analyse, asPython, groups, predictedNorm, sentences, train } from "./norm_growth_math.js";

const NAMES = ["lr", "start_norm", "tau", "exponent", "step", "seed"];
const RATES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100];
const NORMS = [0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10];
const TEMPERATURES = [0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1];

const usual = { start_norm: 1, tau: 0.1, exponent: 1, step: WORLD.steps };
const PRESETS = {
  high: { text: "High learning rate", set: { ...usual, lr: 1 } },
  low: { text: "Low learning rate", set: { ...usual, lr: 0.01 } },
  longer: { text: "Norm × 2, rate × 4", set: { ...usual, lr: 4, start_norm: 2 } },
  equal: { text: "All items alike", set: { ...usual, lr: 1, exponent: 0 } },
  wild: { text: "Far too high", set: { ...usual, lr: 100 } },
};

export default showing((model) => new View(model, NAMES));

class View extends Interactive {
  // ---- building, once -------------------------------------------------------------------------------------------

  build() {
    const { parts } = this;
    this.rank = 0; // place of the item looked at, by popularity
    const head = {
      look: "cw-flow",
      title: "Why popular items grow long",
      lead: "A small two-tower model learns from cosines, by plain SGD, while you watch. Cosines cannot see a norm, and still the norms come to know how popular an item is.",
    };
    return framed(head,
      this.buildControls(), this.buildTime(),
      h("div", { class: "cw-stage cw-stage-chart" }, this.buildChart(), this.buildLists()),
      parts.folds.box);
  }

  buildControls() {
    const { parts } = this;
    const onset = (name) => (value) => this.follower.set({ [name]: value });
    parts.lr = ladder({ name: "lr", text: "Learning rate", values: RATES, onset: onset("lr") });
    parts.startNorm = ladder({ name: "start_norm", text: "Initial norm", values: NORMS, onset: onset("start_norm") });
    parts.tau = ladder({ name: "tau", text: "Temperature τ", values: TEMPERATURES, onset: onset("tau") });
    parts.exponent = slider({ name: "exponent", text: "Popularity exponent", min: 0, max: 1.5, step: 0.1, onset: onset("exponent") });
    return h("div", { class: "cw-controls" },
      (parts.presets = presets(PRESETS, (name) => { this.film.stop(); this.follower.set(PRESETS[name].set); })).box,
      h("div", {}, parts.lr.box, parts.startNorm.box),
      h("div", {}, parts.tau.box, parts.exponent.box));
  }

  buildTime() {
    const { every, steps } = WORLD;
    this.film = new Film(this.follower, { name: "step", text: "Training step", first: 0, last: steps, every, milliseconds: 120, onstop: () => this.announce() });
    const again = button("again", "Other random numbers", () => this.follower.set({ seed: (this.follower.state().seed + 1) % 1000 }));
    return h("div", { class: "cw-row" }, this.film.box, h("div", { class: "cw-row cw-buttons" }, this.film.button, again));
  }

  buildChart() {
    const { parts } = this;
    parts.chart = h("div", {});
    parts.inspector = h("p", { class: "cw-inspector" });
    parts.item = slider({ name: "item", text: "Look at an item:", min: 1, max: WORLD.items, step: 1, onset: (rank) => { this.rank = rank - 1; this.inspect(); } });
    return h("div", { class: "cw-card" },
      h("p", { class: "cw-card-title" }, "Norm against count ", h("span", { class: "cw-soft" }, "one mark per item")),
      parts.chart,
      h("ul", { class: "cw-legend" },
        key("item", svg("circle", { class: "cw-item", cx: 10, cy: 10, r: 4 })),
        key("most popular tenth", svg("path", { class: "cw-item-head", d: diamond(10, 10, 6.5) })),
        key("predicted: quartic law", svg("path", { class: "cw-law", d: "M1 10H19" })),
        key("n*", svg("path", { class: "cw-bend", d: "M10 1V19" }))),
      parts.item.box, parts.inspector);
  }

  buildLists() {
    const { parts } = this;
    parts.bars = h("div", { class: "cw-bars" });
    parts.taste = h("div", { class: "cw-bars" });
    return h("div", { class: "cw-card" },
      h("p", { class: "cw-card-title" }, "The most popular tenth of the items"),
      parts.bars,
      h("p", { class: "cw-note" }, `Every one of the ${WORLD.users} users gets a list of ${WORLD.list} items. Lists drawn blindly would hold ${wholePercent(WORLD.top)} of them (thin mark).`),
      h("p", { class: "cw-card-title" }, "Items of the user's own taste"),
      parts.taste,
      h("p", { class: "cw-note" }, `There are ${WORLD.tastes} tastes; blind lists would hold ${wholePercent(1 / WORLD.tastes)} (thin mark).`),
      parts.summary);
  }

  // ---- showing -----------------------------------------------------------------------------------------------------

  /** The run of these settings, trained once. */
  frames({ step, ...settings }) {
    const name = JSON.stringify(settings);
    if (this.trained !== name) {
      this.run = train(settings);
      this.trained = name;
      this.chart = null;
    }
    return this.run;
  }

  refresh() {
    const state = this.follower.state();
    const frames = this.frames(state);
    this.found = analyse(state, frames[Math.round(state.step / WORLD.every)]);
    this.story = sentences(state, this.found).join(" ");
    this.showControls(state);
    this.showChart(state, frames);
    this.showLists();
    this.showTable();
    this.parts.folds.code.textContent = asPython(state);
    this.inspect();
    if (!this.film.playing) this.announce(); // a voice could not follow the film
  }

  showControls({ lr, start_norm: startNorm, tau, exponent, step }) {
    const { parts } = this;
    parts.lr.show(lr, number(lr));
    parts.startNorm.show(startNorm, number(startNorm));
    parts.tau.show(tau, number(tau));
    parts.exponent.show(exponent, exponent === 0 ? "0, all items alike" : number(exponent));
    this.film.show(step, `${step} of ${WORLD.steps}`);
  }

  showChart(state, frames) {
    if (!this.chart) {
      this.chart = new Chart(state, analyse(state, frames[frames.length - 1]), (item) => this.lookAt(item));
      this.parts.chart.replaceChildren(this.chart.root);
    }
    this.chart.update(state, this.found, this.story);
  }

  lookAt(item) {
    this.rank = this.found.order.indexOf(item);
    this.inspect();
  }

  inspect() {
    const { parts, found } = this;
    const item = found.order[this.rank];
    const times = (lists) => lists.filter((list) => list.includes(item)).length;
    parts.item.show(this.rank + 1, `number ${this.rank + 1} by popularity`);
    parts.inspector.textContent = `Drawn ${found.counts[item]} times. Norm ${number(found.norms[item])}; predicted from its count ${number(found.predicted[item])}; ` +
      `by the exact law ${number(found.law[item])}. In ${times(found.lists.cosine)} of ${WORLD.users} lists by cosine and in ${times(found.lists.dot)} by dot product.`;
    this.chart.mark(item);
  }

  showLists() {
    const { parts, found } = this;
    parts.bars.replaceChildren(
      bar("of what was drawn", found.headOfDraws, "cw-piece-wrong", WORLD.top),
      bar("of the lists by cosine", found.share.cosine, "cw-piece-pull", WORLD.top),
      bar("of the lists by dot product", found.share.dot, "cw-piece-push", WORLD.top));
    parts.taste.replaceChildren(
      bar("of the lists by cosine", found.taste.cosine, "cw-piece-pull", 1 / WORLD.tastes),
      bar("of the lists by dot product", found.taste.dot, "cw-piece-push", 1 / WORLD.tastes));
  }

  showTable() {
    const { data, table: holder } = this.parts.folds;
    if (data.open) holder.replaceChildren(table(TABLE_HEADS, groups(this.found), "The items in ten groups of falling popularity, after the step shown."));
  }
}

// ---- pictures ----------------------------------------------------------------------------------------------------------

const FRAME = { width: 370, height: 310, left: 34, right: 12, top: 14, bottom: 42 };

/** 1, 2, 5 times a power of ten between two positive numbers. */
function niceNumbers(low, high) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) {
    for (const digit of [1, 2, 5]) found.push(power >= 0 ? digit * 10 ** power : digit / 10 ** -power);
  }
  return found.filter((value) => value >= low && value <= high);
}

/** Norm against count, both logarithmic; the axes fit the end of the run, so that a run can be played. */
class Chart {
  constructor({ start_norm: startNorm }, end, onenter) {
    const sizes = [startNorm, ...end.norms, ...end.predicted];
    const [low, high] = [Math.min(...sizes) / 1.15, Math.max(...sizes) * 1.15];
    const widen = Math.max(1, Math.sqrt(4 / (high / low))); // at least a factor of 4, so that flat looks flat
    Object.assign(this, { low: low / widen, high: high * widen, most: Math.max(10, Math.max(...end.counts) * 1.2) });
    this.law = svg("path", { class: "cw-law" });
    this.bend = svg("path", { class: "cw-bend" });
    this.bendText = svg("text", { class: "cw-axis-text cw-start" }, "n*");
    this.ring = svg("circle", { class: "cw-ring", r: 9 });
    this.marks = end.counts.map((_, item) => svg("path", { onpointerenter: () => onenter(item), onclick: () => onenter(item) }));
    const { width, height, left, right, top, bottom } = FRAME;
    this.root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", style: `--cw-wide:${width}` },
      svg("path", { class: "cw-frame", d: `M${left} ${top}V${height - bottom}H${width - right}` }),
      svg("text", { class: "cw-axis-text", x: this.x(0), y: height - bottom + 16 }, "0"),
      niceNumbers(1, this.most).filter((count) => /^10*$/.test(count)).map((count) => svg("text", { class: "cw-axis-text", x: this.x(count), y: height - bottom + 16 }, String(count))),
      niceNumbers(this.low, this.high).map((norm) => svg("text", { class: "cw-axis-text cw-end", x: left - 6, y: this.y(norm) + 4 }, number(norm))),
      svg("text", { class: "cw-axis-text", x: (left + width) / 2, y: height - 6 }, "times drawn"),
      svg("text", { class: "cw-axis-text cw-start", x: left + 6, y: top + 8 }, "norm"),
      this.bend, this.bendText, this.marks, this.law, this.ring);
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
      mark.setAttribute("class", head.has(item) ? "cw-item-head" : "cw-item");
      mark.setAttribute("d", head.has(item) ? diamond(x, y, 6) : `M${(x - 3.2).toFixed(1)} ${y.toFixed(1)}a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0 -6.4 0z`);
    });
    const line = Array.from({ length: 41 }, (_, k) => this.most ** (k / 40));
    this.law.setAttribute("d", line.map((n, k) => `${k ? "L" : "M"}${this.x(n).toFixed(1)} ${this.y(predictedNorm(startNorm, { lr, h2, n })).toFixed(1)}`).join(""));
    const inside = crossover >= 1 && crossover <= this.most;
    const x = inside ? this.x(crossover).toFixed(1) : 0;
    this.bend.setAttribute("d", inside ? `M${x} ${FRAME.top}V${FRAME.height - FRAME.bottom}` : "");
    this.bendText.setAttribute("x", Number(x) + 5);
    this.bendText.setAttribute("y", FRAME.height - FRAME.bottom - 8);
    this.bendText.setAttribute("visibility", inside ? "visible" : "hidden");
  }

  mark(item) {
    const [x, y] = this.places[item];
    this.ring.setAttribute("cx", x.toFixed(1));
    this.ring.setAttribute("cy", y.toFixed(1));
  }
}

/** One bar of a share, with a thin mark where blind chance would end. */
function bar(name, part, kind, blind) {
  const known = !Number.isNaN(part);
  return h("div", { class: "cw-bar" },
    h("p", { class: "cw-bar-name" }, h("strong", {}, known ? wholePercent(part) : "nothing yet"), " ", name),
    h("div", { class: "cw-track cw-track-marked", "aria-hidden": "true" },
      known && part > 0 ? h("span", { class: `cw-piece ${kind}`, style: `width:${100 * part}%` }) : null,
      h("span", { class: "cw-blind", style: `left:${100 * blind}%` })));
}
