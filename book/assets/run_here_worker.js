// One run of one cell: told the code, it posts what is printed and how it ended. The engine (tools/python_in_page.py) is
// a WASI module: it reaches the folder in memory that is made here, two streams of text and a clock, and nothing else.
import { ConsoleStdout, Directory, File, OpenFile, PreopenDirectory, WASI, WASIProcExit } from "./python/wasi/index.js";

const MOST = 200_000; // bytes of print
const ENVIRONMENT = ["TMPDIR=/tmp", "PYTHONTZPATH=", "NO_COLOR=1", "PYTHONDONTWRITEBYTECODE=1"];
const folder = (entries) => new Directory(new Map(Object.entries(entries)));

self.onmessage = async ({ data: { module, library, code } }) => {
  let printed = 0;
  const stream = () => {
    const decoder = new TextDecoder();
    return new ConsoleStdout((bytes) => {
      printed += bytes.length;
      self.postMessage(printed > MOST ? { ended: "cut" } : { text: decoder.decode(bytes, { stream: true }) });
      if (printed > MOST) throw new Error("cut");
    });
  };
  const lib = folder({ "python315.zip": new File(library, { readonly: true }) });
  const root = new PreopenDirectory("/", new Map(Object.entries({
    usr: folder({ local: folder({ lib }) }), tmp: folder({}), "cell.py": new File(new TextEncoder().encode(code)),
  })));
  const wasi = new WASI(["python", "/cell.py"], ENVIRONMENT, [new OpenFile(new File([])), stream(), stream(), root], { debug: false });
  try {
    const instance = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: wasi.wasiImport, host: { call: () => -1 } });
    wasi.inst = instance;
    instance.exports._initialize();
    self.postMessage({ ended: "done", status: instance.exports.run() });
  } catch (error) {
    if (error instanceof WASIProcExit) self.postMessage({ ended: "done", status: error.code });
    else self.postMessage({ ended: "broken", text: `${error}\n` });
  }
};
