// The interactive "how an embedding space folds": inner products of observed and of random pairs for several gravity
// coefficients, made by Python before (course_lib.lessons.gramian_estimators.folding). Runs in Jupyter, on a static page and on paper alike.
import { drawing, fine, h, number, svg, wholePercent } from "../shared/widgets/kit.js";
import { Interactive, barPiece, beside, card, framed, key, namedBar, showing, slider } from "../shared/widgets/controls.js";

const NAMES = ["models", "stored", "lam", "check"];
const HISTOGRAM = { low: -1, high: 2, bins: 60, scale: 1000 }; // the bins, and the unit of their shares

export default showing(NAMES, class extends Interactive {
  build(parts, { models }) {
    const last = models[0].steps.length - 1;
    parts.lam = slider({ name: "lam", text: "Gravity coefficient λ", min: 0, max: models.length - 1, step: 1, onset: (place) => this.set({ lam: models[place].lam }) });
    const play = this.filmOf("check", { text: "Training step", last, milliseconds: 600, words: (_, state) => shown(state).now.step || "the only one" });
    parts.histogram = h("div", {});
    parts.bars = h("div", { class: "cw-bars" });
    parts.quality = h("div", {});
    this.graded = models.every(({ steps }) => steps.every(({ map }) => map !== undefined)) && models.length > 1;
    return framed({ look: "cw-flow cw-words-under", title: "How an embedding space folds", lead: "Observed pairs should have an inner product near 1, random pairs near 0. Only the gravity term asks for the second." },
      beside({
        main: [parts.lam.box, ...(last ? [play[0], h("div", { class: "cw-row cw-buttons" }, play[1])] : [])],
        view: card("Inner products", "", parts.histogram,
          h("ul", { class: "cw-legend" },
            key("observed pairs", svg("path", { class: "cw-stairs", d: "M2 18V6H18V18" })),
            key("random pairs", svg("path", { class: "cw-heap", d: "M2 18V6H18V18" })),
            key("where each should be", svg("path", { class: "cw-wish", d: "M10 1V19" }))),
          h("p", { class: "cw-note" }, "The outermost bins also hold what lies beyond.")),
        words: parts.summary,
        more: [h("p", { class: "cw-card-title" }, "Pairs above one half ", h("span", { class: "cw-soft" }, "“these belong together”")), parts.bars,
          ...(this.graded ? [h("p", { class: "cw-card-title" }, "MAP@10 of the models"), parts.quality] : [])],
      }), parts.folds.box);
  }

  refresh(parts, state) {
    const { place, moments, now } = shown(state);
    this.story = summary(state);
    parts.lam.show(place, lambdaText(state.lam));
    parts.histogram.replaceChildren(histogram(now, this.highest(state)));
    parts.bars.replaceChildren(bar("of observed pairs", now.above[0], "cw-piece-pull"), bar("of random pairs", now.above[1], "cw-piece-push"));
    if (this.graded) parts.quality.replaceChildren(qualities(state, moments, place));
    this.fold({ numbers: () => [HEADS, rows(state), "The models at the training step shown."], python: asPython(state) });
  }

  /** The height of the axis: of this model over all checks, so that its training can be played. */
  highest({ models, lam }) {
    return Math.max(...models.find((model) => model.lam === lam).steps.flatMap(({ observed, random }) => [...observed, ...random]), 1);
  }
});

// ---- words ---------------------------------------------------------------------------------------------------------------

/** 0, 0.01, 1, 1000: the coefficient as people write it. */
const lambdaText = (lam) => lam.toFixed(12).replace(/\.?0+$/, "");

/** The part of the two histograms that they share. */
const overlap = ({ observed, random }) => observed.reduce((total, share, k) => total + Math.min(share, random[k]), 0) / HISTOGRAM.scale;

/** The model that is shown, and every model, at the check that is shown. */
function shown({ models, lam, check }) {
  const moments = models.map(({ steps }) => steps[check]);
  const place = models.findIndex((model) => model.lam === lam);
  return { place, moments, now: moments[place] };
}

function summary(state) {
  const { now } = shown(state);
  const steps = now.step ? ` after ${now.step} steps` : "";
  return `λ = ${lambdaText(state.lam)}${steps}. Observed pairs have a mean inner product of ${fine(now.mean[0])}, and ${wholePercent(now.above[0])} of them lie above one half. ` +
    `Random pairs have a mean of ${fine(now.mean[1])}, and ${wholePercent(now.above[1])} lie above one half. The two histograms have ${wholePercent(overlap(now))} in common.${aboutMap(state)}`;
}

