// The interactive "following a Gramian that moves": three estimators on one path, and the error of SOGram against its rate.
import { drawing, evenNumbers, h, number, remembered, svg } from "../shared/widgets/kit.js";
import { Interactive, beside, button, card, choice, diamond, framed, key, ladder, presets, showing, slider } from "../shared/widgets/controls.js";
import { RATES, WORLD, analyse, follow } from "./gramian_tracker_math.js";

const NAMES = ["alpha", "batch_size", "drift", "size", "correct_start", "beta", "step", "seed"];
const ALPHAS = [0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.2, 0.3, 0.5, 1];
const BATCHES = [1, 2, 4, 8, 16, 32, 64];
const SIZES = [0, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05];

const usual = { batch_size: 16, beta: "1", correct_start: false, step: WORLD.steps };
const PRESETS = {
  straight: { text: "Straight drift", set: { ...usual, alpha: 0.05, drift: "straight", size: 0.005 } },
  walk: { text: "Random walk", set: { ...usual, alpha: 0.2, drift: "random walk", size: 0.05 } },
  settling: { text: "Settling down", set: { ...usual, alpha: 0.05, drift: "settling", size: 0.02 } },
  slow: { text: "Too slow", set: { ...usual, alpha: 0.005, drift: "straight", size: 0.01 } },
  zero: { text: "The start at zero", set: { ...usual, alpha: 0.01, drift: "straight", size: 0, step: 100 } },
};

const RACE = { // the three estimators: name, and how they are drawn
  sampling: ["batch sampling", "M4 12h0M10 6h0M16 13h0", "cw-sampled"],
  sogram: ["SOGram", "M1 10H19", "cw-sogram"],
  sagram: ["SAGram", "M1 10H19", "cw-sagram"],
};

export default showing(NAMES, class extends Interactive {
  build(parts) {
    const { every, steps } = WORLD;
    this.run = remembered((settings) => follow(JSON.parse(settings)));
    parts.presets = presets(PRESETS, (name) => { this.film.stop(); this.set(PRESETS[name].set); });
    const play = this.filmOf("step", { text: "Step", first: every, last: steps, every, milliseconds: 80, words: (step) => `${step} of ${steps}` });
    parts.again = button("again", "Other batches", () => this.set({ seed: (this.state().seed + 1) % 1000 }));
    this.control(ladder, "alpha", { text: "Rate α of SOGram", values: ALPHAS, words: (alpha) => (alpha === 1 ? "1, no memory" : figures(alpha)) });
    this.control(ladder, "batch_size", { text: "Batch size", values: BATCHES });
    parts.size = slider({ name: "size", text: "Drift in a step", min: 0, max: SIZES.length - 1, step: 1, onset: (place) => this.set({ size: SIZES[place] }) });
    this.control(choice, "drift", { label: "Drift", options: [["straight", "straight"], ["random walk", "random walk"], ["settling", "settling"]] });
    this.control(choice, "correct_start", { label: "Start at zero", options: [[false, "left as it is"], [true, "corrected"]] });
    this.control(choice, "beta", { label: "SAGram’s β", options: [["1", "1"], ["b/n", "b/n"]] });
    return framed({ look: "cw-flow cw-words-under", title: "Following a Gramian that moves", lead: "An entry of a Gramian moves, and each step sees one batch. SOGram forgets at the rate α: too fast, or too slowly?" }, beside({
      start: parts.presets.box,
      main: [parts.alpha.box, parts.batch_size.box, parts.size.box, parts.drift.box],
      view: h("div", { class: "cw-pair" }, this.buildPaths(parts), this.buildErrors(parts)),
      words: parts.summary,
      more: [play[0], h("div", { class: "cw-row cw-buttons" }, play[1], parts.again), parts.correct_start.box, parts.beta.box,
        h("p", { class: "cw-note" }, `The entry is a mean over ${WORLD.examples} examples with standard deviation 1. SAGram remembers all of them, SOGram one number. All move alike here, the best case for SAGram.`)],
    }), parts.folds.box);
  }

  buildPaths(parts) {
    parts.paths = h("div", {});
    parts.race = Object.fromEntries(Object.keys(RACE).map((name) => [name, h("strong", {})]));
    return card("The chase", "and how far each is off", parts.paths,
      h("ul", { class: "cw-legend" }, pathKey("the Gramian", "M1 10H19", "cw-truth"),
        Object.entries(RACE).map(([name, [text, d, kind]]) => pathKey([`${text} `, parts.race[name]], d, kind))));
  }

  buildErrors(parts) {
    parts.errors = h("div", {});
    return card("SOGram’s error", "for each rate", parts.errors,
      h("ul", { class: "cw-legend" },
        pathKey("bias² + variance", "M1 10H19", "cw-law"), pathKey("bias²", "M1 10H19", "cw-sagram"), pathKey("variance", "M1 10H19", "cw-variance"),
        pathKey("in the long run", "M1 10H19", "cw-bend"), pathKey("best rate", diamond(10, 10, 6.5), "cw-item-head"), pathKey("yours", "M4 10a6 6 0 1 0 12 0a6 6 0 1 0 -12 0z", "cw-ring")));
  }

  refresh(parts, state) {
    const { step, ...settings } = state;
    this.found = analyse(state, this.run(JSON.stringify(settings)));
    this.story = sentences(state, this.found).join(" ");
    this.showSize(state);
    for (const [name, shown] of Object.entries(this.parts.race)) shown.textContent = figures(this.found.off[name]);
    this.parts.paths.replaceChildren(pathsPicture(state, this.found));
    this.parts.errors.replaceChildren(errorsPicture(state, this.found));
    this.fold({ numbers: () => [HEADS, rows(state, this.found), "Ten steps, up to the one shown. Bias and standard deviation are those to be expected."], python: asPython(state) });
  }

  showSize({ drift, size }) {
    const nearestOf = SIZES.reduce((best, other, k) => (Math.abs(other - size) < Math.abs(SIZES[best] - size) ? k : best), 0);
    this.parts.size.show(nearestOf, size ? `${figures(size)}${drift === "settling" ? " at first" : ""}` : "0, none");
  }
});

