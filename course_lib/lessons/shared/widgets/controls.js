// What the interactives share: sliders, rows of presets, choices, buttons, tables, films.
import { debounce, h, svg, unbroken, uniqueId } from "./kit.js";

/** A control cannot show a value: an error while a state is tried that came from an address, and nothing otherwise. */
function refuse(words) {
  if (globalThis.courseWidgetsTry) throw new Error(words);
}

/** A range input with its name and its value in words; `show(value, words)` sets both. */
export function slider({ name, text, min, max, step, onset }) {
  const id = uniqueId(name);
  const value = h("span", { class: "cw-value" });
  const input = h("input", { type: "range", id, name, min, max, step, oninput: (event) => onset(Number(event.target.value)) });
  const show = (place, words) => {
    input.value = place;
    if (Math.abs(Number(input.value) - place) > step) refuse(`${name} is ${place}; expected ${min} to ${max}`);
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

/** A row of buttons that set everything at once: choices = {name: {text, set, ...}}; `show(state)` presses those whose `set` a state has. */
export function presets(choices, onchoose) {
  const chips = Object.entries(choices).map(([name, { text }]) => h("button", { type: "button", class: "cw-chip", "data-preset": name, "aria-pressed": "false", onclick: () => onchoose(name) }, text));
  const has = (state, set) => Object.entries(set).every(([name, value]) => JSON.stringify(state[name]) === JSON.stringify(value));
  return {
    box: h("div", { class: "cw-presets", role: "group", "aria-label": "Start from" }, h("span", { class: "cw-label", "aria-hidden": "true" }, "Start from"), chips),
    show: (state) => Object.values(choices).forEach(({ set }, k) => chips[k].setAttribute("aria-pressed", typeof set === "object" && has(state, set))),
  };
}

/** Radio buttons in a row: options = [[value, text], ...], a value being anything that its text tells apart; `show(value)` marks one. */
export function choice({ name, label, options, onset }) {
  const group = uniqueId(name);
  const inputs = options.map(([value]) => h("input", { type: "radio", name: group, value: String(value), onchange: () => onset(value) }));
  return {
    box: h("div", { class: "cw-options", role: "radiogroup", "aria-label": label }, h("span", { class: "cw-label", "aria-hidden": "true" }, label),
      options.map(([, text], k) => h("label", { class: "cw-option" }, inputs[k], text))),
    show: (value) => {
      inputs.forEach((input) => (input.checked = input.value === String(value)));
      if (!inputs.some((input) => input.checked)) refuse(`${name} is ${value}; expected one of ${options.map(([known]) => known).join(", ")}`);
    },
  };
}

/** A drop-down list: options = [[value, text], ...]; `show(value)` chooses one and writes its note, if there are `notes`, below. */
export function selection({ name, text, options, notes, onset }) {
  const id = uniqueId(name);
  const choices = options.map(([value, words]) => h("option", { value }, words));
  const select = h("select", { id, name, onchange: (event) => onset(event.target.value) }, choices);
  const note = notes ? h("p", { class: "cw-note" }) : null;
  const show = (value) => { select.value = value; if (note) note.textContent = notes[value]; };
  return { box: h("div", { class: "cw-control" }, h("label", { class: "cw-label", for: id }, text), select, note), choices, show };
}

/** How many there are of something, with a button for one less and one for one more; `show(count)` says it. */
export function stepper({ name, least, most, onstep }) {
  const step = (action, words, sign, more) => h("button", { type: "button", class: "cw-step", "data-action": `${action}-${name}`, "aria-label": `${words} ${name}`, onclick: () => onstep(more) }, sign);
  const [fewer, more, counted] = [step("drop", "Remove the last", "−", false), step("add", "Add a", "+", true), h("span", { class: "cw-count" })];
  const show = (count) => {
    counted.textContent = `${count} ${name}${count === 1 ? "" : "s"}`;
    [fewer.disabled, more.disabled] = [count <= least, count >= most];
  };
  return { box: h("div", { class: "cw-steps" }, fewer, counted, more), show };
}

export const button = (action, text, onclick) => h("button", { type: "button", class: "cw-button", "data-action": action, onclick }, text);

/** Buttons that take steps of training: one, many at once, and back to the first; `show(steps, stuck)` turns off what nobody can press. */
export function stepButtons(view, many, most) {
  const walk = (steps) => () => view.set({ steps: Math.min(view.state().steps + steps, most) });
  const [one, more, reset] = [button("step", "One step", walk(1)), button("steps", `${many} steps`, walk(many)), button("reset", "Reset", () => view.set({ steps: 0 }))];
  const show = (steps, stuck = false) => [one.disabled, more.disabled, reset.disabled] = [stuck || steps >= most, stuck || steps >= most, steps === 0];
  return { box: h("div", { class: "cw-row cw-buttons" }, one, more, reset), show };
}

/** A card with its title, and a soft word behind the title or none. */
export const card = (title, soft, ...inside) => h("div", { class: "cw-card" }, h("p", { class: "cw-card-title" }, title, soft ? [" ", h("span", { class: "cw-soft" }, soft)] : null), inside);

/** A line of a legend: a small picture, drawn on 20 by 20, and what it stands for. */
export const key = (text, ...picture) => h("li", {}, svg("svg", { viewBox: "0 0 20 20", "aria-hidden": "true" }, picture), text);

/** The same on 26 by 20, for lines. */
export const wideKey = (text, ...picture) => h("li", {}, svg("svg", { viewBox: "0 0 26 20", "aria-hidden": "true" }, picture), text);

/** The path of a diamond. */
export const diamond = (x, y, size) => `M${x.toFixed(1)} ${(y - size).toFixed(1)}l${size} ${size}l${-size} ${size}l${-size} ${-size}z`;

/** A name, and under it a bar with its pieces; `marked`: one that holds a thin mark. */
export const barUnder = (name, pieces, marked = false) => h("div", { class: "cw-bar" },
  h("p", { class: "cw-bar-name" }, name), h("div", { class: `cw-track${marked ? " cw-track-marked" : ""}`, "aria-hidden": "true" }, pieces));

/** `barUnder` a number in bold, or none, and what it counts. */
export const namedBar = (count, text, ...pieces) => barUnder([count === null ? null : h("strong", {}, count), " ", text], pieces);

/** A piece of a bar, as wide as its share of the track, or all of it. */
export const barPiece = (look, share) => h("span", { class: `cw-piece ${look}`, style: `width:${Math.min(100, 100 * share)}%` });

/** A bar beside its name, its value behind it; `blind`: a thin mark, such as where chance would end. `show(share, words)` sets it. */
export function barLine(name, look, blind) {
  const piece = h("span", { class: `cw-piece ${look}` });
  const value = h("strong", { class: "cw-bar-end" });
  const mark = blind === undefined ? null : h("span", { class: "cw-blind", style: `left:${100 * blind}%` });
  return {
    box: h("div", { class: "cw-bar-line" }, h("span", {}, name), h("div", { class: `cw-track${mark ? " cw-track-marked" : ""}`, "aria-hidden": "true" }, piece, mark), value),
    show: (share, words) => {
      piece.style.width = `${Math.min(100, 100 * (share || 0))}%`;
      value.textContent = words;
    },
  };
}

/** A film of a list; `hit`: words behind a film that was hidden, or liked later. */
export const filmLine = (title, hit, ...more) => h("li", { class: hit ? "cw-hit" : "" }, h("span", {}, title), hit ? h("strong", {}, ` ✓ ${hit}`) : null, more);

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
  return { box: h("div", { class: "cw-folds" }, data, h("details", { class: "cw-python" }, h("summary", {}, "The same in Python"), code)), data, table: holder, code };
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
    queueMicrotask(() => this.settle());
  }

  /** Refreshes at once where a refresh is due, for whatever needs numbers now. */
  settle() {
    if (!this.waiting || this.closed) return;
    this.waiting = false;
    this.refresh();
  }

  close() {
    this.closed = true;
    for (const name of this.names) this.model.off(`change:${name}`, this.onChange);
  }
}

