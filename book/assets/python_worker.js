// One run of Python: told the code, it posts what is printed, the files that were made, and how it ended. The engine
// (tools/python_in_page.py) is a WASI module: it reaches the folders in memory that are made here, two streams of text
// and a clock, and nothing else.
import { ConsoleStdout, Directory, File, OpenFile, PreopenDirectory, WASI, WASIProcExit } from "./python/wasi/index.js";

const MOST = 200_000; // bytes of print
const ENVIRONMENT = ["TMPDIR=/tmp", "HOME=/tmp", "PYTHONTZPATH=", "NO_COLOR=1", "MPLBACKEND=Agg", "MPLCONFIGDIR=/tmp"];
const entries = (files) => new Map(Object.entries(files));
const folder = (files) => new Directory(entries(files));
const fixed = (bytes) => new File(bytes, { readonly: true });
const all = (files, made) => Object.fromEntries(Object.entries(files).map(([name, bytes]) => [name, made(bytes)]));

// zips: libraries by name; files: what lies in /work, whose new files are posted
self.onmessage = async ({ data: { module, zips, files = {}, code } }) => {
  let printed = 0;
  const stream = () => {
    const decoder = new TextDecoder();
    return new ConsoleStdout((bytes) => {
      printed += bytes.length;
      self.postMessage(printed > MOST ? { ended: "cut" } : { text: decoder.decode(bytes, { stream: true }) });
      if (printed > MOST) throw new Error("cut");
    });
  };
  const work = folder(all(files, (bytes) => new File(bytes)));
  const root = new PreopenDirectory("/", entries({
    usr: folder({ local: folder({ lib: folder(all(zips, fixed)) }) }), tmp: folder({}), work, "cell.py": fixed(new TextEncoder().encode(code)),
  }));
  const wasi = new WASI(["python", "/cell.py"], ENVIRONMENT, [new OpenFile(new File([])), stream(), stream(), root], { debug: false });
  const ended = (how) => {
    const made = [...work.contents].filter(([name]) => !(name in files)).map(([name, file]) => [name, file.data]);
    self.postMessage({ ...how, made: Object.fromEntries(made) });
  };
  try {
    const instance = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: wasi.wasiImport, host: { call: () => -1 } });
    wasi.inst = instance;
    instance.exports._initialize();
    ended({ ended: "done", status: instance.exports.run() });
  } catch (error) {
    if (error instanceof WASIProcExit) ended({ ended: "done", status: error.code });
    else ended({ ended: "broken", text: `${error}\n` });
  }
};