// ---- words ---------------------------------------------------------------------------------------------------------------

/** Three significant figures, no exponent: 0.0312, 1.5, 249. */
export function figures(value) {
  const clean = Number(value.toPrecision(12));
  if (Math.abs(clean) < 1e-7) return Math.abs(clean) < 1e-12 ? "0" : "less than 0.0000001";
  return Number(clean.toPrecision(3)).toFixed(9).replace(/\.?0+$/, "").replace("-", "−");
}

/** The sentences, in order. */
const sentences = (state, found) => [settings(state), aboutPaths(state, found), verdict(state, found), details(state, found)];

function settings({ alpha, batch_size: batch, drift, size, correct_start: correctStart }) {
  const kinds = {
    straight: `a straight drift of ${figures(size)} a step`,
    "random walk": `a random walk with steps of ±${figures(size)}`,
    settling: `a drift of ${figures(size)} in the first step that settles`,
  };
  return `SOGram with rate α = ${figures(alpha)}, ${correctStart ? "corrected for the start at zero" : "started at zero"}; ` +
    `batches of ${batch} of ${WORLD.examples} examples; ${size ? kinds[drift] : "no drift"}.`;
}

/** What its error is made of, and which rate would do better. */
function verdict({ step }, { now, best, least }) {
  const made = now.square <= now.variance ? "variance: it trembles with the batches" : `bias: ${now.atStart ? "the zero of the start is still in it" : "it lags behind"}`;
  const compared = now.total <= 1.1 * least.total ? "No rate has much less" : `The error after ${step === 1 ? "1 step" : `${step} steps`} would be least with α = ${figures(best)}${best === WORLD.lowest ? ", the smallest rate of the picture" : ""}: ${figures(least.total)}`;
  return `SOGram’s expected square error is now ${figures(now.total)}, mostly ${made}. ${compared}.`;
}

