// The interactive "what the batch really weighs": an editable label matrix and the weight that one expected batch puts on
// every pair. Runs in Jupyter (anywidget), on a static page (afm_host.js) and on paper (paper_dom.js) alike.
import { Interactive, beside, choice, framed, key, presets, showing, slider } from "../shared/widgets/controls.js";
import { h, hatch, number, svg, uniqueId } from "../shared/widgets/kit.js";
import { KINDS, bestScore, countLabels, mapCells, pairPopularity, positivePairs } from "./in_batch_math.js";
import { selection } from "../shared/widgets/motion_view.js";
import { randomGenerator, sampleWithoutReplacement } from "../shared/widgets/random.js";
import { KIND_NAMES, KIND_NOTES, analyse, asPython, pairName, sentences, tableOf } from "./in_batch_text.js";

const NAMES = ["labels", "batch_size", "kind", "omega", "pointwise", "fit", "seed"];
const SMALLEST = 2;
const LARGEST = 8;
const square = (side, label) => Array.from({ length: side }, (_, i) => Array.from({ length: side }, (__, j) => Number(label(i, j))));

const PRESETS = {
  fig2: { text: "Like P3’s Fig. 2", set: { batch_size: 3, labels: [[0, 0, 1, 0], [0, 1, 0, 1], [0, 0, 0, 1], [1, 0, 0, 1]] } },
  permutation: { text: "One positive each", set: { batch_size: 3, labels: square(5, (i, j) => [2, 0, 4, 1, 3][i] === j) } },
  hub: { text: "A hit and a fan", set: { batch_size: 4, labels: square(6, (i, j) => i === 0 || j === 0 || i === j) } },
  random: { text: "Random", make: (random) => ({ batch_size: 4, labels: randomLabels(random) }) },
};

/** Six by six, about a third ones, no empty row or column. */
function randomLabels(random) {
  const side = [0, 1, 2, 3, 4, 5];
  const cover = sampleWithoutReplacement(side, 6, random);
  return side.map((i) => side.map((j) => Number(cover[i] === j || random() < 0.22)));
}

export default showing((model) => new View(model, NAMES));

class View extends Interactive {
  get story() {
    return sentences(this.state(), this.result).join(" ");
  }

  // ---- building, once -------------------------------------------------------------------------------------------

  build() {
    const { parts } = this;
    const { labels, seed } = this.state();
    this.active = mostPopularPositive(labels);
    this.presetRandom = randomGenerator(seed + 1);
    parts.message = h("p", { class: "cw-message", role: "status" });
    parts.inspector = h("p", { class: "cw-inspector" });
    const head = {
      look: "cw-in-batch cw-words-under cw-main-long",
      title: "What the batch really weighs",
      lead: "A 1 is a positive, a pair that belongs together. Switch labels on and off: what does a batch weigh?",
    };
    const options = KINDS.map((name) => [name, KIND_NAMES[name]]);
    parts.presets = presets(PRESETS, (name) => this.usePreset(name));
    this.control(selection, "kind", { text: "Batch loss", options, notes: KIND_NOTES });
    parts.batchSize = slider({ name: "batch_size", text: "Batch size |Ô|", min: 2, max: 2, step: 1, onset: (batch_size) => this.set({ batch_size }) });
    this.control(slider, "omega", { text: "Balance ω", min: 0.01, max: 1, step: 0.01, words: number });
    return framed(head, beside({
      start: parts.presets.box,
      main: [parts.kind.box, parts.batchSize.box, parts.omega.box, this.buildLabels(), parts.inspector],
      view: this.buildWeights(),
      words: [parts.message, parts.summary],
    }), h("div", { class: "cw-folds" }, this.buildObjective(), parts.folds.box));
  }

  buildLabels() {
    const parts = this.parts;
    const steps = (what) => {
      const count = h("span", { class: "cw-count" });
      const plus = h("button", { type: "button", class: "cw-step", "data-action": `add-${what}`, "aria-label": `Add a ${what}`, onclick: () => this.resize(what, true) }, "+");
      const minus = h("button", { type: "button", class: "cw-step", "data-action": `drop-${what}`, "aria-label": `Remove the last ${what}`, onclick: () => this.resize(what, false) }, "−");
      return { count, plus, minus, box: h("div", { class: "cw-steps" }, minus, count, plus) };
    };
    parts.rows = steps("row");
    parts.columns = steps("column");
    parts.grid = h("div", { class: "cw-grid", role: "grid", "aria-label": "Label matrix: one switch per pair", onkeydown: (event) => this.onGridKey(event) });
    return h("div", { class: "cw-card" },
      h("p", { class: "cw-card-title" }, "Labels Y ", h("span", { class: "cw-soft" }, "tap to edit")),
      parts.grid,
      h("div", { class: "cw-shape" }, parts.rows.box, parts.columns.box));
  }

