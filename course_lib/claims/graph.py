"""What rests on what: the dependency graph of the claims as one SVG, and the same as a list.

The picture uses the colour of the text around it (light and dark), tells statuses by a letter, and needs no script.
"""

from html import escape

from course_lib.claims.rows import STATUSES, Claim, anchor

LETTERS = {
    "proved": "P", "enumerated": "E", "tested": "T", "reproduced": "R", "not reproduced": "N",
    "disputed": "D", "needs assumption": "A", "not run": "–",
}  # fmt: skip
BOX_WIDTH, BOX_HEIGHT, GAP_X, GAP_Y, MARGIN = 168, 24, 62, 10, 8


def edges(claims: list[Claim]) -> list[tuple[str, str]]:
    """Pairs (claim, what it rests on), both among `claims`, in the order of the rows."""
    known = {claim.id for claim in claims}
    return [(claim.id, other) for claim in claims for other in claim.depends_on if other in known]


def layers(claims: list[Claim]) -> list[list[str]]:
    """The claims that have an edge, in columns: the foundations first, each claim right of all that it rests on."""
    pairs = edges(claims)
    needs: dict[str, list[str]] = {name: [] for pair in pairs for name in pair}
    for name, other in pairs:
        needs[name].append(other)
    depth: dict[str, int] = {}

    def depth_of(name: str) -> int:
        if name not in depth:
            depth[name] = 1 + max((depth_of(other) for other in needs[name]), default=-1)
        return depth[name]

    order = [claim.id for claim in claims if claim.id in needs]
    columns: list[list[str]] = [[] for _ in range(1 + max((depth_of(name) for name in order), default=-1))]
    for name in order:
        columns[depth[name]].append(name)
    return _untangle(columns, needs)


def _untangle(columns: list[list[str]], needs: dict[str, list[str]]) -> list[list[str]]:
    """Sort each column by the mean height of its neighbours (the barycentre rule), a few times left and right."""
    users: dict[str, list[str]] = {name: [] for name in needs}
    for name, others in needs.items():
        for other in others:
            users[other].append(name)
    for sweep in range(8):
        near = needs if sweep % 2 == 0 else users
        height = {name: row / max(len(column), 1) for column in columns for row, name in enumerate(column)}
        for column in columns if sweep % 2 == 0 else reversed(columns):
            mean = {name: _mean([height[other] for other in near[name]], height[name]) for name in column}
            column.sort(key=lambda name: (mean[name], name))
            height |= {name: row / max(len(column), 1) for row, name in enumerate(column)}
    return columns


def _mean(values: list[float], default: float) -> float:
    return sum(values) / len(values) if values else default


def graph_svg(claims: list[Claim]) -> str:
    """The graph as an SVG element with a title and a description; an empty string when nothing rests on anything."""
    columns = layers(claims)
    if not columns:
        return ""
    status = {claim.id: claim.status for claim in claims}
    rows = max(len(column) for column in columns)
    width = 2 * MARGIN + len(columns) * BOX_WIDTH + (len(columns) - 1) * GAP_X
    height = 2 * MARGIN + rows * BOX_HEIGHT + (rows - 1) * GAP_Y
    place = {name: _corner(x, y, len(column), height) for x, column in enumerate(columns) for y, name in enumerate(column)}
    arrows = [_arrow(place[name], place[other]) for name, other in edges(claims)]
    boxes = [_box(name, status[name], *place[name]) for column in columns for name in column]
    label = f"{len(boxes)} claims, {len(arrows)} arrows. Each line leads from a claim, on the right, to what it rests on."
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'role="img" aria-label="Dependency graph of the claims: {escape(label)} The list below says the same." '
            'fill="none" stroke="currentColor" font-family="sans-serif" font-size="12">',
            *arrows,
            *boxes,
            "</svg>",
        ]
    )


def _corner(column: int, row: int, rows: int, height: int) -> tuple[float, float]:
    """Upper left corner of a box; a column is centred on the height of the picture."""
    used = rows * BOX_HEIGHT + (rows - 1) * GAP_Y
    return MARGIN + column * (BOX_WIDTH + GAP_X), (height - used) / 2 + row * (BOX_HEIGHT + GAP_Y)


def _arrow(start: tuple[float, float], end: tuple[float, float]) -> str:
    """A curve from the left edge of a claim's box to the right edge of the box that it rests on."""
    x1, y1 = start[0], start[1] + BOX_HEIGHT / 2
    x2, y2 = end[0] + BOX_WIDTH, end[1] + BOX_HEIGHT / 2
    bend = min(GAP_X, (x1 - x2)) / 2
    path = f"M{x1:g} {y1:g}C{x1 - bend:g} {y1:g} {x2 + bend:g} {y2:g} {x2:g} {y2:g}"
    return f'<path d="{path}" stroke-opacity="0.45"/><circle cx="{x2:g}" cy="{y2:g}" r="2.5" fill="currentColor"/>'


def _box(name: str, status: str, x: float, y: float) -> str:
    dash = ' stroke-dasharray="4 3"' if status in ("disputed", "not reproduced", "not run") else ""
    text_y = y + BOX_HEIGHT / 2 + 4
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="4"{dash}/>'
        f'<text x="{x + 8:g}" y="{text_y:g}" fill="currentColor" stroke="none" font-weight="bold">{LETTERS[status]}</text>'
        f'<text x="{x + 24:g}" y="{text_y:g}" fill="currentColor" stroke="none">{escape(name)}</text>'
    )


def graph_html(claims: list[Claim]) -> str:
    """The picture in a box that scrolls, also by keyboard, with its legend; a raw HTML block for a MyST page."""
    svg = graph_svg(claims)
    if not svg:
        return "No claim rests on another one."
    used = {claim.status for claim in claims}
    legend = ", ".join(f"{LETTERS[status]} {status}" for status in STATUSES if status in used)
    box = f'<div role="region" aria-label="Dependency graph" tabindex="0" style="overflow-x: auto">\n{svg}\n</div>'
    return f"Letters: {legend}. A dashed box: contradicted, or not run.\n\n```{{raw}} html\n{box}\n```"


def graph_list(claims: list[Claim]) -> str:
    """The same as the picture, as a list with links: each claim with what it rests on."""
    known = {claim.id for claim in claims}
    lines = []
    for claim in claims:
        others = ", ".join(f"[{other}](#{anchor(other)})" for other in claim.depends_on if other in known)
        if others:
            lines.append(f"- [{claim.id}](#{claim.anchor}) rests on {others}")
    return "\n".join(lines) or "No claim rests on another one."
