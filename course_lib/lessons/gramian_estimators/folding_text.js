// What the interactive on folding says: numbers and sentences. course_lib.lessons.gramian_estimators.folding says the same; nothing here touches a page.
import { number, wholePercent } from "../shared/widgets/kit.js";

/** The bins of the histograms, and the unit of their shares. */
export const HISTOGRAM = { low: -1, high: 2, bins: 60, scale: 1000 };

/** 0, 0.01, 1, 1000: the coefficient as people write it. */
export const lambdaText = (lam) => lam.toFixed(12).replace(/\.?0+$/, "");

/** The part of the two histograms that they share. */
export const overlap = ({ observed, random }) => observed.reduce((total, share, k) => total + Math.min(share, random[k]), 0) / HISTOGRAM.scale;

/** The model that is shown, and every model, at the check that is shown. */
export function shown({ models, lam, check }) {
  const moments = models.map(({ steps }) => steps[check]);
  const place = models.findIndex((model) => model.lam === lam);
  return { place, moments, now: moments[place] };
}

export function summary(state) {
  const { now } = shown(state);
  const steps = now.step ? ` after ${now.step} steps` : "";
  return `λ = ${lambdaText(state.lam)}${steps}. Observed pairs have a mean inner product of ${number(now.mean[0])}, and ${wholePercent(now.above[0])} of them lie above one half. ` +
    `Random pairs have a mean of ${number(now.mean[1])}, and ${wholePercent(now.above[1])} lie above one half. The two histograms have ${wholePercent(overlap(now))} in common.${aboutMap(state)}`;
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

export const HEADS = ["λ", "Mean, observed", "Mean, random", "Above 1/2, observed", "Above 1/2, random", "In common", "MAP@10"];

export function rows(state) {
  return shown(state).moments.map((moment, k) => [lambdaText(state.models[k].lam), ...moment.mean.map(number), ...moment.above.map(wholePercent), wholePercent(overlap(moment)),
    moment.map === undefined ? "–" : moment.map.toFixed(4)]);
}

/** Lines of Python that show the same state in a notebook. */
export function asPython({ stored, lam, check }) {
  const rows = stored ? "" : '\nresult = ...  # your rows, or experiments.run("P4-F6", scale="smoke")';
  return `from course_lib.lessons.gramian_estimators.folding import Folding${rows}\nFolding(${stored ? "" : "result, "}lam=${lambdaText(lam)}, check=${check})`;
}