  buildWeights() {
    const parts = this.parts;
    parts.weights = h("div", { class: "cw-weights" });
    return h("div", { class: "cw-card" },
      h("p", { class: "cw-card-title" }, "Weight on each pair ", h("span", { class: "cw-soft" }, "in units of 1/mn")), parts.weights, legend());
  }

  buildObjective() {
    const parts = this.parts;
    this.control(choice, "pointwise", { label: "Loss", options: [["logistic", "logistic"], ["square", "square"]] });
    this.control(slider, "fit", { text: "Scores:", min: 0, max: 1, step: 0.05, words: (fit) => (fit === 0 ? "all 0, the model knows nothing" : fit === 1 ? "the labels are fitted" : `${Math.round(100 * fit)} % of the way to the labels`) });
    parts.bars = h("div", { class: "cw-bars" });
    return h("details", { class: "cw-objective" }, h("summary", {}, "The objective"),
      h("div", { class: "cw-card" }, h("div", { class: "cw-row" }, parts.pointwise.box, parts.fit.box), parts.bars));
  }

  // ---- what the reader does ----------------------------------------------------------------------------------------

  usePreset(name) {
    const { set, make } = PRESETS[name];
    const chosen = set ?? make(this.presetRandom);
    this.active = mostPopularPositive(chosen.labels);
    this.set(chosen);
  }

  changeLabels(labels) {
    const { total } = countLabels(labels);
    const [{ batch_size: before }, largest] = [this.state(), this.state().batch_size === this.result.total];
    const batch_size = Math.max(2, largest ? total : Math.min(before, total)); // the largest batch stays the largest
    this.set({ labels, batch_size });
  }

  toggle(i, j) {
    this.active = [i, j];
    this.changeLabels(mapCells(this.state().labels, (label, row, column) => (row === i && column === j ? 1 - label : label)));
  }

  /** One row or column more, with a positive in it, or the last one less. */
  resize(what, more) {
    const turn = what === "column" ? transposed : (matrix) => matrix;
    const rows = turn(this.state().labels);
    if (rows.length === (more ? LARGEST : SMALLEST)) return;
    const longer = () => [...rows, rows[0].map((_, k) => Number(k === rows.length % rows[0].length))];
    this.changeLabels(turn(more ? longer() : rows.slice(0, -1)));
  }

  onGridKey(event) {
    const labels = this.state().labels;
    const last = [labels.length - 1, labels[0].length - 1];
    const [i, j] = this.active;
    const target = {
      ArrowUp: [i - 1, j],
      ArrowDown: [i + 1, j],
      ArrowLeft: [i, j - 1],
      ArrowRight: [i, j + 1],
      Home: [event.ctrlKey ? 0 : i, 0],
      End: [event.ctrlKey ? last[0] : i, last[1]],
    }[event.key];
    if (!target) return;
    event.preventDefault();
    this.activate(Math.min(Math.max(target[0], 0), last[0]), Math.min(Math.max(target[1], 0), last[1]));
    this.cell(...this.active).focus();
  }

  activate(i, j) {
    this.follower.settle();
    this.cell(...this.active)?.setAttribute("tabindex", "-1");
    this.active = [i, j];
    this.cell(i, j).setAttribute("tabindex", "0");
    this.inspect(i, j);
    if (this.result.problem) return;
    this.showWeights(this.state());
  }

  cell(i, j) {
    return this.cells[i]?.[j];
  }

  // ---- showing -----------------------------------------------------------------------------------------------------

  refresh() {
    const state = this.state();
    this.result = analyse(state);
    this.active = [Math.min(this.active[0], state.labels.length - 1), Math.min(this.active[1], state.labels[0].length - 1)];
    this.showControls(state);
    this.showGrid(state);
    this.showWeights(state);
    this.showObjective();
    this.inspect(...this.active);
    this.fold({ numbers: () => tableOf(state, this.result), python: asPython(state, this.result) });
  }

