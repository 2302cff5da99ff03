// One batch on P processes: factors of the gradient, bytes and seconds of a step. The same as course_lib.processes and
// one_batch_many_machines_play.py (tests/lessons/one_batch_many_machines/test_widget.py compares them). Nothing here touches a page.
import { number, thousands } from "../shared/widgets/kit.js";

export const WORLD = { scoreFlops: 6, latency: 2e-5 };

/** Whether every process computes all rows. */
const wholeMatrix = ({ gather, rows }) => rows === "all" && gather !== "none";

/**
 * What each part of the averaged gradient is, times that of one process: to the queries, to items from rows of their own process,
 * to items from rows of the others, to a number in the loss such as the temperature. null: the gradient of another loss.
 */
export function gradientFactors({ processes, gather, rows, reduction, times_world: times }) {
  const scale = times ? processes : 1;
  if (processes === 1) return [1, 1, 1, 1];
  if (gather === "none") return [null, null, 0, null];
  const carried = gather === "gradients";
  if (rows === "all") {
    const vectors = carried ? scale : scale / processes; // a process keeps what all rows do to its own vectors, and the mean leaves 1/P of it
    return [vectors, vectors, vectors, scale];
  }
  const own = reduction === "sum" ? scale / processes : scale;
  return [own, own, carried ? own : 0, own];
}

/** How many items a pair is compared with. */
export const negativesOf = ({ processes, batch, gather }) => (gather === "none" ? batch : processes * batch) - 1;

/** Gathers of a step, forward and backward. */
const gathersOf = (state) => (state.gather === "none" ? 0 : (wholeMatrix(state) ? 2 : 1) * (state.gather === "gradients" ? 2 : 1));

/** Bytes that each process sends around a ring, the parameters' gradients apart. */
export const bytesSent = (state) => gathersOf(state) * (state.processes - 1) * state.batch * state.d * 4;

/** The same for the two Gramians of a batch, added up over the processes. */
export const gramianBytes = ({ processes, d }) => (4 * (processes - 1) * d * d * 4) / processes;

/** Seconds of a step: towers, scores, network. */
export function stepSeconds(state) {
  const { processes, batch, d, gather, bandwidth, rate, tower } = state;
  const columns = gather === "none" ? batch : processes * batch;
  const rows = wholeMatrix(state) ? processes * batch : batch;
  return {
    towers: (batch * tower * 1e6) / (rate * 1e12),
    scores: (WORLD.scoreFlops * d * rows * columns) / (rate * 1e12),
    network: bytesSent(state) / (bandwidth * 1e9) + WORLD.latency * gathersOf(state) * (processes - 1),
  };
}

/** All that a reader sees. */
export function analyseMachines(state) {
  const factors = gradientFactors(state);
  const [vectors, ...others] = factors.slice(0, 3);
  return {
    factors, whole: wholeMatrix(state), exact: factors.every((factor) => factor === 1), common: others.every((factor) => factor === vectors) ? vectors : null,
    negatives: negativesOf(state), all: state.processes * state.batch - 1, sent: bytesSent(state), gramians: gramianBytes(state), seconds: stepSeconds(state),
    one: stepSeconds({ ...state, processes: 1, batch: state.processes * state.batch, gather: "none" }),
  };
}

// ---- quantities with their units

/** A quantity with its unit, three figures or so: units = [[size, name], ...], the largest first. */
export function withUnit(value, units) {
  const [size, name] = units.find(([unit]) => value >= unit * 0.9995) ?? units[units.length - 1];
  return `${thousands(number(value / size))} ${name}`;
}

export const inBytes = (bytes) => withUnit(bytes, [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]]);
export const inSeconds = (seconds) => withUnit(seconds, [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]]);

// ---- tables of users and items on P machines: the same as sharded_step.py, course_lib.processes and course_lib.step_cost

/** Bytes of rows of a table and of the optimiser's state. */
const stateBytes = (rows, { width, itemsize, optimizer }) => (optimizer === "adam" ? 3 * rows * width * itemsize : rows * width * itemsize + 4 * rows);

/** Bytes of one process: whole tables, and the largest shard. */
export function heldBytes(state) {
  const { users, items, processes } = state;
  return { whole: stateBytes(users + items, state), sharded: stateBytes(Math.ceil(users / processes) + Math.ceil(items / processes), state) };
}

/** Bytes that a process sends in a step: dense gradients, rows exchanged, rows gathered with gradients, two Gramians. */
export function sentBytes({ users, items, processes, batch, width, itemsize }) {
  const others = (processes - 1) / processes;
  return {
    dense: 2 * others * (users + items) * width * itemsize,
    exchanged: 2 * batch * others * (8 + 2 * width * itemsize),
    gathered: 2 * (processes - 1) * batch * width * itemsize,
    gramians: 4 * others * width * width * itemsize,
  };
}

/** Seconds of the parts of a step: computing by the model of cost, for own rows with gradients, and bytes by bandwidth. */
export function partSeconds(state) {
  const { prices: [start, softmax, operation, byte], processes, batch, width, itemsize, bandwidth, speed } = state;
  const scores = batch * processes * batch;
  const work = start + scores * (softmax + 6 * width * operation) + 2 * processes * batch * width * itemsize * byte;
  const { dense, exchanged, gathered } = sentBytes(state);
  const wait = (bytes) => bytes / (bandwidth * 1e9);
  return { computing: (work * 1e-9) / speed, dense: wait(dense), exchanged: wait(exchanged), gathered: wait(gathered) };
}

/** All that a reader sees; `state.itemsize` is a word there. */
export function analyseShards(given) {
  const state = { ...given, itemsize: Number(given.itemsize) };
  const { computing, dense, exchanged, gathered } = partSeconds(state);
  const ways = { whole: { computing, tables: dense, gathered }, sharded: { computing, tables: exchanged, gathered } };
  const steps = Math.ceil(state.pairs / (state.processes * state.batch));
  const seconds = Object.fromEntries(Object.entries(ways).map(([way, parts]) => [way, parts.computing + parts.tables + parts.gathered]));
  const hours = { whole: (steps * seconds.whole) / 3600, sharded: (steps * seconds.sharded) / 3600 };
  return { held: heldBytes(state), sent: sentBytes(state), parts: { computing, dense, exchanged, gathered }, ways, seconds, steps, hours };
}
