"""How long a page takes: one rule, computed from the page while the book is built, and the same everywhere.

    reading = words / 45 + formulas in the text / 6 + displayed formulas + visible lines of code / 10    (minutes)
    exercises = the minutes that the exercises name

Words are counted up to the exercises. The weights were chosen once, so that the sum is within a quarter of what two
readers with linear algebra and Python took for eight chapters (4 to 6 hours each). Minutes are rounded to 5, hours to
halves.

    {minutes}`reading`, {minutes}`exercises`      of the page that holds the role: "65 minutes"
    {hours}`book/debiasing/ddc`                    both together, of any page: "5 hours"
"""

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tools import conclusions

ROOT = Path(__file__).resolve().parents[1]
HIDDEN = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
DISPLAYED = re.compile(r"^\$\$.*?\$\$", re.M | re.S)
INLINE = re.compile(r"\$[^$\n]+\$")
MARKUP = re.compile(r"\{[\w:-]+\}`[^`]*`|^:::[^\n]*$|^:\w[^\n]*$|<!--.*?-->|\]\([^)]*\)", re.M | re.S)
WORD = re.compile(r"[A-Za-z][\w'’-]*")
EXERCISE = re.compile(r"importance \d, (\d+) minutes\.\*")


@dataclass(frozen=True)
class StudyTime:
    """Minutes for reading a page and for its exercises."""

    reading: float
    exercises: float

    @property
    def hours(self) -> str:
        """Both together, to half an hour: "4 hours", "1.5 hours", "less than an hour"."""
        total = self.reading + self.exercises
        if total < 50:
            return "less than an hour"
        halves = max(2, round(total / 30))
        return "an hour" if halves == 2 else f"{halves / 2:g} hours"


def in_words(minutes: float) -> str:
    """ "65 minutes", to the nearest five."""
    return f"{max(5, 5 * round(minutes / 5))} minutes"


@lru_cache(maxsize=64)
def of_page(path: Path, _changed: int = 0) -> StudyTime:
    """The study time of a page, read from its source."""
    text, code = _contents(path)
    read = text.split("\n## Exercises")[0]
    plain = DISPLAYED.sub("", read)
    words = WORD.findall(MARKUP.sub(" ", INLINE.sub(" ", plain)))
    formulas, displayed = len(INLINE.findall(plain)), len(DISPLAYED.findall(read))
    reading = len(words) / 45 + formulas / 6 + displayed + code / 10
    return StudyTime(reading, float(sum(map(int, EXERCISE.findall(text)))))


def _contents(path: Path) -> tuple[str, int]:
    """(Markdown, visible lines of code) of a page."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"] if path.suffix == ".ipynb" else []
    shown = [c for c in cells if c["cell_type"] == "code" and not HIDDEN & set(c["metadata"].get("tags", []))]
    return conclusions.text_of(path), sum("".join(cell["source"]).count("\n") + 1 for cell in shown)


def of_name(page: str) -> StudyTime:
    """The study time of "book/debiasing/ddc"; KeyError where there is no such page."""
    for suffix in (".ipynb", ".md"):
        path = ROOT / f"{page}{suffix}"
        if path.is_file():
            return of_page(path, path.stat().st_mtime_ns)
    raise KeyError(f"study time: {page!r} is no page of the book")


def said(role: str, content: str, page: str) -> str:
    """What a role shows on a page: minutes of that page, or hours of the page that it names."""
    if role == "hours":
        return of_name(content).hours
    time = of_name(page)
    parts = {"reading": time.reading, "exercises": time.exercises}
    if content not in parts:
        raise KeyError(f"minutes: got {content!r}, expected one of {', '.join(parts)}")
    return in_words(parts[content])