  showControls({ kind, labels }) {
    const { parts, result } = this;
    const total = Math.max(result.total, 2);
    parts.batchSize.input.max = total;
    parts.batchSize.input.disabled = result.total < 3;
    parts.batchSize.show(result.problem ? 2 : result.batchSize, result.problem ? "" : `${result.batchSize} of ${result.total}, ρ = ${number(result.rho)}`);
    parts.omega.box.hidden = kind !== "unbiased_omega";
    parts.message.textContent = [result.problem, ...result.warnings].filter(Boolean).join(" ");
    parts.message.hidden = !parts.message.textContent;
    for (const [step, count, word] of [[parts.rows, labels.length, "rows"], [parts.columns, labels[0].length, "columns"]]) {
      step.count.textContent = `${count} ${word}`;
      step.plus.disabled = count >= LARGEST;
      step.minus.disabled = count <= SMALLEST;
    }
  }

  showGrid({ labels }) {
    const { grid } = this.parts;
    const shape = `${labels.length}x${labels[0].length}`;
    if (grid.dataset.shape !== shape) {
      grid.replaceChildren(...this.gridRows(labels));
      grid.dataset.shape = shape;
      grid.setAttribute("style", `--cw-columns:${labels[0].length}`);
    }
    const { rows, columns } = countLabels(labels);
    mapCells(labels, (label, i, j) => {
      const button = this.cell(i, j);
      const mistaken = this.isMistaken(i, j);
      button.setAttribute("aria-pressed", String(label === 1));
      button.setAttribute("aria-label", `row ${i + 1}, column ${j + 1}${mistaken ? ", mistaken positive" : ""}`);
      button.setAttribute("tabindex", i === this.active[0] && j === this.active[1] ? "0" : "-1");
      button.textContent = String(label);
      button.setAttribute("class", `cw-cell${mistaken ? " cw-mistaken" : ""}`);
    });
    this.rowTotals.forEach((cell, i) => (cell.textContent = rows[i]));
    this.columnTotals.forEach((cell, j) => (cell.textContent = columns[j]));
  }

  gridRows(labels) {
    const heads = labels[0].map((_, j) => h("div", { role: "columnheader", class: "cw-axis" }, `C${j + 1}`));
    const head = h("div", { role: "row" }, h("div", { role: "gridcell", class: "cw-axis" }), heads, h("div", { role: "columnheader", class: "cw-axis cw-total", "aria-label": "positives in the row" }, "Σ"));
    this.cells = mapCells(labels, (_, i, j) => h("button", {
      type: "button", "data-cell": `${i},${j}`, onclick: () => this.toggle(i, j), onfocus: () => this.activate(i, j), onpointerenter: () => this.inspect(i, j),
    }));
    this.rowTotals = labels.map(() => h("div", { role: "gridcell", class: "cw-axis cw-total" }));
    this.columnTotals = labels[0].map(() => h("div", { role: "gridcell", class: "cw-axis cw-total" }));
    const body = this.cells.map((row, i) => h("div", { role: "row" },
      h("div", { role: "rowheader", class: "cw-axis" }, `R${i + 1}`), row.map((cell) => h("div", { role: "gridcell" }, cell)), this.rowTotals[i]));
    const foot = h("div", { role: "row" },
      h("div", { role: "rowheader", class: "cw-axis", "aria-label": "positives in the column" }, "Σ"), this.columnTotals, h("div", { role: "gridcell", class: "cw-axis" }));
    return [head, ...body, foot];
  }

  isMistaken(i, j) {
    return !this.result.problem && isIn(this.result.mistaken, i, j);
  }

  showWeights({ labels }) {
    const { parts, result } = this;
    if (result.problem) {
      parts.weights.replaceChildren(h("p", { class: "cw-empty" }, "No batch can be drawn yet."));
      return;
    }
    this.heatMapFor(labels).update({ labels, ...result.weights, asked: result.full.negative, crossed: (i, j) => this.isMistaken(i, j), selected: this.active, name: `Expected weights. ${this.story}` });
  }

  /** The heat map of the right shape, kept while the shape stays, so that its marks can move. */
  heatMapFor(labels) {
    const shape = `${labels.length}x${labels[0].length}`;
    if (this.heatMapShape !== shape) {
      this.heatMap = new HeatMap(labels.length, labels[0].length, (i, j) => this.inspect(i, j));
      this.heatMapShape = shape;
    }
    if (this.heatMap.root.parentNode !== this.parts.weights) this.parts.weights.replaceChildren(this.heatMap.root);
    return this.heatMap;
  }

