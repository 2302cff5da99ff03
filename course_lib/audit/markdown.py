"""The report in Markdown, for the summary of a run in CI: headline, actions, and the answers that are not fine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from course_lib.audit.actions import Action
from course_lib.audit.page import CARDS, SIGNS
from course_lib.audit.verdicts import Verdict, counted


def summary(
    title: str,
    said: Sequence[str],
    verdicts: Sequence[Verdict],
    further: Sequence[Verdict] = (),
    actions: Sequence[Action] = (),
) -> str:
    """said: sentences under the title. Of fine verdicts the ids alone; of the others, faults first, the support too."""
    parts = [f"## {_plain(title)}", *(_plain(each) for each in said), *_to_do(actions), f"**{counted(verdicts)}**"]
    shown = [each for answer in ("fault", "noted") for each in (*verdicts, *further) if each.verdict == answer]
    if shown:
        rows = (f"| {SIGNS[each.verdict]} {each.verdict} | {each.id} | {_cell(each.lead)} |" for each in shown)
        parts.append("\n".join(["| | question | |", "|---|---|---|", *rows]))
    for each in shown:
        inside = f"{_plain(each.support)} {_plain(each.advice)}".strip()
        parts.append(f"<details><summary>{each.id}</summary>\n\n{inside}\n\n</details>")
    rest = {answer: [each.id for each in verdicts if each.verdict == answer] for answer in ("fine", "cannot tell")}
    parts += [f"{answer}: {', '.join(ids)}" for answer, ids in rest.items() if ids]
    return "\n\n".join(part for part in parts if part) + "\n"


def _to_do(actions: Sequence[Action]) -> Iterator[str]:
    for at, action in enumerate(actions, 1):
        code = "\n".join(f"   {line}" for line in action.code)
        card = f"[the decision]({CARDS}#decision-{action.decision})"
        yield f"{at}. **{_plain(action.title)}** {_plain(action.why)} ({card})\n\n   ```python\n{code}\n   ```"


def _plain(text: str) -> str:
    """A text whose signs are no marks of Markdown: a file may be called <b>.npy."""
    return re.sub(r"([\\`*_<>\[\]#])", r"\\\1", text)


def _cell(text: str) -> str:
    return _plain(text).replace("|", r"\|").replace("\n", " ")
