// Loads what its page runs Python with, where there is a server: from a file a browser loads no module and no worker.
if (location.protocol !== "file:") import(new URL(document.currentScript.dataset.module, document.currentScript.src));
