// How pages are ranked by the site's search: pages by what they are about first, the library's entries last.
// Sphinx adds this file to its language_data.js; IDEAS comes from book/search.yml.
const IDEAS = {};
const STOP = new Set("a an and are as at be by can do does for from how i in is it my of on or our so that the their to use was what when where which who why with you your".split(" "));
const HOME = 100; // what a page gets whose idea the query names

const words = (text) => (text.toLowerCase().match(/[a-z0-9]+(?:[-_][a-z0-9]+)*/g) ?? []).flatMap((word) => word.split("-")).map(stem);

// Plurals and British spellings are one word with the others; enough for titles, and no more than that.
function stem(word) {
  const plain = word.replace(/isation/, "ization").replace(/ise$/, "ize").replace(/our$/, "or");
  return plain.length > 3 ? plain.replace(/(?<=[^s])s$/, "").replace(/(?<=.{4})(ing|ed|ity)$/, "") : plain;
}

// How much of a query an idea covers, from 0 to 1; 0 where a word of the idea is missing.
function covers(idea, query) {
  const asked = new Set(words(query));
  const named = words(idea);
  if (!named.every((word) => asked.has(word))) return 0;
  const telling = [...asked].filter((word) => !STOP.has(word)).length;
  return Math.min(1, named.filter((word) => !STOP.has(word)).length / Math.max(1, telling));
}

function boost(page, query) {
  return HOME * Math.max(0, ...(IDEAS[page] ?? []).map((idea) => covers(idea, query)));
}

function kind(page) {
  if (page.startsWith("book/reference/api")) return -40;
  if (page.startsWith("book/reference/") || page.startsWith("book/teach/")) return -20;
  return /-(lab|further)$/.test(page) ? -10 : 0;
}

var Scorer = {
  score: ([page, , anchor, , score]) => score + kind(page) + (anchor ? 0 : boost(page, Scorer.query ?? "")),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

// What the lines under a result are taken from: the text, without formulas, code and tables, of which only letters in a row would be left.
const UNREAD = "h1, .admonition-title, .math, .highlight, table, .course-widget, .machine-badge, .page-foot, .on-paper, script, style, .headerlink";
const SHOWN = 240; // letters

function readable(page, anchor) {
  const article = new DOMParser().parseFromString(page, "text/html").querySelector("article");
  const part = (anchor && article?.querySelector(anchor)) || article;
  part?.querySelectorAll(UNREAD).forEach((one) => one.remove());
  return part?.textContent.replace(/\s+/g, " ").trim() ?? "";
}

// The sentence with the most of the words that were asked for, the first of several, and what follows.
function summary(page, terms, anchor) {
  const sentences = readable(page, anchor).split(/(?<=[.?!])\s+(?=[A-Z])/);
  const asked = [...terms].map((term) => term.toLowerCase());
  const holds = sentences.map((one) => asked.filter((term) => one.toLowerCase().includes(term)).length);
  const text = sentences.slice(holds.indexOf(Math.max(...holds))).join(" ");
  if (!text) return null;
  const lines = document.createElement("p");
  lines.className = "context";
  lines.textContent = text.length > SHOWN ? `${text.slice(0, SHOWN).replace(/\s+\S*$/, "")} …` : text;
  return lines;
}

// A page whose idea is asked for is found also where it lacks a word of the query.
function findByIdeas() {
  // a browser hands no page to a page that was opened from a folder: a result then stands without its first lines
  if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
  const perform = Search._performSearch;
  Search.makeSearchSummary = summary;
  Search._performSearch = (query, ...rest) => {
    Scorer.query = query;
    const found = perform(query, ...rest); // the best stands last
    const { docnames, filenames, titles } = Search._index;
    const there = new Set(found.filter(([, , anchor]) => !anchor).map(([page]) => page));
    const more = docnames
      .map((page, at) => [page, titles[at], "", null, boost(page, query) + kind(page), filenames[at]])
      .filter(([page, , , , score]) => !there.has(page) && score >= HOME / 2);
    return [...found, ...more].sort((a, b) => a[4] - b[4]);
  };
}
if (typeof Search === "undefined") document.addEventListener("DOMContentLoaded", findByIdeas);
else findByIdeas();
