// One batch on P processes: factors of the gradient, bytes and seconds of a step. The same as course_lib.processes and
// one_batch_many_machines_play.py (tests/lessons/one_batch_many_machines/test_widgets.py compares them). Nothing here touches a page.

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
