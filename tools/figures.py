"""A Sphinx extension that shows each figure in the reader's colours and at the reader's width.

An executed notebook holds a figure as one SVG with two drawings (``tools/drawing.py``). Here they become four files:
for a desk and for a phone, on a light and on a dark page. A page names all four, and a browser loads one.
The dark colours are those of the interactives' style sheet where it has them; any other colour keeps its hue, and its
lightness is turned over: white becomes the page, ink becomes light.
"""

from __future__ import annotations

import base64
import io
import re
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from sphinx.application import Sphinx

from tools.drawing import BEGIN, DASHES_IN_COMMENT, END

Colors = NDArray[np.float64]

SHEET = Path(__file__).resolve().parents[1] / "course_lib/lessons/shared/widgets/course_widgets.css"
NARROW = 600  # px: up to this width a page shows the drawing for a phone
DARK = "-dark"
LIFT = 0.75  # below one: pale colours stand out from a dark page as they do from a white one

# Linear light -> cones -> lightness, green to red, blue to yellow: Björn Ottosson's Oklab (2020).
TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
HEX = re.compile(r"#[0-9a-f]{6}\b")
RASTER = re.compile(r'(?<=data:image/png;base64,)[^"]+')
PHONE = re.compile(re.escape(BEGIN) + "(.*?)" + re.escape(END), re.DOTALL)
PLACE = re.compile(r'<img (?P<before>[^>]*?)src="(?P<folder>[^"]*_images/)(?P<name>[^"/]+)\.svg"(?P<after>[^>]*?)/?>')
FIGURE = re.compile(  # of which the first picture gives the size
    r'<figure class="[^"]*"[^>]*>\s*(?:<a[^>]*>)?<picture(?:(?!</figure>).)*?<img [^>]*?width="(?P<width>\d+)" '
    r'height="(?P<height>\d+)"(?:(?!</figure>).)*?<figcaption>(?P<caption>(?:(?!</figure>).)*)</figcaption>',
    re.DOTALL,
)
TAG = re.compile("<[^>]*>")
COLUMN, MARGIN_LINE, MARGIN_LETTERS = 690, 21, 32  # px, px, letters in a line of the margin
SIZE = re.compile(r'<svg [^>]*?viewBox="0 0 ([\d.]+) ([\d.]+)"')
SCHEME = re.compile(r"--cw-([a-z-]+): (#[0-9a-f]{6});")


def to_lab(colors: Colors) -> Colors:
    """Oklab of sRGB colours; both of shape (..., 3), sRGB from 0 to 1."""
    linear = np.where(colors <= 0.04045, colors / 12.92, ((colors + 0.055) / 1.055) ** 2.4)
    lab: Colors = np.cbrt(linear @ TO_CONES.T) @ TO_LAB.T
    return lab


def from_lab(lab: Colors) -> Colors:
    """sRGB of Oklab colours, cut off where a screen ends; both of shape (..., 3)."""
    linear = np.clip((lab @ np.linalg.inv(TO_LAB).T) ** 3 @ np.linalg.inv(TO_CONES).T, 0.0, 1.0)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)


def turned_over(colors: Colors) -> Colors:
    """Colours for a dark page: white -> the page, ink -> the light ink, each hue as it was; shape (..., 3), 0 to 1."""
    page, ink = (to_lab(rgb(color))[0] for color in (pairs()["#ffffff"], pairs()["#1a2230"]))
    darkest = to_lab(rgb("#1a2230"))[0]
    lab = to_lab(colors)
    depth = np.clip((1 - lab[..., 0]) / (1 - darkest), 0.0, 1.0)  # 0: white, 1: ink
    lab[..., 0] = page + (ink - page) * depth**LIFT
    return from_lab(lab)


def rgb(color: str) -> Colors:
    """The three parts, from 0 to 1, of a colour such as "#0a5c9e"."""
    return np.array([int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)])


def written(color: Colors) -> str:
    """A colour of three parts as "#0a5c9e"."""
    return "#" + "".join(f"{round(255 * part):02x}" for part in color)


