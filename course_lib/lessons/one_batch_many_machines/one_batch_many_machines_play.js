// The interactive "one batch on many machines": which scores P processes compute, what becomes of the gradient, what a step costs.
import { h, hatch, svg, thousands } from "../shared/widgets/kit.js";
import { Interactive, beside, choice, framed, key, ladder, presets, showing, slider } from "../shared/widgets/controls.js";
import { analyseMachines } from "./machines_math.js";
import { inBytes, inSeconds, withUnit } from "./units.js";

const NAMES = ["processes", "batch", "gather", "rows", "reduction", "times_world", "d", "bandwidth", "rate", "tower"];
const BATCHES = [1, 2, 4, 8, 16, 64, 256, 1024, 4096, 16384];
const WIDTHS = [8, 16, 32, 64, 128, 256, 512, 1024];
const SPEEDS = [0.01, 0.1, 1, 10, 25, 100, 400];
const RATES = [0.01, 0.1, 1, 10, 100, 1000];
const TOWERS = [0.01, 1, 100, 10000];

const recipe = (gather, rows, times) => ({ processes: 4, batch: 1024, gather, rows, reduction: "mean", times_world: times });
const PRESETS = {
  local: { text: "Each for itself", set: recipe("none", "own", false) },
  constants: { text: "Constants", set: recipe("constant", "own", false) },
  timesConstants: { text: "Constants × P", set: recipe("constant", "own", true) },
  wholeConstants: { text: "All rows × P", set: recipe("constant", "all", true) },
  carried: { text: "With gradients", set: recipe("gradients", "own", false) },
  timesCarried: { text: "With gradients × P", set: recipe("gradients", "own", true) },
};
const PARTS = ["to the queries", "to items, from own rows", "to items, from others’ rows", "to the temperature"];

export default showing((model) => new View(model, NAMES));

class View extends Interactive {
  // ---- building, once -------------------------------------------------------------------------------------------

  build() {
    const { parts } = this;
    const onset = (name) => (value) => this.set({ [name]: value });
    parts.presets = presets(PRESETS, (name) => this.set(PRESETS[name].set));
    parts.processes = slider({ name: "processes", text: "Processes P", min: 1, max: 8, step: 1, onset: onset("processes") });
    parts.batch = ladder({ name: "batch", text: "Pairs of each, B", values: BATCHES, onset: onset("batch") });
    parts.gather = choice({ name: "gather", label: "Gather the others’ rows", options: [["none", "no"], ["constant", "as constants"], ["gradients", "with gradients"]], onset: onset("gather") });
    parts.rows = choice({ name: "rows", label: "Rows in a loss", options: [["own", "its own"], ["all", "all"]], onset: onset("rows") });
    parts.reduction = choice({ name: "reduction", label: "Taken as", options: [["mean", "mean"], ["sum", "sum"]], onset: onset("reduction") });
    parts.times = choice({ name: "times_world", label: "Loss times P", options: [["no", "no"], ["yes", "yes"]], onset: (value) => this.set({ times_world: value === "yes" }) });
    parts.d = ladder({ name: "d", text: "Width d", values: WIDTHS, onset: onset("d") });
    parts.bandwidth = ladder({ name: "bandwidth", text: "Network", values: SPEEDS, onset: onset("bandwidth") });
    parts.rate = ladder({ name: "rate", text: "Computing", values: RATES, onset: onset("rate") });
    parts.tower = ladder({ name: "tower", text: "Towers, one pair", values: TOWERS, onset: onset("tower") });
    for (const name of ["matrix", "factors", "cost"]) parts[name] = h("div", {});
    parts.verdict = h("p", { class: "cw-small-title" });
    const head = {
      look: "cw-flow cw-words-across",
      title: "One batch on many machines",
      lead: "The processes’ gradients are averaged. Which choices give exactly the gradient of one process with all the pairs?",
    };
    return framed(head, beside({
      start: parts.presets.box,
      main: [parts.processes.box, parts.batch.box, parts.gather.box, parts.rows.box, parts.reduction.box, parts.times.box],
      view: h("div", { class: "cw-pair" }, this.buildMatrix(), this.buildFactors()),
      words: parts.summary,
      more: [h("div", { class: "cw-pair cw-stays" }, parts.d.box, parts.bandwidth.box), h("div", { class: "cw-pair cw-stays" }, parts.rate.box, parts.tower.box)],
    }), parts.folds.box);
  }

