// The plane of the interactives on motion: from coordinates to places in an SVG, circles, arrows, right angles, traces.
import { Interactive } from "./controls.js";
import { svg } from "./kit.js";

const SIDE = 400;

/** Half the width of a plane that shows lengths up to `reach`: 1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8 times a power of ten. */
export function niceReach(reach) {
  const power = 10 ** Math.floor(Math.log10(Math.max(reach, 1e-9)));
  return power * [1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((step) => step * power >= reach * (1 - 1e-9));
}

/** Maps the square [-reach, reach]^2 to an SVG of `side` by `side`. */
export class Plane {
  constructor(reach, side = SIDE) {
    Object.assign(this, { reach, half: side / 2, unit: side / (2 * reach) });
  }

  at([x, y]) {
    return [this.half + x * this.unit, this.half - y * this.unit];
  }

  /** The point of the plane under a pointer event. */
  under(event, root) {
    const box = root.getBoundingClientRect();
    const unit = (2 * this.reach) / box.width;
    return [(event.clientX - box.left - box.width / 2) * unit, (box.top + box.height / 2 - event.clientY) * unit];
  }

  axes() {
    return svg("path", { class: "cw-frame", d: `M0 ${this.half}H${2 * this.half}M${this.half} 0V${2 * this.half}` });
  }

  circle(length, kind) {
    return svg("circle", { class: kind, cx: this.half, cy: this.half, r: (length * this.unit).toFixed(2) });
  }

  trace(points, kind) {
    return svg("path", { class: kind, d: points.map((point, t) => `${t ? "L" : "M"}${places(this.at(point), 1)}`).join("") });
  }

  /** An arrow with a head of fixed size; too short for a head it is a dot. */
  arrow(from, to, kind) {
    const [[x, y], [ex, ey]] = [this.at(from), this.at(to)];
    if (Math.hypot(ex - x, ey - y) < 3) return svg("circle", { class: `${kind} cw-arrow-dot`, cx: ex.toFixed(2), cy: ey.toFixed(2), r: 2.5 });
    return svg("path", { class: kind, d: arrowPath([x, y], [ex, ey]) });
  }

  /** The little square of a right angle at `corner`, between the directions to the origin and along `direction`. */
  rightAngle(corner, direction, kind) {
    const [x, y] = this.at(corner);
    const [nx, ny] = unit([this.half - x, this.half - y]);
    const [dx, dy] = unit([direction[0], -direction[1]]);
    const side = 10;
    return svg("path", { class: kind, d: `M${places([x + side * nx, y + side * ny])}l${places([side * dx, side * dy])}l${places([-side * nx, -side * ny])}` });
  }
}

const unit = ([x, y]) => [x / (Math.hypot(x, y) || 1), y / (Math.hypot(x, y) || 1)];

/** The path of an arrow between two places of a picture. */
export function arrowPath([x, y], [ex, ey]) {
  const [ux, uy] = unit([ex - x, ey - y]);
  const head = Math.min(11, Math.hypot(ex - x, ey - y) * 0.6);
  const wing = (side) => places([ex - head * (ux + side * 0.45 * uy), ey - head * (uy - side * 0.45 * ux)]);
  return `M${places([x, y])}L${places([ex, ey])}M${wing(1)}L${places([ex, ey])}L${wing(-1)}`;
}

const places = ([x, y], digits = 2) => `${x.toFixed(digits)} ${y.toFixed(digits)}`;

/**
 * A view whose points can be moved with the pointer and the arrow keys. A subclass has `frame` (a Plane) or an `under(event)`
 * of its own, and `placeOf(name)` and `move(name, place)`; `dragged` is the name of the point that is being dragged.
 */
export class Movable extends Interactive {
  /**
   * What makes an element the handle of a point: its role, its words, and what it does on a key and when it is dragged.
   * A finger on it must not scroll the page. `touch-action` would not say so: inside an SVG Chromium does not heed it, and on
   * the whole <svg> it would keep a finger beside the points from scrolling, too.
   */
  grip(name, words, farthest) {
    const drag = (event) => this.onDrag(event, name);
    return {
      tabindex: "0", role: "slider", "aria-label": words, "aria-roledescription": "point in the plane", "aria-valuemin": -farthest, "aria-valuemax": farthest,
      onkeydown: (event) => this.onKey(event, name), onpointerdown: drag, onpointermove: drag, onpointerup: drag, onpointercancel: drag,
      ontouchstart: (event) => event.preventDefault(),
    };
  }

  under(event) {
    return this.frame.under(event, event.currentTarget.ownerSVGElement);
  }

  onKey(event, name) {
    const by = event.shiftKey ? 0.01 : 0.1;
    const change = { ArrowLeft: [-by, 0], ArrowRight: [by, 0], ArrowUp: [0, by], ArrowDown: [0, -by] }[event.key];
    if (!change) return;
    event.preventDefault();
    const place = this.placeOf(name);
    this.move(name, [place[0] + change[0], place[1] + change[1]]);
  }

  onDrag(event, name) {
    const handle = event.currentTarget;
    if (event.type === "pointerdown" && event.button === 0) {
      handle.setPointerCapture(event.pointerId);
      handle.focus({ preventScroll: true }); // the finger is on it
      this.dragged = name;
      event.preventDefault();
    } else if (event.type === "pointermove" && this.dragged === name) {
      this.move(name, this.under(event));
    } else if (event.type !== "pointermove" && this.dragged === name) {
      this.dragged = undefined;
      this.redraw(); // the frame may fit again
    }
  }
}
