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

/** Mounts one widget; the static content is replaced only after render() has succeeded. */
export function mount(element, widgets) {
  const fail = (reason) => {
    element.dataset.courseWidgetReady = "failed";
    console.error(`course widget ${element.dataset.courseWidget}:`, reason);
  };
  try {
    const widget = widgets[element.dataset.courseWidget];
    if (!widget) throw new Error(`unknown widget; known: ${Object.keys(widgets).join(", ")}`);
    const box = document.createElement("div");
    const model = new StaticModel(JSON.parse(element.dataset.state));
    widget.render({ model, el: box });
    element.replaceChildren(box);
    element.dataset.courseWidgetReady = "true";
  } catch (reason) {
    fail(reason);
  }
}

/** Every widget of the page that is not mounted yet. */
const waiting = () => [...document.querySelectorAll(".course-widget[data-course-widget]:not([data-course-widget-ready])")];

/**
 * What the scripts of the interactives find as `courseWidgets`: the shared functions, and `add(name, widget)`, which mounts
 * that widget wherever the page has it, now or as soon as the page is read. What nobody has added by then has failed.
 */
export function openHouse(shared) {
  const widgets = {};
  const add = (name, widget) => {
    widgets[name] = widget;
    waiting().filter((element) => element.dataset.courseWidget === name).forEach((element) => mount(element, widgets));
  };
  if (document.readyState !== "complete") document.addEventListener("DOMContentLoaded", () => waiting().forEach((element) => mount(element, widgets)));
  return { shared, add };
}