function aboutPaths({ step, beta }, { paths, off }) {
  const last = (name) => number(paths[name][step - 1]);
  return `After ${step} steps the entry of the Gramian is ${last("entry")}; batch sampling says ${last("sampling")}, SOGram ${last("sogram")}, ` +
    `SAGram (β = ${beta}) ${last("sagram")}. Over the second half of these steps they were off by ${figures(off.sampling)}, ` +
    `${figures(off.sogram)} and ${figures(off.sagram)} (root mean square): ${nearest(off)}.`;
}

/** Who is ahead in the race. */
function nearest(off) {
  const least = Math.min(...Object.values(off));
  const near = Object.keys(RACE).filter((name) => 0.9 * off[name] <= least).sort((one, other) => off[one] - off[other]);
  return near.length === 1 ? `${RACE[near[0]][0]} is nearest` : near.length === 2 ? `${RACE[near[0]][0]} and ${RACE[near[1]][0]} are nearest` : "all three are about equally near";
}

function details({ alpha, batch_size: batch, drift, size }, { now, bound, longRun, longRunAlpha }) {
  const walks = drift === "random walk" ? " on average over walks" : "";
  return `SOGram’s bias is ${figures(Math.sqrt(now.square))}${walks} (P4’s Proposition 5 allows ${figures(bound)}), its standard deviation ${figures(Math.sqrt(now.variance))}. ` +
    `In the long run SOGram varies like sampling with batches of ${figures((batch * (2 - alpha)) / alpha)}, ${aboutTheLongRun(size, longRunAlpha, longRun)}`;
}

function aboutTheLongRun(size, best, error) {
  if (!size) return "and no rate is best: nothing moves, and the smaller α, the better.";
  if (Number.isNaN(best)) return "and no rate is best: the drift dies out, and α had better fall with it.";
  return `and the best rate of the long run is ${figures(best)}, with error ${figures(error(best))}.`;
}

const HEADS = ["Step", "Gramian", "Sampling", "SOGram", "SAGram", "Expected bias of SOGram", "Its standard deviation"];

/** Ten steps, the last of them the one that is shown. */
function rows(state, { paths, at }) {
  const steps = new Set(Array.from({ length: 10 }, (_, k) => Math.floor((state.step * (k + 1)) / 10 + 0.5)));
  steps.delete(0);
  return [...steps].map((step) => {
    const now = at(step);
    return [String(step), ...["entry", "sampling", "sogram", "sagram"].map((name) => number(paths[name][step - 1])), figures(Math.sqrt(now.square)), figures(Math.sqrt(now.variance))];
  });
}

/** Lines of Python that compute the last row of the table but its bias, and show the same state. */
function asPython({ alpha, batch_size: batch, drift, size, correct_start: correctStart, beta, step, seed }) {
  const corrected = correctStart ? "True" : "False";
  return [
    "from course_lib import gramians", "from course_lib.lessons.gramian_estimators.gramian_tracker import GramianTracker", "",
    "shown = GramianTracker(", `    alpha=${alpha}, batch_size=${batch}, drift="${drift}", size=${size}, correct_start=${corrected}, beta="${beta}", step=${step}, seed=${seed}`, ")",
    "paths = shown.paths()  # gramians.BatchGramian, SOGram and SAGram, fed with the same batches",
    "last = [float(path[shown.step - 1]) for path in (paths.entry, paths.sampling, paths.sogram, paths.sagram)]",
    `variance = gramians.sogram_variance(${alpha}, sigma=${batch} ** -0.5, steps=${step}, corrected=${corrected})`,
    "print(last, variance ** 0.5)", "shown",
  ].join("\n");
}

// ---- pictures ----------------------------------------------------------------------------------------------------------

const FRAME = { width: 290, height: 250, left: 40, right: 14, top: 22, bottom: 36 };
const [WIDE, HIGH] = [FRAME.width - FRAME.left - FRAME.right, FRAME.height - FRAME.top - FRAME.bottom];

const pathKey = (text, d, kind) => key(text, svg("path", { class: kind, d }));