  buildMatrix() {
    const { parts } = this;
    parts.square = h("span", { class: "cw-soft" });
    return h("div", { class: "cw-card" }, h("p", { class: "cw-card-title" }, "All scores ", parts.square), parts.matrix,
      h("ul", { class: "cw-legend" },
        key("positive", svg("path", { class: "cw-item cw-plain", d: "M3 3H17V17H3z" })), key("item gets a gradient", svg("path", { class: "cw-petal", d: "M3 3H17V17H3z" })),
        key("item is a constant", svg("path", { class: "cw-half", d: "M3 3H17V17H3z" }), hatching(hatch(3, 3, 14, 7))), key("in no loss", svg("path", { class: "cw-half", d: "M3 3H17V17H3z" }))));
  }

  buildFactors() {
    const { parts } = this;
    return h("div", { class: "cw-card" }, h("p", { class: "cw-card-title" }, "Averaged gradient ", h("span", { class: "cw-soft" }, "(goal: 1)")), parts.factors, parts.verdict,
      h("p", { class: "cw-card-title cw-below" }, "A step ", h("span", { class: "cw-soft" }, "by our simple cost model")), parts.cost);
  }

  // ---- showing -----------------------------------------------------------------------------------------------------

  refresh() {
    const { parts } = this;
    const state = this.state();
    this.found = analyseMachines(state);
    this.story = [settings(state, this.found), verdict(state, this.found), aboutCost(state, this.found)].join(" ");
    this.showControls(state);
    parts.square.textContent = state.batch > 16 ? `(a square: ${thousands(state.batch / 8)} × ${thousands(state.batch / 8)})` : "(queries by items)";
    parts.matrix.replaceChildren(matrixPicture(state, this.found));
    parts.factors.replaceChildren(factorsPicture(state, this.found));
    parts.verdict.textContent = shortVerdict(state, this.found);
    parts.cost.replaceChildren(...costPicture(state, this.found));
    this.fold({ numbers: () => [["", "P processes", "one process, P B pairs"], rows(state, this.found), "Bytes and times are those of each process, by our simple cost model."], python: asPython(state) });
  }

  showControls({ processes, batch, gather, rows: which, reduction, times_world: times, d, bandwidth, rate, tower }) {
    const { parts } = this;
    parts.processes.show(processes, String(processes));
    parts.batch.show(batch, thousands(batch));
    parts.gather.show(gather);
    parts.rows.show(which);
    parts.reduction.show(reduction);
    parts.times.show(times ? "yes" : "no");
    parts.d.show(d, String(d));
    parts.bandwidth.show(bandwidth, `${inBytes(bandwidth * 1e9)}/s`);
    parts.rate.show(rate, `${inOperations(rate * 1e12)}/s`);
    parts.tower.show(tower, inOperations(tower * 1e6));
  }
}

// ---- words ---------------------------------------------------------------------------------------------------------------

const inOperations = (count) => withUnit(count, [[1e15, "Pflop"], [1e12, "Tflop"], [1e9, "Gflop"], [1e6, "Mflop"], [1e3, "kflop"]]);

const pairs = (count) => (count === 1 ? "1 pair" : `${thousands(count)} pairs`);
const negatives = (count) => (count === 1 ? "1 negative" : `${thousands(count)} negatives`);

/** 1/4, 1, 8: a factor of a gradient. */
const factorText = (factor) => (factor === null ? "another loss" : factor > 0 && factor < 1 ? `1/${Math.round(1 / factor)}` : String(factor));

function settings({ processes, batch }, { negatives: count }) {
  const who = processes === 1 ? `One process with ${pairs(batch)}` : `${processes} processes with ${pairs(batch)} each`;
  return `${who}: ${negatives(count)} for each pair.`;
}

function verdict({ processes, batch, gather }, { exact, common, factors, negatives: count, all }) {
  const one = `one process with ${pairs(processes * batch)}`;
  if (processes === 1) return "There is nothing to gather.";
  if (exact) return `The averaged gradient is exactly that of ${one}.`;
  if (gather === "none") return `This is another loss than that of ${one}: each row’s softmax has ${negatives(count)} instead of ${thousands(all)}.`;
  const direct = factors[3] === common ? "" : ` That of the temperature is ${factors[3] === 1 ? "exact" : `${factorText(factors[3])} times as large`}.`;
  if (common === 1) return `The gradients of all vectors are exactly those of ${one}.${direct}`;
  if (common !== null) return `The gradient of every vector is ${factorText(common)} times that of ${one}: its direction is right, its length is not.${direct}`;
  const rest = factors[0] === 1 ? "The rest is exact" : `The rest is ${factorText(factors[0])} times that of ${one}`;
  return `The push on items from the rows of other processes is missing, as nobody tells the process that owns an item. ${rest}. No learning rate repairs this.`;
}

/** One line under the factors. */
function shortVerdict({ processes, gather }, { exact, common }) {
  if (processes === 1) return "✓ One process: nothing to gather.";
  if (exact) return "✓ Exactly that of one process.";
  if (gather === "none") return "✕ Another loss: fewer negatives.";
  if (common === null) return "✕ A part is missing.";
  return common === 1 ? "✕ Exact, but for the temperature." : "✕ Right direction, wrong length.";
}

