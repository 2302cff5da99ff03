// A page without a browser: just enough of the DOM to draw an interactive once, for paper and for pages without scripts.
// `drawOnce(widget, state)` renders it and returns its story, its pictures and its table (course_lib/lessons/shared/widgets/paper.py).

const VOID = new Set(["input", "br", "img", "hr"]);
const escaped = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");

class PaperElement {
  constructor(tag) {
    Object.assign(this, { tag, attributes: {}, children: [], style: {}, dataset: {}, listeners: {}, classList: { add() {}, remove() {}, toggle() {} } });
  }

  setAttribute(name, value) { this.attributes[name] = String(value); }

  getAttribute(name) { return this.attributes[name] ?? null; }

  removeAttribute(name) { delete this.attributes[name]; }

  addEventListener(name, listener) { this.listeners[name] = listener; }

  append(...children) { this.children.push(...children); }

  replaceChildren(...children) { this.children = children; }

  get textContent() { return this.children.map((child) => child.textContent ?? String(child)).join(""); }

  set textContent(text) { this.children = [text]; }

  get outerHTML() {
    const style = [this.attributes.style, ...Object.entries(this.style).map((pair) => pair.join(":"))].filter(Boolean).join(";");
    const attributes = Object.entries({ ...this.attributes, ...(style && { style }) }).map(([name, value]) => ` ${name}="${escaped(value)}"`).join("");
    if (VOID.has(this.tag)) return `<${this.tag}${attributes}>`;
    return `<${this.tag}${attributes}>${this.children.map((child) => child.outerHTML ?? escaped(child)).join("")}</${this.tag}>`;
  }

  /** Itself and every element inside. */
  every() {
    return [this, ...this.children.flatMap((child) => (child instanceof PaperElement ? child.every() : []))];
  }

  /** Every element inside, itself first, for which `wanted` holds; not those inside one that was taken. */
  all(wanted) {
    if (wanted(this)) return [this];
    return this.children.flatMap((child) => (child instanceof PaperElement ? child.all(wanted) : []));
  }
}

globalThis.document = { createElement: (tag) => new PaperElement(tag), createElementNS: (_, tag) => new PaperElement(tag) };
globalThis.queueMicrotask ??= (f) => f();
globalThis.setTimeout ??= () => 0;
globalThis.clearTimeout ??= () => {};

const SIXES = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"; // the letters of base64, six bits each

/** What base64 stands for: a character for each byte. */
globalThis.atob ??= (text) => {
  const bits = [...text.replace(/=+$/, "")].map((letter) => SIXES.indexOf(letter));
  return Array.from({ length: Math.floor((bits.length * 6) / 8) }, (_, k) => {
    const [first, offset] = [Math.floor((k * 8) / 6), (k * 8) % 6];
    return String.fromCharCode((((bits[first] << 6) | (bits[first + 1] ?? 0)) >> (4 - offset)) & 255);
  }).join("");
};

const model = (state) => ({ get: (name) => state[name], set() {}, on() {}, off() {}, save_changes() {} });
const has = (name) => (element) => (element.attributes.class ?? "").split(" ").includes(name);
const LIVE = /^(tabindex|role|data-paper|aria-(?!hidden).*)$/;

/** Makes a picture one for paper: its handles are none, and an <svg> whose points could be moved is an image like the others. */
function still(picture) {
  if (picture.tag !== "svg") return;
  const name = picture.attributes["aria-label"] ?? "";
  for (const element of picture.every()) for (const word of Object.keys(element.attributes)) if (LIVE.test(word)) delete element.attributes[word];
  Object.assign(picture.attributes, { role: "img", "aria-label": name });
}

const cells = (row) => row.children.map((cell) => cell.textContent);

/** What a widget shows in a state, as JSON: {story, pictures: [html], heads: [text], rows: [[text]], python}. */
globalThis.drawOnce = (widget, state) => {
  const page = new PaperElement("div");
  widget.render({ model: model(JSON.parse(state)), el: page });
  const [story] = page.all(has("cw-summary")).map((element) => element.textContent.replaceAll("\u00a0", " "));
  const [everything] = page.all(has("cw-everything"));
  const shut = everything?.open === false ? everything.every() : [];
  const pictures = page.all((element) => element.attributes["data-paper"] !== undefined || (element.tag === "svg" && element.attributes.role === "img"))
    .filter((element) => !shut.includes(element));
  pictures.forEach(still);
  const first = pictures.find((element) => element.tag === "svg");
  if (first) first.setAttribute("aria-label", story);
  const [fold] = page.all(has("cw-data"));
  fold.open = true;
  fold.listeners.toggle();
  const lines = fold.all((element) => element.tag === "tr");
  const [code] = page.all(has("cw-code")).map((element) => element.textContent);
  return JSON.stringify({ story, pictures: pictures.map((element) => element.outerHTML), heads: cells(lines[0]), rows: lines.slice(1).map(cells), python: code });
};
