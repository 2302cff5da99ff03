// Quantities with their units, for the interactives of this lesson.
import { number } from "../shared/widgets/kit.js";

/** A quantity with its unit, three figures or so: units = [[size, name], ...], the largest first. */
export function withUnit(value, units) {
  const [size, name] = units.find(([unit]) => value >= unit * 0.9995) ?? units[units.length - 1];
  return `${number(value / size)} ${name}`;
}

export const inBytes = (bytes) => withUnit(bytes, [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]]);
export const inSeconds = (seconds) => withUnit(seconds, [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]]);