const line = (points, kind) => svg("path", { class: kind, d: points.map(([x, y], k) => `${k ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("") });

/** The frame of a picture with its numbers: across and up are lists of [place, words]. */
function frame(name, across, up, below, beside, ...inside) {
  const { width, height, left, right, top, bottom } = FRAME;
  return drawing({ width, height }, { "aria-label": name },
    svg("path", { class: "cw-frame", d: `M${left} ${top}V${height - bottom}H${width - right}` }),
    across.map(([x, words]) => svg("text", { class: "cw-axis-text", x, y: height - bottom + 16 }, words)),
    up.map(([y, words]) => svg("text", { class: "cw-axis-text cw-end", x: left - 6, y: y + 4 }, words)),
    svg("text", { class: "cw-axis-text", x: left + WIDE / 2, y: height - 5 }, below),
    inside, svg("text", { class: "cw-axis-text cw-start", x: left - 6, y: top - 12 }, beside));
}

function pathsPicture({ step }, { paths }) {
  const all = [...paths.entry, ...paths.sampling, ...paths.sogram, ...paths.sagram];
  const [least, most] = [Math.min(...all), Math.max(...all)];
  const margin = 0.04 * (most - least);
  const [low, high] = [least - margin, most + margin];
  const x = (at) => FRAME.left + (at / WORLD.steps) * WIDE;
  const y = (value) => FRAME.top + ((high - value) / (high - low)) * HIGH;
  const path = (name, kind) => line(paths[name].slice(0, step).map((value, k) => [x(k + 1), y(value)]), kind);
  const dots = paths.sampling.slice(0, step).map((value, k) => (k % 2 ? `M${x(k + 1).toFixed(1)} ${y(value).toFixed(1)}h0` : "")).join("");
  return frame(`The entry of the Gramian and three estimates of it, up to step ${step}`,
    [0, 100, 200, 300, 400].map((at) => [x(at), String(at)]), evenNumbers(low, high, 7).map((value) => [y(value), number(value)]), "step", "entry of the Gramian",
    svg("path", { class: "cw-sampled", d: dots }), path("entry", "cw-truth"), path("sogram", "cw-sogram"), path("sagram", "cw-sagram"));
}

function errorsPicture({ alpha }, { curve, now, best, least, longRun, longRunAlpha }) {
  const totals = curve.map(({ total }) => total);
  const [low, high] = [Math.min(...totals) / 8, Math.max(...totals) * 1.6];
  const x = (rate) => FRAME.left + (1 - Math.log(rate) / Math.log(WORLD.lowest)) * WIDE;
  const y = (value) => FRAME.top + (Math.log(high / value) / Math.log(high / low)) * HIGH;
  const drawn = (values, kind) => line(RATES.map((rate, k) => [rate, values[k]]).filter(([, value]) => value >= low && value <= high).map(([rate, value]) => [x(rate), y(value)]), kind);
  const powers = Array.from({ length: 20 }, (_, k) => 10 ** (k - 12)).filter((value) => value >= low && value <= high);
  const far = longRunAlpha >= WORLD.lowest ? svg("path", { class: "cw-bend", d: `M${x(longRunAlpha).toFixed(1)} ${FRAME.top + 12}V${FRAME.top + HIGH}` }) : null;
  return frame("Expected mean square error of SOGram against its rate, as bias squared plus variance; the text gives the best rate",
    [0.001, 0.01, 0.1, 1].map((rate) => [x(rate), figures(rate)]), powers.map((value) => [y(value), figures(value)]), "rate α", "mean square error",
    far, drawn(RATES.map(longRun), "cw-bend"), drawn(curve.map(({ square }) => square), "cw-sagram"), drawn(curve.map(({ variance }) => variance), "cw-variance"), drawn(totals, "cw-law"),
    svg("path", { class: "cw-item-head cw-plain", d: diamond(x(best), y(least.total), 6) }),
    svg("circle", { class: "cw-ring", r: 8, cx: x(alpha).toFixed(1), cy: Math.max(FRAME.top, y(now.total)).toFixed(1) }));
}