  inspect(i, j) {
    const { parts, result } = this;
    const { labels, pointwise } = this.state();
    if (result.problem || i >= labels.length || j >= labels[0].length) {
      parts.inspector.textContent = "";
      return;
    }
    const { rows, columns } = countLabels(labels);
    const label = labels[i][j];
    const words = this.weightsOf(label, pointwise, i, j);
    parts.inspector.replaceChildren(h("strong", {}, pairName([i, j])), ` ${label ? "positive" : "negative"}, popularity ${rows[i]} × ${columns[j]} = ${rows[i] * columns[j]}: `, ...words);
  }

  weightsOf(label, pointwise, i, j) {
    const { weights } = this.result;
    const [pull, push] = [weights.positive[i][j], weights.negative[i][j]];
    const best = pull + push > 0 ? ` Best score alone: ${number(bestScore(pointwise, pull, push))}.` : " No batch ever meets it.";
    const pulled = label ? `pulled together ${number(pull)}, pushed apart ${number(push)} (asked: 1 and 0).` : `pushed apart ${number(push)} (asked: 1).`;
    return [pulled, best, this.isMistaken(i, j) ? h("strong", {}, " Mistaken.") : ""];
  }

  showObjective() {
    const { parts, result } = this;
    if (result.problem) {
      parts.bars.replaceChildren();
      return;
    }
    const most = Math.max(result.expected.total, result.wanted.total, 1e-12);
    parts.bars.replaceChildren(
      bar("Expected over batches", result.expected, most),
      bar("Full objective, all pairs", result.wanted, most));
  }
}

// ---- pictures ----------------------------------------------------------------------------------------------------------

const CELL = { width: 58, height: 64, glyph: 34, left: 26, top: 20 };

/** The positive pair that weighs most, where a reader should look first. */
function mostPopularPositive(labels) {
  const popularity = pairPopularity(labels);
  return positivePairs(labels).reduce((best, pair) => (popularity[pair[0]][pair[1]] > popularity[best[0]][best[1]] ? pair : best), [0, 0]);
}

const transposed = (matrix) => matrix[0].map((_, j) => matrix.map((row) => row[j]));

const isIn = (pairs, i, j) => pairs.some(([row, column]) => row === i && column === j);

/** A square whose area is the size of a weight: hatched on a positive; below zero hollow, with a minus. */
class Square {
  constructor() {
    this.root = svg("g", { class: "cw-square" },
      svg("rect", { x: -0.5, y: -0.5, width: 1, height: 1 }),
      (this.lines = svg("path", { class: "cw-hatch" })),
      svg("path", { class: "cw-minus", d: "M-0.3 0H0.3" }));
  }

  place(x, y, weight, unit, onPositive) {
    const side = unit * Math.sqrt(Math.abs(weight));
    this.lines.setAttribute("d", hatch(-0.5, -0.5, 1, Math.min(0.5, 4.5 / Math.max(side, 1e-9))));
    this.root.setAttribute("class", `cw-square${onPositive && weight > 0 ? " cw-hatched" : ""}${weight < 0 ? " cw-below-zero" : ""}`);
    place(this.root, x, y, side);
    return this.root;
  }
}

/** A number for each pair, as a square, and what is asked of it, as a dashed frame; a ring for the pull on a positive, where there is one. */
class HeatMap {
  constructor(m, n, onEnter) {
    const { width, height, left, top } = CELL;
    this.cells = Array.from({ length: m }, (_, i) => Array.from({ length: n }, (__, j) => this.cell(i, j, onEnter)));
    const wide = left + n * width + 2;
    this.root = svg("svg", { viewBox: `0 0 ${wide} ${top + m * height + 2}`, role: "img", style: `--cw-wide:${Math.min(wide, 290)}` },
      Array.from({ length: n }, (_, j) => svg("text", { class: "cw-axis-text", x: left + (j + 0.5) * width, y: 13 }, `C${j + 1}`)),
      Array.from({ length: m }, (_, i) => svg("text", { class: "cw-axis-text", x: 11, y: top + (i + 0.5) * height + 4 }, `R${i + 1}`)),
      this.cells.flat().map(({ group }) => group));
  }

