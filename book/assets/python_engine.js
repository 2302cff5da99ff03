// Python in the page: loaded at a click, from this site alone, and kept in this browser. Every run is a new process in a
// worker of its own.
const STORE = "two-tower-python", OURS = ["course.zip", "lessons.zip"], parts = new Map(); // ours are new with the site
export const about = document.querySelector("script[data-megabytes]").dataset; // megabytes, auditMegabytes; a chapter's page, tasks, minutes
export const ENDS = { cut: "Ended: it printed more than 200 kB.", late: "Ended: it took too long.", stopped: "Stopped.", broken: "Python broke off." };

/** Python that comes first where the course's own code runs: an index has 32 bits here, and NumPy refuses to narrow one of 64 where it counts and repeats. */
export const INDICES = `import numpy as np

def narrowed(name, at):
    whole = getattr(np, name)
    def call(*given, **named):
        given = [np.asarray(one).astype(np.intp) if place == at else one for place, one in enumerate(given)]
        return whole(*given, **named)
    setattr(np, name, call)

narrowed("bincount", 0)
narrowed("repeat", 1)
`;

export const element = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};

const RUNS = `${STORE} runs on ${location.pathname}`;
const session = (does) => { try { return does(sessionStorage); } catch { return null; } };
const unmark = () => session((kept) => kept.removeItem(RUNS));
/** What a tab that was ended in the midst of a run says when it is loaded again: before that it cannot speak. */
export const lost = session((kept) => kept.getItem(RUNS)) ? "The page was ended while Python ran: this device may have too little memory for it." : "";
unmark();
addEventListener("pagehide", unmark); // a reader who leaves lost nothing

export const remove = () => globalThis.caches?.delete(STORE);

async function fetched(name, loaded) {
  const address = new URL(`python/${name}${OURS.includes(name) ? `?${about.version}` : ""}`, import.meta.url);
  const store = await globalThis.caches?.open(STORE).catch(() => null);
  let answer = await store?.match(address);
  if (!answer) {
    answer = await fetch(address);
    if (!answer.ok) throw new Error(`${address} answers ${answer.status}`);
    await store?.delete(address, { ignoreSearch: true });
    await store?.put(address, answer.clone()).catch(() => {});
  }
  const counted = new TransformStream({ transform(chunk, out) { loaded(chunk.length); out.enqueue(chunk); } });
  return answer.body.pipeThrough(counted);
}
const whole = async (stream) => new Uint8Array(await new Response(stream).arrayBuffer());
const compiled = (packed) => WebAssembly.compileStreaming(new Response(packed.pipeThrough(new DecompressionStream("gzip")), { headers: { "content-type": "application/wasm" } }));

// The engine catches exceptions by reference (exnref, 0x69), the newest thing that it asks of a browser: a module whose only
// type gives one back says whether this one knows them, before anything is loaded.
const KNOWS = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 0x60, 0, 1, 0x69);
const TOO_OLD = "this browser is too old; Chrome or Edge 137, Firefox 131, Safari 18.4 and newer ones can";

/** The parts of these names, each loaded once: the engine as a module, others as bytes. say: told how much has come. */
export async function load(names, megabytes, say) {
  if (!WebAssembly.validate(KNOWS)) throw new Error(TOO_OLD);
  let bytes = 0;
  const loaded = (count) => say(`Loading: ${Math.round((bytes += count) / 1e6)} of ${megabytes} MB`);
  const one = async (name) => {
    if (!parts.has(name)) parts.set(name, fetched(name, loaded).then(name.endsWith(".wasm.gz") ? compiled : whole));
    return parts.get(name).catch((error) => { parts.delete(name); throw error; });
  };
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await one(name)])));
}

/** A run; onText: told what is printed; resolves to how it ended. stop() of what is returned ends it. */
export function run(message, onText, seconds) {
  const worker = new Worker(new URL("python_worker.js", import.meta.url), { type: "module" });
  let finish, waiting = "";
  const ended = new Promise((resolve) => (finish = resolve));
  const flush = () => { if (waiting) onText(waiting); waiting = ""; };
  const end = (how) => { clearTimeout(timer); unmark(); worker.terminate(); flush(); finish(how); };
  const timer = setTimeout(end, 1000 * seconds, { ended: "late" });
  worker.onerror = () => end({ ended: "broken" });
  worker.onmessage = ({ data: { text, ...how } }) => {
    if (text && !waiting) requestAnimationFrame(flush); // a flood of lines is shown once a frame
    waiting += text ?? "";
    if (how.ended) end(how);
  };
  session((kept) => kept.setItem(RUNS, "yes"));
  worker.postMessage(message, Object.values(message.files ?? {}).map(({ buffer }) => buffer)); // handed over: no second copy
  return { ended, stop: () => end({ ended: "stopped" }) };
}