function aboutCost({ processes }, { sent, gramians, seconds, one }) {
  const total = inSeconds(sum(seconds));
  if (processes === 1) return `By our simple cost model, a step takes ${total}.`;
  const what = sent === 0 ? "Nothing is sent for the loss" : `Each process sends ${inBytes(sent)} for the loss`;
  return `${what}; the sums of two Gramians would be ${inBytes(gramians)}, whatever the batch. By our simple cost model, a step takes ${total}, and ${inSeconds(sum(one))} in one process.`;
}

const sum = (parts) => Object.values(parts).reduce((a, b) => a + b, 0);

const rows = ({ processes, batch, d }, { factors, negatives: count, all, sent, gramians, seconds, one }) => [
  ...PARTS.map((part, k) => [`gradient ${part}`, factorText(factors[k]), "1"]),
  ["negatives of a pair", thousands(count), thousands(all)],
  ["bytes sent for the loss", thousands(sent), "0"],
  ["bytes sent for two Gramians", thousands(gramians), "0"],
  ...["towers", "scores", "network"].map((part) => [`time: ${part}`, seconds[part] ? inSeconds(seconds[part]) : "0", one[part] ? inSeconds(one[part]) : "0"]),
  ["time of a step", inSeconds(sum(seconds)), inSeconds(sum(one))],
  ["pairs in a step, d", `${thousands(processes * batch)}, ${d}`, `${thousands(processes * batch)}, ${d}`],
];

/** Lines of Python that compute factors, bytes and seconds, and show the same state. */
function asPython({ processes, batch, gather, rows: which, reduction, times_world: times, d, bandwidth, rate, tower }) {
  return [
    "from course_lib.lessons.one_batch_many_machines.one_batch_many_machines_play import OneBatchManyMachines", "",
    "shown = OneBatchManyMachines(", `    processes=${processes}, batch=${batch}, gather="${gather}", rows="${which}", reduction="${reduction}", times_world=${times ? "True" : "False"},`,
    `    d=${d}, bandwidth=${bandwidth}, rate=${rate}, tower=${tower},`, ")",
    "factors = shown.factors()  # course_lib.processes.gradient_factors",
    "sent, seconds = shown.bytes_sent(), sum(shown.seconds().values())", "print(factors, sent, seconds)", "shown",
  ].join("\n");
}

// ---- pictures ----------------------------------------------------------------------------------------------------------

const SIDE = 250;
const EDGE = 20; // for the names of the processes

/** The mark of items that are constants. */
const hatching = (d) => svg("path", { class: "cw-wish", d, style: "stroke-dasharray:none;stroke-width:1" });

/** Squares along the side of a block: one for each pair, or eight where there are many. */
const squaresIn = (batch) => (batch > 16 ? 8 : batch);

function matrixPicture({ processes, batch, gather }, { whole }) {
  const block = SIDE / processes;
  const inside = squaresIn(batch);
  const cell = block / inside;
  const at = (k) => EDGE + k * block;
  const each = Array.from({ length: processes }, (_, k) => k);
  const blocks = { full: "", hatched: "" }; // paths: a gradient flows to the item, or it is a constant
  for (const p of each) for (const other of each) {
    const [x, y] = [at(other), at(p)];
    const place = `M${x} ${y}h${block}v${block}h${-block}z`;
    if (p === other || gather === "gradients" || whole) blocks.full += place;
    else if (gather === "constant") blocks.hatched += hatch(x, y, block, Math.max(5, block / 8));
  }
  const positives = Array.from({ length: processes * inside }, (_, k) => `M${(EDGE + k * cell).toFixed(2)} ${(EDGE + k * cell).toFixed(2)}h${cell.toFixed(2)}v${cell.toFixed(2)}h${(-cell).toFixed(2)}z`).join("");
  const lines = Array.from({ length: processes * inside - 1 }, (_, k) => (EDGE + (k + 1) * cell).toFixed(2)).map((place) => `M${place} ${EDGE}V${EDGE + SIDE}M${EDGE} ${place}H${EDGE + SIDE}`).join("");
  const borders = each.slice(1).map((k) => `M${at(k)} ${EDGE}V${EDGE + SIDE}M${EDGE} ${at(k)}H${EDGE + SIDE}`).join("");
  const total = EDGE + SIDE + 2;
  const words = `The ${processes * batch} by ${processes * batch} scores in ${processes} by ${processes} blocks`;
  return svg("svg", { viewBox: `0 0 ${total} ${total}`, role: "img", "aria-label": words, style: `--cw-wide:${total}` },
    svg("rect", { class: "cw-half", x: EDGE, y: EDGE, width: SIDE, height: SIDE }), svg("path", { class: "cw-petal", d: blocks.full }), hatching(blocks.hatched),
    svg("path", { class: "cw-item cw-plain", d: positives, style: `stroke:var(--cw-bg);stroke-width:${Math.min(1.4, cell / 6).toFixed(2)}` }),
    cell >= 5 ? svg("path", { class: "cw-frame", d: lines }) : null,
    svg("path", { class: "cw-law", d: borders + `M${EDGE} ${EDGE}h${SIDE}v${SIDE}h${-SIDE}z` }),
    each.map((k) => [svg("text", { class: "cw-axis-text", x: at(k) + block / 2, y: 13 }, String(k + 1)), svg("text", { class: "cw-axis-text", x: 9, y: at(k) + block / 2 + 4 }, String(k + 1))]));
}

