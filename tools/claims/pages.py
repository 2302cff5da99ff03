"""The reference pages: MyST Markdown written from the rows, put in the place of `<!-- claims: ... -->` comments.

A page holds comments such as `<!-- claims: table P3 -->`; `fill` replaces each by text. The build calls it
(`tools/generated_pages.py`), so a page can never disagree with the rows. Same rows, same text, byte for byte.
"""

import re
from collections import Counter
from collections.abc import Collection
from html import escape

from course_lib.lessons.shared import findings, quiz
from tools import editions, filters, toc
from tools.claims.checks import statements
from tools.claims.graph import direct_foundations, graph_html, graph_list
from tools.claims.rows import STATUSES, Claim, Erratum, Scalar, anchor, load

CLAIMS = "book/reference/claims"  # the index of all claims; below it one page for each file of rows
Labels = dict[str | None, str]  # label of a statement -> the page where it stands
_PLACE = re.compile(r"^<!-- claims: (?P<what>\w+)(?: (?P<of>P[0-4]|X|(?:[a-z]+/)?[a-z][a-z-]*))? -->$", re.MULTILINE)
_NOT_PROSE = re.compile(r"(\$[^$]*\$|`[^`]*`)")  # mathematics and code
_ID = re.compile(r"\b(?:P[0-4]-[A-Za-z0-9*]+(?:[.-][A-Za-z0-9*]+)*|X\d+[a-z]?)(?![\w*])")


def fill(text: str, claims: list[Claim] | None = None, *, pages: Collection[str] | None = None) -> str:
    """The page with each `<!-- claims: WHAT [OF] -->` replaced.

    WHAT is counts, statuses, index, filter, table, errata, graph or list. OF is a paper ("P0", "X"), a chapter
    ("sampling/my-topic") or a file of rows ("my-topic"); nothing means all claims. A chapter's graph and list also hold
    what its claims rest on directly, wherever that belongs.

    `pages` are the pages that the build knows ("book/sampling/my-topic"); only these are linked. None: link none.
    Raises ValueError for an unknown WHAT.
    """
    if not _PLACE.search(text):
        return text
    claims = load() if claims is None else claims
    return _PLACE.sub(lambda match: _part(match["what"], match["of"], claims, pages or ()), text)


def _part(what: str, of: str | None, claims: list[Claim], pages: Collection[str]) -> str:
    mine = [claim for claim in claims if of in (None, claim.paper, _chapter(claim), _stem(claim))]
    if not mine:
        raise ValueError(f"claims comment: no claim belongs to {of!r}; expected a paper or a chapter with claims")
    parts = {
        "counts": lambda: render_counts(mine),
        "statuses": lambda: render_statuses(mine),
        "index": lambda: render_index(mine, pages=pages),
        "filter": lambda: render_filter(mine, rows="table.claims tbody tr:has([id^=claim-])"),
        "table": lambda: render_table(mine, pages=pages, everything=claims),
        "errata": lambda: render_errata(mine, pages=pages, everything=claims),
        "graph": lambda: graph_html(mine, rests_on=direct_foundations(mine, claims), title=of or "all claims"),
        "list": lambda: graph_list([*mine, *direct_foundations(mine, claims)]),
    }
    if what not in parts:
        raise ValueError(f"claims comment: got {what!r}; expected one of {', '.join(parts)}")
    return parts[what]()


def _chapter(claim: Claim) -> str:
    """The main page of a row's chapter: "geometry/x" for the rows of the pages beside it as well."""
    return toc.main_page(claim.chapter or "")


def render_counts(claims: list[Claim]) -> str:
    """One sentence: how many claims there are, by status."""
    counts = Counter(claim.status for claim in claims)
    words = {"needs assumption": "holding under an assumption"}
    parts = ", ".join(f"{counts[status]} {words.get(status, status)}" for status in STATUSES if counts[status])
    return f"{len(claims)} claims: {parts}."


def render_statuses(claims: list[Claim]) -> str:
    """A table of the statuses, what each means, and how many claims have it."""
    counts = Counter(claim.status for claim in claims)
    rows = [[f"**{status}**", meaning, str(counts[status])] for status, meaning in STATUSES.items()]
    widths = (30, 54, 16)  # on a phone, too, a status stays whole
    return _list_table(["Status", "What it means", "Claims"], rows, widths=widths)


def render_filter(claims: list[Claim], *, rows: str, groups: str = "") -> str:
    """A field and a menu that hide the rows (a selector of CSS) that do not match; see `tools.filters.form`."""
    used = {claim.status for claim in claims}
    return _raw(filters.form("claims", rows=rows, groups=groups, choices=[name for name in STATUSES if name in used]))


