// Small helpers that every interactive shares: making elements, writing numbers, naming things uniquely.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** An HTML element: h("button", {class: "x", onclick: f}, "text", child, ...). */
export const h = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);

/** An SVG element, the same way. */
export const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

/** Gives a picture its size in units of its own, in which letters never fall below 11 px (`--cw-least`), and the most px that it fills. */
export function sized(picture, { width, height, most = 1.25 * width }) {
  picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
  picture.setAttribute("style", `--cw-units:${width};--cw-most:${most}px`);
  return picture;
}

/** A picture of a size. */
export const drawing = (size, attributes, ...inside) => sized(svg("svg", { role: "img", ...attributes }, inside), size);

/** An id that no other element of the page has. Every interactive brings a copy of this file, so the page keeps the count. */
export function uniqueId(name) {
  globalThis.courseWidgetIds = (globalThis.courseWidgetIds ?? 0) + 1;
  return `course-widget-${name}-${globalThis.courseWidgetIds}`;
}

/** 0.4, 2.25, 13.1, 1280: three figures or so, a real minus sign, no trailing zeros. Same rule as words.py. */
export function number(value) {
  if (!Number.isFinite(value)) return value > 0 ? "∞" : value < 0 ? "−∞" : "?";
  const clean = Number(value.toPrecision(12));
  const size = Math.abs(clean);
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : 2;
  const text = clean.toFixed(digits);
  const short = digits ? text.replace(/\.?0+$/, "") : text;
  return short === "-0" ? "0" : short.replace("-", "−");
}

/** `number`, but a small value is no 0: 0.0034, and "less than 0.0001" below that. */
export function fine(value) {
  const size = Math.abs(Number(value.toPrecision(12)));
  if (!(size >= 1e-12 && size < 0.01)) return number(value); // 1e-12: what rounding leaves of a zero
  if (size < 0.0001) return "less than 0.0001";
  return `${value < 0 ? "−" : ""}${size.toFixed(4).replace(/0+$/, "")}`;
}

/** 2.4e-16 as 2 · 10⁻¹⁶, 9.7e-13 as 1 · 10⁻¹², and 0 as 0. */
export function power(value) {
  const [digit, exponent] = value.toExponential(0).split("e");
  return value ? `${digit} · 10${exponent.replace("+", "").replace(/./g, (sign) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[sign] ?? "⁻")}` : "0";
}

/** `number` with its sign, +3 or −0.2. */
export const signed = (value) => `${value > 0 ? "+" : ""}${number(value)}`;

/** Multiples of one, two or five times a power of ten from low to high, at most `most`. */
export function evenNumbers(low, high, most) {
  const unit = [0.1, 0.2, 0.5, 1, 2].map((factor) => factor * 10 ** Math.floor(Math.log10(high - low))).find((size) => (high - low) / size <= most);
  const first = Math.ceil(low / unit);
  return Array.from({ length: Math.floor(high / unit) - first + 1 }, (_, k) => (first + k) * unit);
}

export const capital = (text) => text[0].toUpperCase() + text.slice(1);

/** A title of at most so many letters. */
export const short = (title, most) => (title.length > most ? `${title.slice(0, most - 1)}…` : title);

/** 1776 as 1,776. */
export const thousands = (count) => String(count).replace(/\B(?=(\d{3})+$)/g, ",");

/** 0.125 as 13 %; a part that is not nothing and not all is not written as 0 % or 100 %. */
export function wholePercent(part) {
  const percent = Number((100 * part).toPrecision(12));
  if (percent > 0 && percent < 0.5) return "under 1 %";
  return percent >= 99.5 && percent < 100 ? "over 99 %" : `${Math.floor(percent + 0.5)} %`;
}

/** The words with no line end between a number and its %. */
export const unbroken = (words) => words.replaceAll(/(?<=\d) %/g, "\u00a0%");

/** "a", "a and b", "a, b and c", "a, b and 3 more". */
export function list(words, most = 4) {
  const shown = words.length > most ? [...words.slice(0, most - 1), `${words.length - most + 1} more`] : words;
  if (shown.length < 2) return shown.join("");
  return `${shown.slice(0, -1).join(", ")} and ${shown[shown.length - 1]}`;
}

/** f, which computes anew only where its arguments are others than the last time: other values, or other objects. */
export function remembered(f) {
  let [last, kept] = [null, null];
  return (...given) => {
    if (!last || given.some((one, k) => one !== last[k])) [last, kept] = [given, f(...given)];
    return kept;
  };
}

/** Calls f once, some milliseconds after the last of several calls. */
export function debounce(f, milliseconds) {
  let timer = null;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => f(...values), milliseconds);
  };
}

/** Diagonal lines inside a square, as a path: a mark that needs no colour. */
export function hatch(x, y, side, step) {
  const lines = [];
  for (let t = step; t < 2 * side; t += step) {
    const [low, high] = [Math.max(0, t - side), Math.min(t, side)];
    lines.push(`M${(x + low).toFixed(3)} ${(y + high).toFixed(3)}L${(x + high).toFixed(3)} ${(y + low).toFixed(3)}`);
  }
  return lines.join("");
}