const SCALE = [1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8];

function factorsPicture(state, { factors }) {
  const [width, left, right, top, each] = [290, 12, 14, 14, 34];
  const x = (factor) => (factor === 0 ? left + 6 : left + 36 + ((Math.log2(factor) + 3) / 6) * (width - left - right - 44));
  const bottom = top + each * PARTS.length;
  const words = `Factors of the gradient: ${PARTS.map((part, k) => `${part} ${factorText(factors[k])}`).join("; ")}`;
  return svg("svg", { viewBox: `0 0 ${width} ${bottom + 20}`, role: "img", "aria-label": words, style: `--cw-wide:${width}` },
    [0, ...SCALE].map((factor) => svg("text", { class: "cw-axis-text", x: x(factor), y: bottom + 15 }, factorText(factor))),
    PARTS.map((part, k) => factorLine(part, factors[k], top + k * each, { x, left, right: width - right })));
}

/** A part of the gradient: its name, a line from 0, and a disc where it is right, a cross where it is not. */
function factorLine(part, factor, y, { x, left, right }) {
  const [text, line] = [y, y + 16];
  const name = svg("text", { class: "cw-axis-text cw-start", x: left, y: text, style: "fill:var(--cw-ink)" }, part);
  if (factor === null) return [name, svg("path", { class: "cw-bend", d: `M${left} ${line}H${right}` }), svg("text", { class: "cw-cross", x: right, y: text, style: "text-anchor:end" }, "✕ another loss")];
  const goal = svg("path", { class: "cw-level", "stroke-width": 2, d: `M${x(1)} ${line - 8}v16` });
  const mark = factor === 1 ? svg("circle", { class: "cw-item cw-plain", cx: x(1), cy: line, r: 6.5 }) : svg("path", { class: "cw-off", d: `M${x(factor) - 5} ${line - 5}l10 10m-10 0l10 -10` });
  return [name, svg("path", { class: "cw-frame", d: `M${left} ${line}H${right}` }), svg("path", { class: factor === 1 ? "cw-level" : "cw-bend", "stroke-width": 2, d: `M${left} ${line}H${x(factor)}` }), goal, mark,
    svg("text", { class: factor === 1 ? "cw-pull-text" : "cw-cross", x: right, y: text, style: "text-anchor:end" }, `${factor === 1 ? "✓" : "✕"} ${factorText(factor)}`)];
}

function costPicture({ processes, batch }, { negatives: count, all, sent, seconds, one }) {
  const most = Math.max(sum(seconds), sum(one));
  return [
    h("dl", { class: "cw-facts" },
      fact("negatives of a pair", processes === 1 || count === all ? thousands(count) : `${thousands(count)} of ${thousands(all)}`),
      fact("each one sends", sent ? inBytes(sent) : "nothing")),
    timeBar(processes === 1 ? "one process" : `${processes} processes`, seconds, most),
    processes === 1 ? null : timeBar(`one process with ${pairs(processes * batch)}`, one, most),
    h("ul", { class: "cw-legend" }, Object.entries(LOOKS).map(([part, look]) => h("li", {}, h("span", { class: `cw-piece ${look}`, style: "width:0.9rem;height:0.9rem" }), part))),
  ].filter(Boolean);
}

const fact = (name, value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));

const LOOKS = { towers: "cw-piece-pull", scores: "cw-piece-push", network: "cw-piece-wrong" };

function timeBar(name, parts, most) {
  const pieces = Object.entries(parts).filter(([, value]) => value > 0);
  return h("div", { class: "cw-bar" },
    h("p", { class: "cw-bar-name" }, name, " ", h("strong", {}, inSeconds(sum(parts)))),
    h("div", { class: "cw-track", "aria-hidden": "true" }, pieces.map(([part, value]) => h("span", { class: `cw-piece ${LOOKS[part]}`, style: `width:${((100 * value) / most).toFixed(2)}%` }))));
}