def render_index(claims: list[Claim], *, pages: Collection[str] = ()) -> str:
    """A filter and a line for each claim: its name and place in the paper, its status, what it says.

    A line has the id that its row had when all rows stood on one page: an old address leads on from here.
    """
    head = "".join(f'<th scope="col">{name}</th>' for name in ("Claim and its place", "Status", "What it says"))
    by_file: dict[str, list[Claim]] = {}
    for claim in claims:
        by_file.setdefault(_stem(claim), []).append(claim)
    book = list(editions.places())
    by_place = sorted(by_file, key=lambda stem: book.index(page) if (page := f"{CLAIMS}/{stem}") in book else len(book))
    bodies = "\n".join(_index_of(stem, by_file[stem], pages) for stem in by_place)
    table = f'<table class="claims-index" data-forwards>\n<thead><tr>{head}</tr></thead>\n{bodies}\n</table>'
    form = render_filter(claims, rows="table.claims-index tr[id]", groups="table.claims-index tbody")
    return "\n\n".join([form, _raw(table), _raw(filters.forwarding())])


def _index_of(stem: str, claims: list[Claim], pages: Collection[str]) -> str:
    """The lines of one chapter, under its title."""
    page = claims_page(claims[0])
    address = f"{page.rpartition('/')[2]}.html"
    title = escape(quiz.load(stem).title)
    shown = f'<a href="claims/{address}">{title}</a>' if page in pages else title
    head = f'<tr><th scope="rowgroup" colspan="3">{shown}: {render_counts(claims)}</th></tr>'
    lines = [
        f'<tr id="{claim.anchor}">'
        f'<th scope="row"><a href="claims/{address}#{claim.anchor}">{claim.id}</a> '
        f"<small>{escape(_line(claim.place))}</small></th>"
        f"<td><em>{claim.status}</em></td><td>{_html(claim.statement)}</td></tr>"
        for claim in claims
    ]
    return "\n".join(["<tbody>", head, *lines, "</tbody>"])


def claims_page(claim: Claim) -> str:
    """The page that holds the row of a claim: that of its file."""
    return f"{CLAIMS}/{_stem(claim)}"


def _stem(claim: Claim) -> str:
    """The file of a row without its ending, "ddc": also the name of the main page of its chapter."""
    return claim.file.removesuffix(".yml")


def render_table(claims: list[Claim], *, pages: Collection[str] = (), everything: list[Claim] | None = None) -> str:
    """All claims as a table: id, place, status and links on the left; statement, limits and evidence on the right.

    `everything` are the claims that the book has (default: these); a mention of one becomes a link.
    """
    labels = {statement.label: statement.page for statement in statements()}
    known = {claim.id for claim in (claims if everything is None else everything)}
    rows = [[_name(claim, labels, pages), _text(claim, known - {claim.id})] for claim in claims]
    return _list_table(["Claim and status", "Statement and evidence"], rows, widths=(32, 68))


def render_errata(claims: list[Claim], *, pages: Collection[str] = (), everything: list[Claim] | None = None) -> str:
    """One section per erratum: what the paper says, the counterexample, the repaired statement, what remains right."""
    known = {claim.id for claim in (claims if everything is None else everything)}
    labels = {statement.label: statement.page for statement in statements()}
    entries = [_erratum(claim, claim.erratum, labels, pages, known - {claim.id}) for claim in claims if claim.erratum]
    return "\n\n".join(entries) or "No errata."


def _name(claim: Claim, labels: Labels, pages: Collection[str]) -> str:
    parts = [f"({claim.anchor})=\n**{claim.id}**", _line(claim.place), f"*{claim.status}*"]
    parts += [_links(claim, labels, pages), f"[Erratum](#{_erratum_anchor(claim)})" if claim.erratum else ""]
    return "\n\n".join(filter(None, parts))


def _text(claim: Claim, known: Collection[str]) -> str:
    parts = [
        _prose(claim.statement, known),
        f"*Needs:* {_prose(claim.assumption, known)}" if claim.assumption else "",
        f"*{claim.status.capitalize()}:* {_prose(claim.reason, known)}" if claim.reason else "",
        f"*Checked by machine, {claim.machine.scope}:* {_prose(claim.machine.what, known)}" if claim.machine else "",
        _prose(claim.note, known),
        f"*Not claimed:* {_prose(claim.not_claimed, known)}",
    ]
    if claim.depends_on:
        parts.append("*Rests on* " + ", ".join(f"[{other}](#{anchor(other)})" for other in claim.depends_on))
    return "\n\n".join(part for part in (*parts, _evidence(claim)) if part)