  cell(i, j, onEnter) {
    const [left, top] = [CELL.left + j * CELL.width, CELL.top + i * CELL.height];
    const text = (kind, x, y) => svg("text", { class: kind, x: left + x, y: top + y });
    const cell = {
      x: left + CELL.width / 2,
      y: top + 28,
      box: svg("rect", { x: left + 1.5, y: top + 1.5, width: CELL.width - 3, height: CELL.height - 3, rx: 6 }),
      square: new Square(),
      ring: svg("circle", { class: "cw-ring", r: 1 / Math.sqrt(Math.PI) }),
      asked: svg("rect", { class: "cw-asked", x: -0.5, y: -0.5, width: 1, height: 1 }),
      cross: text("cw-cross", CELL.width - 8, 14),
      pull: text("cw-pull-text", 5, 13),
      push: text("cw-number", CELL.width / 2, CELL.height - 7),
    };
    const { box, square, ring, asked, cross, pull, push } = cell;
    return { ...cell, group: svg("g", { class: "cw-weight", onpointerenter: () => onEnter(i, j) }, box, square.root, ring, asked, cross, pull, push) };
  }

  update({ labels, positive, negative, asked, crossed, selected, name }) {
    const sizes = [...negative.flat(), ...positive.flat()].map(Math.abs);
    const unit = CELL.glyph / Math.sqrt(Math.max(1, ...sizes));
    this.root.setAttribute("aria-label", name);
    mapCells(labels, (label, i, j) => {
      const cell = this.cells[i][j];
      const wrong = crossed(i, j);
      const [pull, push] = [positive[i][j], negative[i][j]];
      cell.box.setAttribute("class", `cw-box${label ? " cw-box-positive" : ""}${wrong ? " cw-box-wrong" : ""}`);
      cell.group.setAttribute("class", `cw-weight${selected[0] === i && selected[1] === j ? " cw-selected" : ""}`);
      cell.square.place(cell.x, cell.y, push, unit, label === 1);
      place(cell.ring, cell.x, cell.y, unit * Math.sqrt(Math.max(pull, 0)));
      place(cell.asked, cell.x, cell.y, unit * Math.sqrt(asked[i][j]));
      cell.cross.textContent = wrong ? "✕" : "";
      cell.pull.textContent = label ? number(pull) : "";
      cell.push.textContent = number(push);
    });
  }
}

/** A unit mark moved to (x, y) and grown to a size; the style sheet lets it glide. */
function place(mark, x, y, size) {
  mark.style.transform = `translate(${x.toFixed(2)}px, ${y.toFixed(2)}px) scale(${size.toFixed(3)})`;
  mark.style.visibility = size > 0.01 ? "" : "hidden";
}

const unitFrame = { x: -0.5, y: -0.5, width: 1, height: 1 };
const still = (mark, size) => { place(mark, 10, 10, size); return mark; };
const crossKey = (text) => key(text, svg("rect", { class: "cw-box cw-box-wrong", x: 2, y: 2, width: 16, height: 16, rx: 3 }), svg("text", { class: "cw-cross", x: 10, y: 14 }, "✕"));
const frameKey = (text) => key(text, still(svg("rect", { class: "cw-asked", ...unitFrame }), 14));

const legend = () => h("ul", { class: "cw-legend" },
  key("pull, weight of ℓ⁺", still(svg("circle", { class: "cw-ring", r: 0.5 }), 14)),
  key("push, weight of ℓ⁻", new Square().place(10, 10, 1, 14, false)),
  key("push on a positive", new Square().place(10, 10, 1, 14, true)),
  frameKey("push asked for"), crossKey("mistaken positive"));

/** One stacked bar with its parts written out. */
function bar(name, parts, most) {
  const piece = (value, kind, text) => (value > 0 ? [h("span", { class: `cw-piece ${kind}`, style: `width:${(100 * value) / most}%` })] : []);
  const words = [["pull", parts.pull], ["push on positives", parts.pushOnPositives], ["push on negatives", parts.pushOnNegatives]]
    .map(([word, value]) => `${word} ${number(value)}`).join(" + ");
  return h("div", { class: "cw-bar" },
    h("p", { class: "cw-bar-name" }, name, " ", h("strong", {}, number(parts.total)), " ", h("span", { class: "cw-soft" }, `= ${words}`)),
    h("div", { class: "cw-track", "aria-hidden": "true" },
      piece(parts.pull, "cw-piece-pull"), piece(parts.pushOnPositives, "cw-piece-wrong"), piece(parts.pushOnNegatives, "cw-piece-push")));
}
