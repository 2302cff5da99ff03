"""The picture of a page where a link to it is shown as a card: its title, the name of the course, and its logo."""

from __future__ import annotations

import hashlib
import math
from functools import cache
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont
from PIL.PngImagePlugin import PngInfo

from course_lib.lessons.shared.house import INK, PULL, PUSH, SOFT

SIZE = (1200, 630)  # what the sites that show cards ask for
MADE_OF = "made of"  # the word in a card before the hash of what it was drawn from
PAPER = "#ffffff"
CODE = Path(__file__).read_bytes()  # as this process runs it, whatever is saved meanwhile
FONTS = Path(__file__).with_name("fonts")  # those of the site's headings
LEFT, WIDE, HIGH = 84, 690, 380  # pixels: from the left, the longest line of a title, all of its lines
LETTERS = (84, 72, 62, 54, 46, 38)  # sizes of the title's letters, the largest first


def picture(title: str, course: str) -> Image.Image:
    """One card: (1200, 630) pixels, a palette of 32 colours; a page that is named as the course says so once."""
    card = Image.new("RGB", SIZE, PAPER)
    draw = ImageDraw.Draw(card)
    draw.rectangle((0, 0, 24, SIZE[1]), fill=PULL)
    card.paste(logo(320), (816, 150))
    font, lines = _fitting(title)
    draw.multiline_text((LEFT, 110), "\n".join(lines), fill=INK, font=font, spacing=0.3 * font.size)
    if course != title:
        draw.text((LEFT, 510), course, fill=SOFT, font=_font(400, 38))
    return card.quantize(32, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)


def _fitting(title: str) -> tuple[ImageFont.FreeTypeFont, list[str]]:
    """The largest letters with which a title fits, and its lines; the smallest ones where none fit."""
    for size in LETTERS:
        font = _font(700, size)
        lines = _lines(title, font)
        if max(map(font.getlength, lines)) <= WIDE and 1.3 * size * len(lines) <= HIGH:
            break
    return font, lines


def _lines(title: str, font: ImageFont.FreeTypeFont) -> list[str]:
    """A title on lines of at most 690 pixels; no word is broken, not even at a hyphen."""
    first, *others = title.split()
    lines = [first]
    for word in others:
        longer = f"{lines[-1]} {word}"
        if font.getlength(longer) <= WIDE:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


@cache
def logo(side: int) -> Image.Image:
    """The shapes of ../book/assets/logo.svg, which Pillow cannot read, on a square of `side` pixels."""
    unit = 4 * side / 64  # drawn four times as large: Pillow's edges are hard
    large = Image.new("RGB", (4 * side, 4 * side), PAPER)
    draw = ImageDraw.Draw(large)
    draw.arc([unit * place for place in (2.2, 26.2, 61.8, 85.8)], 238, 302, fill=INK, width=round(3.6 * unit))
    tower = [(-6.5, 0), (-6.5, -49), (-2.6, -49), (-2.6, -44.6), (2.6, -44.6), (2.6, -49), (6.5, -49), (6.5, 0)]
    window = [(-1.6, -37), (1.6, -37), (1.6, -30.6), (-1.6, -30.6)]
    for degrees, colour in ((-32, PULL), (32, PUSH)):
        along, across = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
        for corners, fill in ((tower, colour), (window, PAPER)):
            turned = [(32 + along * x - across * y, 56 + across * x + along * y) for x, y in corners]
            draw.polygon([(unit * x, unit * y) for x, y in turned], fill=fill)
    draw.ellipse([unit * place for place in (25, 48.5, 39, 62.5)], fill=INK)
    return large.resize((side, side), Image.Resampling.LANCZOS)


@cache
def _font(weight: int, size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(FONTS / f"course-sans-{weight}.ttf", size, layout_engine=ImageFont.Layout.BASIC)


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
        drawn = hashlib.sha256(CODE + f"\0{title}\0{course}".encode()).hexdigest()
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
