// What the two interactives on motion share: a choice with a note below it, and lines over the steps of a training.
import { h, number, svg, uniqueId } from "./kit.js";

/** A drop-down list: options = [[value, text], ...]; `show(value)` chooses one and writes its note, if there are `notes`, below. */
export function selection({ name, text, options, notes, onset }) {
  const id = uniqueId(name);
  const choices = options.map(([value, words]) => h("option", { value }, words));
  const select = h("select", { id, name, onchange: (event) => onset(event.target.value) }, choices);
  const note = notes ? h("p", { class: "cw-note" }) : null;
  const show = (value) => { select.value = value; if (note) note.textContent = notes[value]; };
  return { box: h("div", { class: "cw-control" }, h("label", { class: "cw-label", for: id }, text), select, note), choices, show };
}

/** Lines over the steps 0 to `steps`: lines = [{values, kind}, ...], their values evenly spread; `name` says in words what is seen. */
export function stepChart({ lines, name, title, steps = lines[0].values.length - 1 }) {
  const [width, height, left, right, top, bottom] = [340, 140, 44, 10, 8, 26];
  const all = lines.flatMap(({ values }) => values);
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const room = Math.max((high - low) * 0.08, high * 0.01, 1e-9);
  const last = Math.max(steps, 1);
  const y = (value) => top + ((high + room - value) / (high - low + 2 * room)) * (height - top - bottom);
  const x = (t, count) => left + (t / Math.max(count - 1, 1)) * (width - left - right);
  const path = (values) => values.map((value, t) => `${t ? "L" : "M"}${x(t, values.length).toFixed(1)} ${y(value).toFixed(1)}`).join("");
  const ticks = number(low) === number(high) ? [high] : [low, high];
  return h("div", {}, h("p", { class: "cw-small-title" }, title),
    svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": name, style: `--cw-wide:${width}` },
      svg("path", { class: "cw-frame", d: `M${left} ${top}V${height - bottom}H${width - right}` }),
      lines.map(({ values, kind }) => svg("path", { class: kind, d: path(values) })),
      ticks.map((value) => svg("text", { class: "cw-axis-text cw-end", x: left - 6, y: y(value) + 4 }, number(value))),
      svg("text", { class: "cw-axis-text cw-start", x: left, y: height - 10 }, "0"),
      svg("text", { class: "cw-axis-text cw-end", x: width - right, y: height - 10 }, `${last} step${last === 1 ? "" : "s"}`)));
}
