// Addresses from the time when a reference was one page: where its index has a line of that name, or of what the name
// lies in, the reader is led to the page that has it now.
const forward = () => {
  const asked = decodeURIComponent(location.hash.slice(1));
  for (let name = asked.replace(/^module-/, ""); name; name = name.includes(".") ? name.replace(/\.[^.]*$/, "") : "") {
    const line = document.getElementById(name);
    const link = line?.closest("[data-forwards]") && line.querySelector("a[href]");
    if (link) return location.replace(`${link.href.split("#")[0]}#${asked}`);
  }
};
window.addEventListener("hashchange", forward);
document.addEventListener("DOMContentLoaded", forward);
