// Tables of users and items on P machines: memory, bytes and seconds. The same as sharded_step.py, course_lib.processes and
// course_lib.step_cost (tests/lessons/one_batch_many_machines/test_widget.py compares them). Nothing here touches a page.

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