function aboutMap(state) {
  const { moments, now } = shown(state);
  if (now.map === undefined) return "";
  const known = moments.map((moment, k) => ({ value: moment.map, lam: state.models[k].lam })).filter(({ value }) => value !== undefined);
  const best = known.reduce((a, b) => (b.value > a.value ? b : a));
  const text = ` MAP@10 is ${now.map.toFixed(4)}`;
  if (known.length === 1) return `${text}.`;
  if (best.value === now.map) return `${text}, the best of these ${known.length} models.`;
  return `${text}; the best of these ${known.length} models, λ = ${lambdaText(best.lam)}, has ${best.value.toFixed(4)}.`;
}

const HEADS = ["λ", "Mean, observed", "Mean, random", "Above 1/2, observed", "Above 1/2, random", "In common", "MAP@10"];

function rows(state) {
  return shown(state).moments.map((moment, k) => [lambdaText(state.models[k].lam), ...moment.mean.map(fine), ...moment.above.map(wholePercent), wholePercent(overlap(moment)),
    moment.map === undefined ? "–" : moment.map.toFixed(4)]);
}

/** Lines of Python that compute the part that the two histograms share, and show the same state. */
function asPython({ stored, lam, check }) {
  return [
    "from course_lib.lessons.gramian_estimators.folding import Folding", "",
    ...(stored ? [] : ['# result: your rows, or experiments.run("P4-F6", scale="smoke")']),
    `shown = Folding(${stored ? "" : "result, "}lam=${lambdaText(lam)}, check=${check})`,
    "now = shown.moment  # two histograms in thousandths; means, and shares above one half, of observed and of random pairs",
    'common = sum(map(min, now["observed"], now["random"])) / 1000', 'print(now["mean"], now["above"], common, now.get("map"))', "shown",
  ].join("\n");
}

// ---- pictures ----------------------------------------------------------------------------------------------------------

const FRAME = { width: 330, height: 235, left: 12, right: 12, top: 20, bottom: 40 };

function histogram({ observed, random }, highest) {
  const { low, high, bins } = HISTOGRAM;
  const { width, height, left, right, top, bottom } = FRAME;
  const x = (value) => left + ((value - low) / (high - low)) * (width - left - right);
  const y = (share) => top + (1 - share / highest) * (height - top - bottom);
  const stairs = (shares) => `M${x(low)} ${y(0)}${shares.map((share, k) => `V${y(share).toFixed(1)}H${x(low + ((k + 1) * (high - low)) / bins).toFixed(1)}`).join("")}V${y(0)}`;
  return drawing({ width, height, most: 500 }, { "aria-label": "Histograms of the inner products of observed and of random pairs; the text gives their means" },
    svg("path", { class: "cw-frame", d: `M${left} ${y(0)}H${width - right}` }),
    [-1, -0.5, 0, 0.5, 1, 1.5, 2].map((value) => svg("text", { class: "cw-axis-text", x: x(value), y: height - bottom + 16 }, number(value))),
    svg("text", { class: "cw-axis-text", x: width / 2, y: height - 5 }, "inner product of a pair"),
    svg("path", { class: "cw-heap", d: stairs(random) }), svg("path", { class: "cw-stairs", d: stairs(observed) }),
    [[0, "random"], [1, "observed"]].map(([wish, name]) => [
      svg("path", { class: "cw-wish", d: `M${x(wish)} ${top}V${y(0)}` }), svg("text", { class: "cw-axis-text", x: x(wish), y: top - 6 }, name)]));
}

/** One bar for each model; the one that is shown is outlined and named in bold. */
function qualities({ models }, moments, place) {
  const most = Math.max(...moments.map(({ map }) => map), 1e-4);
  return h("div", { class: "cw-bars cw-tight" }, moments.map(({ map }, k) => h("div", { class: "cw-bar cw-bar-line" },
    h(k === place ? "strong" : "span", { class: "cw-bar-head" }, `λ = ${lambdaText(models[k].lam)}`),
    h("div", { class: "cw-track", "aria-hidden": "true" }, barPiece(k === place ? "cw-piece-pull" : "cw-piece-other", map / most)),
    h(k === place ? "strong" : "span", { class: "cw-bar-end" }, map.toFixed(4)))));
}

const bar = (text, part, look) => namedBar(wholePercent(part), text, part > 0 && barPiece(look, part));