/** Plays one trait from `first` to `last`: a button, and a slider that stops the film; `show(value, words)` sets the slider. */
class Film {
  constructor(follower, { name, text, first = 0, last, every = 1, milliseconds, onstop }) {
    Object.assign(this, { follower, name, first, last, every, milliseconds, onstop, playing: null });
    this.button = button("play", "Play", () => (this.playing ? this.stop() : this.play()));
    Object.assign(this, slider({ name, text, min: first, max: last, step: every, onset: (place) => { this.stop(); this.goTo(place); } }));
  }

  place() {
    return this.follower.state()[this.name];
  }

  goTo(place) {
    this.follower.set({ [this.name]: place });
  }

  play() {
    if (this.place() >= this.last) this.goTo(this.first);
    this.playing = setInterval(() => this.advance(), this.milliseconds);
    this.button.textContent = "Stop";
  }

  advance() {
    const place = Math.min(this.place() + this.every, this.last);
    if (place === this.last) this.stop();
    this.goTo(place);
  }

  stop() {
    if (!this.playing) return;
    clearInterval(this.playing);
    this.playing = null;
    this.button.textContent = "Play";
    this.onstop();
  }
}

/** What a module has for anywidget, for the static page and for paper: shows a `View` of the named traits until it is let go of. */
export const showing = (names, View) => ({
  render({ model, el }) {
    const view = new View(model, names);
    el.append(view.root);
    return () => view.close();
  },
});

/**
 * A view of a model: its summary is read out a moment after the last change, but not while a film plays.
 * A subclass has `build(parts, state)`, which returns the root; `refresh(parts, state)`, which ends with `fold`; and `story`, its summary.
 */
