// The search of the site: MiniSearch (tools/vendor) over the index that Sphinx has built, with what readers call the ideas
// of a page. Sphinx adds this file to its language_data.js; IDEAS comes from book/search.yml.
const IDEAS = {};
const STOP = new Set("a an and are as at be by can could do does for from get has have how i in is it of on or our should so than that the their they to use used was we what when where which who why will with you".split(" "));
const SPELLINGS = [[/isation$/, "ization"], [/ise$/, "ize"], [/our$/, "or"]]; // British words as American ones
const BOOST = { ideas: 6, title: 5, headings: 2, words: 1 };
const PHRASE = 4; // how much more a page is worth one of whose ideas the query names in all its words

/** A word as it stands and its stem; none of a word that says nothing. */
function forms(term) {
  const word = SPELLINGS.reduce((text, [from, to]) => text.replace(from, to), term.toLowerCase());
  return STOP.has(word) ? null : [...new Set([word, stem(word)])];
}
const stem = (word) => new Stemmer().stemWord(word);
const words = (text) => text.split(/[^\p{L}\p{N}_]+/u).filter(Boolean);
const stems = (text) => [...new Set(words(text).map(forms).filter(Boolean).map((found) => found.at(-1)))];

const LIBRARY = "book/reference/api"; // its entries are found by Sphinx, one by one

function kind(page) {
  if (page.startsWith(LIBRARY)) return 0.3;
  if (page.startsWith("book/reference/") || page.startsWith("book/teach/")) return 0.6;
  return /-(lab|further)$/.test(page) ? 0.6 : 1;
}

/** One document a page, from Sphinx's index: its title, headings, ideas, and every word on it, once. */
function documents({ docnames, titles, alltitles, terms }) {
  const found = docnames.map((page, id) => ({ id, page, title: titles[id], ideas: (IDEAS[page] ?? []).join(" "), headings: [], words: [] }));
  for (const [title, places] of Object.entries(alltitles)) for (const [id] of places) found[id].headings.push(title);
  for (const [term, places] of Object.entries(terms)) for (const id of [places].flat()) if (!found[id].page.startsWith(LIBRARY)) found[id].words.push(term);
  return found.map((one) => ({ ...one, headings: one.headings.join(" "), words: one.words.join(" ") }));
}

/** The pages for a query, the best first: [{ id, score }]. A typo is forgiven in a word that stands on no page. */
function ranking(index) {
  const pages = documents(index);
  const known = new Set(pages.flatMap((page) => Object.keys(BOOST).flatMap((field) => words(page[field]).flatMap((word) => forms(word) ?? []))));
  const engine = new MiniSearch({ fields: Object.keys(BOOST), tokenize: words, processTerm: forms });
  engine.addAll(pages);
  const ideas = pages.map(({ page }) => (IDEAS[page] ?? []).map(stems).filter((idea) => idea.length));
  const options = { boost: BOOST, fuzzy: (term) => (term.length > 4 && !known.has(term) ? 0.25 : false), prefix: (term) => term.length > 3 };
  return (query) => {
    const asked = stems(query).length;
    return engine.search(query, options).map(({ id, score, terms }) => {
      const there = new Set(terms.map(stem));
      const named = Math.max(0, ...ideas[id].map((idea) => (idea.every((word) => there.has(word)) ? idea.length / asked : 0)));
      return { id, score: score * kind(pages[id].page) * (1 + PHRASE * named) };
    }).sort((one, other) => other.score - one.score);
  };
}

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

/** Puts the ranking in the place of Sphinx's: pages first, then the entries of the library and the sections that Sphinx finds. */
function takeOver() {
  // a browser hands no page to a page that was opened from a folder: a result then stands without its first lines
  if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
  const perform = Search._performSearch;
  let ranked = null;
  Search.makeSearchSummary = summary;
  Search._performSearch = (query, ...rest) => {
    const { docnames, filenames, titles } = Search._index;
    ranked ??= ranking(Search._index);
    const pages = ranked(query).map(({ id, score }) => [docnames[id], titles[id], "", null, score, filenames[id]]);
    const entries = perform(query, ...rest).filter(([, , anchor]) => anchor); // the best stands last
    return [...entries, ...pages.reverse()];
  };
}
if (typeof Search === "undefined") document.addEventListener("DOMContentLoaded", takeOver);
else takeOver();