@cache
def pairs() -> dict[str, str]:
    """The course's colours: light -> dark, as the interactives' style sheet gives them."""
    light, dark = (dict(SCHEME.findall(block)) for block in SHEET.read_text(encoding="utf-8").split("}")[:2])
    return {light[name]: dark[name] for name in light}


@cache
def dark_color(color: str) -> str:
    """The colour that stands on a dark page for one on a light page."""
    return pairs().get(color) or written(turned_over(rgb(color)))


def dark_raster(data: str) -> str:
    """A picture inside a drawing (PNG, base64), turned over; what is see-through stays so."""
    with Image.open(io.BytesIO(base64.b64decode(data))) as image:
        pixels = np.asarray(image.convert("RGBA")) / 255
    colors = np.concatenate([turned_over(pixels[..., :3]), pixels[..., 3:]], axis=-1)
    target = io.BytesIO()
    Image.fromarray(np.round(255 * colors).astype(np.uint8)).save(target, "PNG", optimize=True)
    return base64.b64encode(target.getvalue()).decode()


def dark(drawing: str) -> str:
    """A drawing for a dark page. Matplotlib leaves black out where it fills: there the root's colour counts."""
    colored = HEX.sub(lambda color: dark_color(color[0]), drawing)
    filled = colored.replace("<svg ", f'<svg fill="{dark_color("#000000")}" ', 1)
    return RASTER.sub(lambda data: dark_raster(data[0]), filled)


def drawings(both: str) -> dict[str, str]:
    """The four files of a figure: the end of the name -> the drawing."""
    narrow = PHONE.search(both)
    assert narrow is not None
    light = {"": PHONE.sub("", both), "-phone": narrow[1].replace(*DASHES_IN_COMMENT[::-1])}
    return {f"{end}{shade}": dark(one) if shade else one for end, one in light.items() for shade in ("", DARK)}


def size(drawing: str) -> str:
    """The attributes that keep a figure's place until it has come."""
    found = SIZE.search(drawing)
    assert found is not None
    width, height = (round(float(points) * 4 / 3) for points in found.groups())
    return f'width="{width}" height="{height}"'


def shown(place: re.Match[str], both: str) -> str:
    """The HTML of a figure, of which a browser loads one file: a picture that is not displayed is not loaded."""
    narrow = PHONE.search(both)
    assert narrow is not None
    said = f"{place['before']}{place['after']}".strip()
    path = escape(f"{place['folder']}{place['name']}")
    return "".join(
        f'<picture class="drawn-for-{name}"><source media="(max-width: {NARROW}px)" srcset="{path}-phone{shade}.svg" '
        f'{size(narrow[1])}><img {said} src="{path}{shade}.svg" {size(both)} loading="lazy"></picture>'
        for name, shade in (("light", ""), ("dark", DARK))
    )


def show_figures(app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Put four files in the place of each figure of a page."""
    sources = {name: Path(app.srcdir) / source for source, name in app.builder.images.items()}

    def drawn(place: re.Match[str]) -> str:
        source = sources.get(f"{place['name']}.svg")
        both = source.read_text(encoding="utf-8") if source else ""
        return shown(place, both) if BEGIN in both else place[0]

    if context.get("body"):
        context["body"] = FIGURE.sub(_beside, PLACE.sub(drawn, context["body"]))


def _beside(figure: re.Match[str]) -> str:
    """A figure whose caption stands in the margin, where it is not longer there than the figure is high."""
    height = int(figure["height"]) * min(1.0, COLUMN / int(figure["width"]))
    lines = len(TAG.sub("", figure["caption"])) / MARGIN_LETTERS
    return figure[0].replace('class="', 'class="margin-caption ', 1) if lines * MARGIN_LINE < height + 60 else figure[0]


def write_drawings(app: Sphinx, failure: Exception | None) -> None:
    """Write the four files of each figure that this build has copied."""
    if failure is not None or app.builder.format != "html":
        return
    for path in (Path(app.outdir) / "_images").glob("*.svg"):
        both = path.read_text(encoding="utf-8")
        if BEGIN in both:
            for end, drawing in drawings(both).items():
                path.with_name(f"{path.stem}{end}.svg").write_text(drawing, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("html-page-context", show_figures)
    app.connect("build-finished", write_drawings)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
