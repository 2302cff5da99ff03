"""The picture of a page where a link to it is shown as a card: its title, and two towers under one angle."""

from __future__ import annotations

import hashlib
import textwrap
from pathlib import Path

import matplotlib
from PIL import Image, ImageDraw, ImageFont
from PIL.PngImagePlugin import PngInfo

SIZE = (1200, 630)  # what the sites that show cards ask for
MADE_OF = "made of"  # the word in a card before the hash of what it was drawn from
BLUE, AMBER, INK, QUIET, PAPER = "#1d4e89", "#d08a00", "#16202c", "#5a6675", "#f6f8fa"
FONTS = Path(matplotlib.get_data_path()) / "fonts" / "ttf"  # the same letters on every machine


def picture(title: str, course: str) -> Image.Image:
    """One card: (1200, 630) pixels, a palette of 16 colours."""
    card = Image.new("RGB", SIZE, PAPER)
    draw = ImageDraw.Draw(card)
    draw.rectangle((0, 0, 24, SIZE[1]), fill=BLUE)
    _towers(draw)
    size, lines = _fitting(title)
    draw.multiline_text((84, 150), "\n".join(lines), fill=INK, font=_font("DejaVuSans-Bold", size), spacing=18)
    draw.text((84, 510), course, fill=QUIET, font=_font("DejaVuSans", 34))
    return card.quantize(16, dither=Image.Dither.NONE)


def _fitting(title: str) -> tuple[int, list[str]]:
    """The largest letters with which a title takes at most four lines of 740 pixels."""
    for size, width in ((64, 18), (54, 22), (46, 26), (38, 32)):
        lines = textwrap.wrap(title, width)
        if len(lines) <= 4:
            return size, lines
    return size, lines[:5]


def _towers(draw: ImageDraw.ImageDraw) -> None:
    """Two towers, their vectors, and the angle between these."""
    for left, right, top, colour in ((900, 960, 330, BLUE), (1060, 1120, 290, AMBER)):
        draw.polygon(
            [(left, 520), (left, top + 40), ((left + right) // 2, top), (right, top + 40), (right, 520)], colour
        )
    draw.line((880, 522, 1140, 522), fill=INK, width=5)
    draw.line((1010, 250, 930, 120), fill=BLUE, width=9)
    draw.line((1010, 250, 1110, 140), fill=AMBER, width=9)
    draw.arc((960, 200, 1060, 300), 238, 312, fill=QUIET, width=5)


def _font(name: str, size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(FONTS / f"{name}.ttf", size, layout_engine=ImageFont.Layout.BASIC)


def write_all(folder: Path, titles: dict[str, str], course: str) -> None:
    """Write the card of each title as NAME.png, and take away the cards of pages that are gone.

    One that was drawn by the same code from the same words stays.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.png"):
        if old.stem not in titles:
            old.unlink()
    for name, title in titles.items():
        path, made_of = folder / f"{name}.png", PngInfo()
        drawn = hashlib.sha256(Path(__file__).read_bytes() + f"\0{title}\0{course}".encode()).hexdigest()
        if not (path.is_file() and _made_of(path) == drawn):
            made_of.add_text(MADE_OF, drawn)
            picture(title, course).save(path, optimize=True, pnginfo=made_of)


def _made_of(path: Path) -> str:
    """What a card says that it was drawn from."""
    try:
        with Image.open(path) as card:
            return str(card.info.get(MADE_OF, ""))
    except OSError:  # torn, by a build that was broken off
        return ""
