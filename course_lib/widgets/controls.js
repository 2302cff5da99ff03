// Controls that the interactives share: sliders, rows of presets, choices, buttons, tables.
import { h, uniqueId } from "./kit.js";

/** A range input with its name and its value in words; `show(value, words)` sets both. */
export function slider({ name, text, min, max, step, onset }) {
  const id = uniqueId(name);
  const value = h("span", { class: "cw-value" });
  const input = h("input", { type: "range", id, name, min, max, step, oninput: (event) => onset(Number(event.target.value)) });
  const show = (place, words) => {
    input.value = place;
    value.textContent = words;
    input.setAttribute("aria-valuetext", words);
  };
  return { box: h("div", { class: "cw-slider" }, h("label", { class: "cw-label", for: id }, text, " ", value), input), input, show };
}

/** A slider over a list of values, such as 1, 2, 5, 10; a value between two of them stands at the nearer one (by ratio). */
export function ladder({ values, onset, ...options }) {
  const made = slider({ ...options, min: 0, max: values.length - 1, step: 1, onset: (place) => onset(values[place]) });
  const distance = (a, b) => Math.abs(Math.log(a / b));
  const nearest = (value) => values.reduce((best, other, place) => (distance(other, value) < distance(values[best], value) ? place : best), 0);
  return { ...made, show: (value, words) => made.show(nearest(value), words) };
}

/** A row of buttons that set everything at once: choices = {name: {text, ...}}. */
export function presets(choices, onchoose) {
  return h("div", { class: "cw-presets", role: "group", "aria-label": "Start from" },
    h("span", { class: "cw-label", "aria-hidden": "true" }, "Start from"),
    Object.entries(choices).map(([name, { text }]) => h("button", { type: "button", class: "cw-chip", "data-preset": name, onclick: () => onchoose(name) }, text)));
}

/** Radio buttons in a row: options = [[value, text], ...]; `show(value)` marks one. */
export function choice({ name, label, options, onset }) {
  const group = uniqueId(name);
  const inputs = options.map(([value]) => h("input", { type: "radio", name: group, value, onchange: () => onset(value) }));
  return {
    box: h("div", { class: "cw-options", role: "radiogroup", "aria-label": label }, h("span", { class: "cw-label", "aria-hidden": "true" }, label),
      options.map(([, text], k) => h("label", { class: "cw-option" }, inputs[k], text))),
    show: (value) => inputs.forEach((input) => (input.checked = input.value === value)),
  };
}

export const button = (action, text, onclick) => h("button", { type: "button", class: "cw-button", "data-action": action, onclick }, text);

/** A table whose first column names the rows. */
export function table(heads, rows, caption) {
  return h("table", {}, h("caption", {}, caption),
    h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))),
    h("tbody", {}, rows.map(([name, ...cells]) => h("tr", {}, h("th", { scope: "row" }, name), cells.map((cell) => h("td", {}, cell))))));
}

/** The two folds below every interactive: all numbers, and the same in Python. */
export function folds(onopen) {
  const holder = h("div", { class: "cw-table", tabindex: "0", role: "region", "aria-label": "Table of all numbers" });
  const code = h("pre", { class: "cw-code", tabindex: "0", "aria-label": "The same in Python" });
  const data = h("details", { class: "cw-data" }, h("summary", {}, "All numbers as a table"), holder);
  data.addEventListener("toggle", onopen);
  return { box: [data, h("details", { class: "cw-python" }, h("summary", {}, "The same in Python"), code)], data, table: holder, code };
}

/** What every view does with its model: reads the named traits, sets them, follows them, lets go of them. */
export class Follower {
  constructor(model, names, refresh) {
    this.model = model;
    this.names = names;
    this.refresh = refresh;
    this.onChange = () => this.schedule();
    for (const name of names) model.on(`change:${name}`, this.onChange);
  }

  state() {
    return Object.fromEntries(this.names.map((name) => [name, this.model.get(name)]));
  }

  set(changes) {
    for (const [name, value] of Object.entries(changes)) this.model.set(name, value);
    this.model.save_changes();
    this.schedule();
  }

  /** Refreshes once, however many traits changed. */
  schedule() {
    if (this.waiting) return;
    this.waiting = true;
    queueMicrotask(() => {
      this.waiting = false;
      if (!this.closed) this.refresh();
    });
  }

  close() {
    this.closed = true;
    for (const name of this.names) this.model.off(`change:${name}`, this.onChange);
  }
}
