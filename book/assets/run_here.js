// Cells that run in the page: change a line, press Run. Python is loaded at the first click, from this site alone, and
// kept in this browser. Every run is a new process in a worker; Stop ends it.
(() => {
  const here = new URL(".", document.currentScript.src), megabytes = document.currentScript.dataset.megabytes;
  const STORE = "two-tower-python", SECONDS = 60;
  const ENDS = { cut: "Ended: it printed more than 200 kB.", late: `Ended after ${SECONDS} seconds.`, stopped: "Stopped.", broken: "Python broke off." };
  let engine = null;

  async function part(name, loaded) {
    const address = new URL(`python/${name}`, here);
    const store = await globalThis.caches?.open(STORE).catch(() => null);
    let answer = await store?.match(address);
    if (!answer) {
      answer = await fetch(address);
      if (!answer.ok) throw new Error(`${address} answers ${answer.status}`);
      await store?.put(address, answer.clone()).catch(() => {});
    }
    const counted = new TransformStream({ transform(chunk, out) { loaded(chunk.length); out.enqueue(chunk); } });
    return answer.body.pipeThrough(counted);
  }

  async function load(say) {
    let bytes = 0;
    const loaded = (count) => say(`Loading Python: ${Math.round((bytes += count) / 1e6)} of ${megabytes} MB`);
    const [packed, zip] = await Promise.all([part("python.wasm.gz", loaded), part("library.zip", loaded)]);
    const wasm = packed.pipeThrough(new DecompressionStream("gzip"));
    const headers = { "content-type": "application/wasm" };
    const compiled = WebAssembly.compileStreaming(new Response(wasm, { headers }));
    return { library: await new Response(zip).arrayBuffer(), module: await compiled };
  }

  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  function prepare(cell, number) {
    const input = cell.querySelector(".cell_input"), stored = cell.querySelector(".cell_output");
    const code = input.querySelector("pre").textContent.trimEnd();
    const hint = element("span", { id: `run-here-${number}`, hidden: "" }, "Tab indents; Escape, then Tab, leaves.");
    const editor = element("textarea", { "aria-label": "The code of this cell", "aria-describedby": hint.id, spellcheck: "false", autocapitalize: "off", rows: code.split("\n").length + 1 });
    const output = element("pre", { class: "run-here-output", "aria-label": "What it prints", tabindex: "0" });
    const status = element("output", { "aria-live": "polite" });
    const button = (text) => element("button", { type: "button" }, text);
    const [run, stop, reset, remove] = [`Run Python here: ${megabytes} MB, once, from this site`, "Stop", "Reset", "Remove Python"].map(button);
    const tools = element("div", { class: "run-here" }, run, stop, reset, remove, status, hint);
    status.textContent = "Nothing leaves your computer.";
    let worker = null, timer = 0, left = false;

    function end(how) {
      clearTimeout(timer);
      worker?.terminate();
      worker = null;
      run.disabled = false;
      stop.hidden = true;
      if (how) status.textContent = ENDS[how];
    }
    async function start() {
      if (location.protocol === "file:") {
        status.textContent = "A browser runs no Python from a file: make serve shows the site at an address.";
        return;
      }
      if (!editor.isConnected) {
        input.hidden = true;
        input.after(editor);
        editor.value = code;
        hint.hidden = reset.hidden = remove.hidden = false;
      }
      run.disabled = true;
      run.textContent = "Run";
      try {
        engine ??= load((text) => (status.textContent = text));
        const { module, library } = await engine;
        status.textContent = "Running";
        output.textContent = "";
        if (stored) stored.hidden = true;
        tools.after(output);
        stop.hidden = false;
        worker = new Worker(new URL("run_here_worker.js", here), { type: "module" });
        worker.onerror = () => end("broken");
        worker.onmessage = ({ data: { text, ended, status: code } }) => {
          if (text) output.append(text);
          if (!ended) return;
          end(ENDS[ended] && ended);
          if (ended === "done") status.textContent = code ? "It ended with an error." : "Done.";
        };
        timer = setTimeout(end, 1000 * SECONDS, "late");
        worker.postMessage({ module, library, code: editor.value });
      } catch (error) {
        engine = null;
        end();
        status.textContent = `Python could not be loaded: ${error.message}`;
      }
    }
    run.addEventListener("click", start);
    stop.addEventListener("click", () => end("stopped"));
    reset.addEventListener("click", () => {
      end();
      editor.value = code;
      output.remove();
      status.textContent = "";
      if (stored) stored.hidden = false;
      editor.focus();
    });
    remove.addEventListener("click", async () => {
      await globalThis.caches?.delete(STORE);
      status.textContent = "Python is no longer kept in this browser.";
    });
    editor.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        if (!run.disabled) start();
      } else if (event.key === "Tab" && !event.shiftKey && !left) {
        event.preventDefault();
        editor.setRangeText("    ", editor.selectionStart, editor.selectionEnd, "end");
      }
      left = event.key === "Escape" || (left && event.key === "Shift");
    });
    stop.hidden = reset.hidden = remove.hidden = true;
    input.after(tools);
  }

  document.querySelectorAll("div.cell.tag_run-here").forEach(prepare);
})();
