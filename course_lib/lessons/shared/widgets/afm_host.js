// Runs the widgets on a page without a kernel: finds <div class="course-widget" data-course-widget="NAME" data-state="JSON">
// and gives the widget's render() a model made of that state. What stood in the div stays if anything goes wrong.

/** The part of a Jupyter widget model that our widgets use: get, set, on, off, save_changes. */
export class StaticModel {
  constructor(state) {
    this.state = state;
    this.listeners = new Map();
  }

  get(name) {
    return this.state[name];
  }

  set(name, value) {
    if (this.state[name] === value) return;
    this.state[name] = value;
    this.emit(`change:${name}`);
    this.emit("change");
  }

  on(event, listener) {
    this.listeners.set(event, [...(this.listeners.get(event) ?? []), listener]);
  }

  off(event, listener) {
    this.listeners.set(event, (this.listeners.get(event) ?? []).filter((known) => known !== listener));
  }

  emit(event) {
    for (const listener of this.listeners.get(event) ?? []) listener();
  }

  save_changes() {}
}

// ---- the address: what a reader has changed stands behind #w=, so that a link shows the same picture ---------------------

const LONGEST = 800; // letters of an address that still travel in a message
const KEEPS_ITS_OWN = ["quiz"]; // its answers are nobody else's

/** What an address says: "#w=norm_growth&steps=20" is {norm_growth: {steps: 20}}; {} where it leads to an anchor. */
export function readLink(hash) {
  const found = {};
  if (!hash.startsWith("#w=")) return found;
  let changes = {};
  for (const [key, text] of new URLSearchParams(hash.slice(1))) {
    if (key === "w") changes = found[text] = {};
    else changes[key] = parsed(text);
  }
  return found;
}

/** The address of what was changed, "" where nothing was or where it is too long. */
export function writeLink(changed) {
  const parts = Object.entries(changed).filter(([, changes]) => Object.keys(changes).length).flatMap(([name, changes]) =>
    [["w", name], ...Object.entries(changes).map(([key, value]) => [key, typeof value === "string" ? value : JSON.stringify(value)])]);
  const text = parts.length ? `#${new URLSearchParams(parts)}` : "";
  return text.length > LONGEST ? "" : text;
}

const parsed = (text) => { try { return JSON.parse(text); } catch { return text; } };

/** The state with the changes of a link. Throws for a name that the state lacks, and for a value of another kind. */
export function linked(state, changes) {
  const found = { ...state };
  for (const [key, given] of Object.entries(changes)) {
    const value = typeof state[key] === "string" ? String(given) : given;
    if (!(key in state) || !alike(state[key], value)) throw new Error(`the address says ${key}=${JSON.stringify(given)}`);
    found[key] = value;
  }
  return found;
}

function alike(known, value) {
  if (Array.isArray(known)) return Array.isArray(value) && value.every((one, k) => alike(known[k] ?? known[0], one)); // choices may be more or fewer
  return typeof value === typeof known && value !== null && typeof value !== "object" && (typeof value !== "number" || Number.isFinite(value));
}

const changed = {}; // name -> what differs from the page's own state; an interactive that comes twice shares it
let waiting = null;

/** Notes what was set, and writes the address half a second after the last change: browsers refuse more. */
function note(name, state, key, value) {
  const mine = (changed[name] ??= {});
  if (JSON.stringify(value) === JSON.stringify(state[key])) delete mine[key];
  else mine[key] = value;
  clearTimeout(waiting);
  waiting = setTimeout(() => history.replaceState(history.state, "", writeLink(changed) || `${location.pathname}${location.search}`), 500);
}

// ---- mounting ------------------------------------------------------------------------------------------------------------

/** Renders a widget with a state, and follows what is set; returns the box. */
function rendered(widget, name, state, start) {
  const box = document.createElement("div");
  const model = new StaticModel(start);
  widget.render({ model, el: box });
  if (!KEEPS_ITS_OWN.includes(name)) {
    for (const key of Object.keys(state)) model.on(`change:${key}`, () => note(name, state, key, model.get(key)));
  }
  return box;
}

/** `rendered`, but an error where the picture cannot be drawn: controls refuse what they cannot show. */
function tried(widget, name, state, start) {
  globalThis.courseWidgetsTry = true;
  try {
    const box = rendered(widget, name, state, start);
    if (/\bNaN\b|undefined/.test(box.innerHTML)) throw new Error("the picture cannot be drawn");
    return box;
  } finally {
    globalThis.courseWidgetsTry = false;
  }
}

/** The widget as the address wants it; where the address does not fit, as the page has it, with a word about it. */
function asLinked(widget, name, state) {
  const changes = KEEPS_ITS_OWN.includes(name) ? undefined : readLink(location.hash)[name];
  if (!changes) return rendered(widget, name, state, { ...state });
  try {
    const box = tried(widget, name, state, linked(state, changes));
    changed[name] = changes;
    return box;
  } catch {
    const box = rendered(widget, name, state, { ...state });
    box.prepend(Object.assign(document.createElement("p"), {
      className: "cw-note", textContent: "The settings in the address do not fit this interactive, so it starts as the page has it." }));
    return box;
  }
}

/** Mounts one widget; the static content is replaced only after render() has succeeded. */
export function mount(element, widgets) {
  const name = element.dataset.courseWidget;
  try {
    const widget = widgets[name];
    if (!widget) throw new Error(`unknown widget; known: ${Object.keys(widgets).join(", ")}`);
    element.replaceChildren(asLinked(widget, name, JSON.parse(element.dataset.state)));
    element.dataset.courseWidgetReady = "true";
    if (Object.keys(readLink(location.hash))[0] !== name) return;
    element.closest("details")?.setAttribute("open", "");
    element.scrollIntoView({ block: "center" });
  } catch (reason) {
    element.dataset.courseWidgetReady = "failed";
    console.error(`course widget ${name}:`, reason);
  }
}

/** Every widget of the page that is not mounted yet. */
const unmounted = () => [...document.querySelectorAll(".course-widget[data-course-widget]:not([data-course-widget-ready])")];

/**
 * What the scripts of the interactives find as `courseWidgets`: the shared functions, and `add(name, widget)`, which mounts
 * that widget wherever the page has it, now or as soon as the page is read. What nobody has added by then has failed.
 */
export function openHouse(shared) {
  const widgets = {};
  const add = (name, widget) => {
    widgets[name] = widget;
    unmounted().filter((element) => element.dataset.courseWidget === name).forEach((element) => mount(element, widgets));
  };
  if (document.readyState !== "complete") document.addEventListener("DOMContentLoaded", () => unmounted().forEach((element) => mount(element, widgets)));
  addEventListener("hashchange", () => location.hash.startsWith("#w=") && location.reload()); // a link put into the address of an open page
  return { shared, add };
}