def _evidence(claim: Claim) -> str:
    """The checks and the numbers of a claim as lists, folded under a line that counts them; no script is needed."""
    checks = [f"- `{_short(check)}`" for check in claim.checks]
    numbers = [f"- {_scalar(scalar)}" for scalar in claim.scalars]
    found = [f"- {findings.find(name, '').sentence} ({{finding}}`{name}`)" for name in claim.findings]
    parts = {"check": checks, "number": numbers, "finding": found}
    counts = ", ".join(filter(None, (_count(len(lines), word) for word, lines in parts.items())))
    if not counts:
        return ""
    opening, end = (_raw(html) for html in (f"<details><summary>{counts}</summary>", "</details>"))
    return "\n\n".join(filter(None, [opening, *("\n".join(lines) for lines in parts.values()), end]))


def _raw(html: str) -> str:
    return f"```{{raw}} html\n{html}\n```"


def _count(number: int, word: str) -> str:
    """ "", "1 check", "3 checks"."""
    return f"{number} {word}{'s' if number > 1 else ''}" if number else ""


def _links(claim: Claim, labels: Labels, pages: Collection[str]) -> str:
    links = []
    if claim.theorem and f"book/{labels.get(claim.theorem)}" in pages:
        links.append(f"{{prf:ref}}`{claim.theorem}`")
    if claim.chapter and f"book/{claim.chapter}" in pages:
        links.append(f"{{doc}}`/book/{claim.chapter}`")
    return " in ".join(links)


def _scalar(scalar: Scalar) -> str:
    """Name, expected number with its tolerance, and where both come from."""
    margin = f" ± {scalar.tolerance:g}" if scalar.tolerance else " exactly"
    unit = f" {scalar.unit}" if scalar.unit else ""
    printed = f"; the paper has {scalar.printed:g}" if scalar.printed not in (None, scalar.expected) else ""
    ours = f"; ours from {scalar.origin}" if not scalar.function else ""
    return f"{scalar.name}: {scalar.expected:g}{margin}{unit} ({_line(scalar.source)}{ours}{printed})"


def _short(check: str) -> str:
    """A check without the parts that all checks share: "proofs:in_batch_expectation", "test_in_batch.py::test_mean"."""
    return check.removeprefix("course_lib.").removeprefix("tests/")


def _erratum_anchor(claim: Claim) -> str:
    return claim.anchor.replace("claim-", "erratum-", 1)


def _erratum(claim: Claim, erratum: Erratum, labels: Labels, pages: Collection[str], known: Collection[str]) -> str:
    links = _links(claim, labels, pages)
    where = [f"*{erratum.kind.capitalize()}*", _line(claim.place), f"claim [{claim.id}](#{claim.anchor})", links]
    fields = {
        "The paper": erratum.claim,
        "What we computed": erratum.counterexample,
        "Repaired": erratum.repair,
        "What remains right": erratum.credit,
    }
    lines = [f"({_erratum_anchor(claim)})=", f"### {_line(erratum.title)}", "", " · ".join(filter(None, where))]
    for name, text in fields.items():
        lines += ["", f"**{name}.** {_prose(text, known, word='claim ')}"]
    if erratum.extraction:
        caution = "This may be an artefact of the extraction rather than of the paper."
        lines += ["", f"We read the paper as extracted text. {caution}"]
    return "\n".join(lines)


def _prose(text: str, known: Collection[str], *, word: str = "") -> str:
    """One paragraph on one line, in which the id of a known claim leads to its row (not inside mathematics or code).

    word: what stands before an id, as outside the claims' own tables an id alone says nothing.
    """

    def link(match: re.Match[str]) -> str:
        return f"[{word}{match[0]}](#{anchor(match[0])})" if match[0] in known else match[0]

    return "".join(part if marked else _ID.sub(link, part) for part, marked in pieces_of(text))


def _html(text: str) -> str:
    """A paragraph as HTML, its formulas as Sphinx writes them for MathJax."""
    marks = {"$": '<span class="math notranslate nohighlight">\\({}\\)</span>', "`": "<code>{}</code>"}
    pieces = ((part, escape(part, quote=False), marked) for part, marked in pieces_of(text))
    return "".join(marks[part[0]].format(safe[1:-1]) if marked else safe for part, safe, marked in pieces)


def pieces_of(text: str) -> list[tuple[str, bool]]:
    """A paragraph in pieces, with whether each is marked up: "so $n=2$" -> ("so ", False), ("$n=2$", True), ..."""
    return [(part, bool(number % 2)) for number, part in enumerate(_NOT_PROSE.split(_line(text)))]


def _line(text: str) -> str:
    """One paragraph on one line (YAML folds long texts)."""
    return " ".join(text.split())


def _list_table(head: list[str], rows: list[list[str]], *, widths: tuple[int, ...]) -> str:
    lines = ["````{list-table}", ":header-rows: 1", f":widths: {' '.join(map(str, widths))}", ":class: claims", ""]
    for row in [head, *rows]:
        for number, cell in enumerate(row):
            first, *rest = cell.split("\n")
            lines.append(("* - " if number == 0 else "  - ") + first)
            lines += [f"    {line}" if line else "" for line in rest]
    return "\n".join([*lines, "````"])