export class Interactive {
  constructor(model, names) {
    this.follower = new Follower(model, names, () => this.showAll());
    this.parts = { summary: h("p", { class: "cw-summary", "aria-live": "polite" }), folds: folds(() => this.showTable()) };
    this.bound = [];
    this.root = this.build(this.parts, this.state());
    this.announce = debounce(() => this.film?.playing || this.tell(), 250);
    this.showAll();
    this.tell();
  }

  state() {
    return this.follower.state();
  }

  set(changes) {
    this.follower.set(changes);
  }

  /** The control of a trait, in `parts` by its name: `make` is slider, ladder, choice ..., and `words(value, state)` what it says of a value. */
  control(make, name, { words = String, ...options }) {
    const made = make({ name, onset: (value) => this.set({ [name]: value }), ...options });
    this.bound.push((state) => made.show(state[name], words(state[name], state)));
    return (this.parts[name] = made);
  }

  /** The film of a trait: its slider and its button; the summary is read out when it stops. */
  filmOf(name, { words, ...options }) {
    this.film = new Film(this.follower, { name, onstop: () => this.announce(), ...options });
    this.bound.push((state) => this.film.show(state[name], words(state[name], state)));
    return [this.film.box, this.film.button];
  }

  /** Shows the state: all bound controls; `parts.presets` and `parts.everything` (hero.js), where they are, follow it. */
  showAll() {
    const state = this.state();
    for (const show of this.bound) show(state);
    this.parts.presets?.show(state);
    if (this.parts.everything) this.parts.everything.open = state.everything;
    this.redraw();
    this.passFocus();
  }

  /** A button that its own press turned off hands the focus to one beside it: else the keyboard starts again at the top of the page. */
  passFocus() {
    const off = document.activeElement;
    if (off?.disabled && this.root.contains(off)) off.parentElement.querySelector("button:enabled")?.focus();
  }

  redraw() {
    this.refresh(this.parts, this.state());
  }

  /** What ends a refresh: the folds get `numbers()`, the arguments of `table`, and `python`; the summary is read out. */
  fold({ numbers, python }) {
    this.numbers = numbers;
    this.showTable();
    this.parts.folds.code.textContent = python;
    if (!this.film?.playing) this.announce?.(); // a voice could not follow the film
  }

  showTable() {
    const { data, table: holder } = this.parts.folds;
    if (data.open) holder.replaceChildren(table(...this.numbers()));
  }

  tell() {
    this.parts.summary.textContent = unbroken(this.story);
  }

  close() {
    this.film?.stop();
    this.follower.close();
  }
}

/** The frame of an interactive: its title and one or two sentences on it, then what is inside. */
export function framed({ look, title, lead }, ...inside) {
  const id = uniqueId("title");
  const root = h("div", { class: `cw ${look}`, role: "group", "aria-labelledby": id },
    h("div", { class: "cw-head" }, h("p", { class: "cw-title", id }, title), h("p", { class: "cw-lead" }, lead)),
    inside);
  root.addEventListener("keydown", (event) => event.stopPropagation()); // JupyterLab would take the arrow keys
  return root;
}

/**
 * Controls and words beside the picture from 780 px of room on; below that one under the other, picture and words together.
 * start = the presets, main = the controls that everybody uses, view = the picture and what belongs to it, words = the summary,
 * more = the other controls.
 */
export const beside = (areas) => h("div", { class: "cw-beside" },
  ["start", "main", "view", "words", "more"].filter((area) => areas[area]).map((area) => h("div", { class: `cw-${area}-area` }, areas[area])));

const PHONE = 560; // px: below that a picture is drawn for a phone

/**
 * The frame of a hero. `head` is that of `framed`, `more` what `beside` takes: both it and the folds stand behind one button, whose panel is
 * open where the state's `everything` says so. A view draws for a phone where its `narrow` is true; it is refreshed when that changes.
 */
export function hero(view, { head, controls, picture, more }) {
  const { folds, summary } = view.parts;
  const all = h("details", { class: "cw-everything", ontoggle: () => all.open === view.state().everything || view.set({ everything: all.open }) },
    h("summary", {}, "All numbers and controls"), beside(more), folds.box);
  view.parts.everything = all;
  const stage = h("div", { class: "cw-hero-picture" }, picture);
  if (globalThis.ResizeObserver) new ResizeObserver(([{ contentRect: { width, height } }]) => {
    stage.style.setProperty("--cw-tall", `${height}px`); // of the picture that stays in sight on a phone
    if (!width || view.narrow === width < PHONE) return;
    view.narrow = width < PHONE;
    view.redraw();
  }).observe(stage);
  return framed({ ...head, look: `cw-hero ${head.look ?? ""}` }, h("div", { class: "cw-hero-controls" }, controls), stage, summary, all);
}
