"""The audit that runs in the page: its report says of the same files what the command says, number by number."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pages_that_run import Shown, shown

from course_lib.audit.command import cli
from tests.widget_pages import serious_violations

USERS, ITEMS = 300, 400
SAME = 1e-4  # relative: another processor sums in another order, in single precision
pytestmark = [pytest.mark.pipeline, pytest.mark.browser]


def tables(kind: str) -> dict[str, np.ndarray]:
    """Users and items of four kinds, by the name of their field: "few" has no users."""
    rng = np.random.default_rng(0)
    users, items = rng.normal(size=(USERS, 16)), rng.normal(size=(ITEMS, 16))
    if kind == "long":  # lengths that grow with the popularity
        items *= np.linspace(0.5, 3, ITEMS)[:, None]
    if kind == "shifted":
        users, items = users + 1, items + 2
    return {"items": items} if kind == "few" else {"items": items, "users": users}


def drawn(rng: np.random.Generator, each: int) -> np.ndarray:
    """So many pairs of each user; the last items are the popular ones."""
    chances = np.arange(1, ITEMS + 1) / (ITEMS * (ITEMS + 1) / 2)
    return np.array(
        [(user, item) for user in range(USERS) for item in rng.choice(ITEMS, each, replace=False, p=chances)]
    )


def files(kind: str, folder: Path) -> dict[str, Path]:
    """The tables, and training and held-out pairs where there are users, as files."""
    rng, found = np.random.default_rng(1), {}
    for name, table in tables(kind).items():
        found[name] = folder / f"{name}.npy"
        np.save(found[name], table.astype("f8" if kind == "long" else "f4"))
    for name, each in (("pairs", 12), ("held-out", 2)) if "users" in found else ():
        found[name] = folder / f"{name}.csv"
        np.savetxt(found[name], drawn(rng, each), "%d", ",", header="user,item", comments="")
    return found


def in_text(folder: Path) -> dict[str, Path]:
    """Ids of letters: tables as GloVe and word2vec write them, pairs with times, the held-out ones later."""
    rng, of = np.random.default_rng(1), tables("normal")
    lines = {
        "items.txt": [f"film-{row} " + " ".join(map(str, of["items"][row])) for row in range(ITEMS)],
        "users.vec": [
            f"{USERS} 16",
            *(f"reader-{row} " + " ".join(map(str, of["users"][row])) for row in range(USERS)),
        ],
    }
    for name, each, day in (("pairs", 12, 1), ("held-out", 2, 20)):
        made = [f"reader-{user},film-{item},2024-03-{day + item % 9:02}" for user, item in drawn(rng, each)]
        lines[f"{name}.csv"] = ["reader,sku,when", *made]
    for name, text in lines.items():
        (folder / name).write_text("\n".join(text) + "\n", encoding="utf-8")
    return {Path(name).stem: folder / name for name in lines}


def in_arrays(folder: Path) -> dict[str, Path]:
    """Ids in a file of their own, in another order than the rows; a row of zeros; nothing held out."""
    rng, of = np.random.default_rng(1), tables("long")
    ids, pairs = rng.permutation(ITEMS), drawn(rng, 12)
    of["items"][7] = 0
    np.savez(folder / "items.npz", vectors=of["items"])
    np.save(folder / "users.npy", of["users"].astype("f4"))
    np.savez(folder / "pairs.npz", users=pairs[:, 0], items=ids[pairs[:, 1]] + 1000)
    np.savetxt(folder / "item-ids.txt", ids + 1000, "%d")
    return {path.stem: path for path in folder.iterdir() if path.is_file()}


def differences(there: Any, here: Any, at: str = "") -> Iterator[str]:
    """Where two reports differ, in words, verdicts or numbers."""
    if isinstance(there, dict) and isinstance(here, dict) and list(there) == list(here):
        for name in here:
            yield from differences(there[name], here[name], f"{at}.{name}")
    elif isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        for place, (one, other) in enumerate(zip(there, here, strict=True)):
            yield from differences(one, other, f"{at}[{place}]")
    elif isinstance(there, float) and isinstance(here, float):
        if there != pytest.approx(here, rel=SAME, abs=1e-6):
            yield f"{at}: {there} in the page, {here} by the command"
    elif there != here:
        yield f"{at}: {there!r} in the page, {here!r} by the command"


def audited(opened: Shown, given: dict[str, Path], options: list[str]) -> Any:
    """What the page finds."""
    page = opened.page
    page.reload()
    page.locator("summary").click()
    page.fill("input[name=options]", " ".join(options))
    for name, path in given.items():
        page.set_input_files(f"input[name={name}]", str(path))
    page.get_by_role("button", name="Audit here").click()
    with page.expect_download(timeout=600_000) as kept:
        page.get_by_role("link", name="report.json").click(timeout=600_000)
    return json.loads(Path(kept.value.path()).read_text(encoding="utf-8"))


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Shown]:
    with shown(browser, tmp_path, '<div class="audit-here"></div>', "audit_here.js") as found:
        yield found


def test_nothing_is_loaded_before_there_is_something_to_audit(opened: Shown) -> None:
    opened.page.get_by_role("button", name="Audit here").click()
    assert "Choose a file for: Item table." in opened.page.inner_text(".audit-here output")
    assert not any("python/" in url for url in opened.asked)


def test_by_the_keyboard_alone(opened: Shown) -> None:
    """Tab leads to the sample, to Cancel while it runs, and to the report; axe finds no fault."""
    keyboard, focused = opened.page.keyboard, "document.activeElement.textContent"

    def tab_to(text: str) -> None:
        for _ in range(20):
            keyboard.press("Tab")
            if opened.page.evaluate(focused) == text:
                return
        pytest.fail(f"Tab does not lead to {text}")

    tab_to("Try it with a sample")
    keyboard.press("Enter")
    opened.page.get_by_role("button", name="Cancel").wait_for(timeout=200_000)
    tab_to("Cancel")
    keyboard.press("Enter")
    opened.page.get_by_text("Stopped.").wait_for()
    keyboard.press("Shift+Tab")
    assert opened.page.evaluate(focused) == "Try it with a sample"
    keyboard.press("Enter")
    opened.page.get_by_text("Done.").wait_for(timeout=400_000)
    tab_to("report.html")
    tab_to("report.json")
    keyboard.press("Tab")
    assert opened.page.evaluate("document.activeElement.title") == "The report"
    assert serious_violations(opened.page) == []


KINDS = {  # how the files are made, and what is said besides
    **{kind: (partial(files, kind), []) for kind in ("long", "shifted", "few")},
    "in text": (
        in_text,
        ["--columns", "user=reader", "item=sku", "time=when", "--temperature", "0.1", "--loss", "in-batch-softmax"],
    ),
    "in arrays": (in_arrays, ["--drop-zero-rows", "-k", "5"]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_says_what_the_command_says(kind: str, opened: Shown, tmp_path: Path) -> None:
    made, options = KINDS[kind]
    folder = tmp_path / "given"
    folder.mkdir()
    given = made(folder)
    there = audited(opened, given, options)
    arguments = [word for name, path in given.items() for word in (f"--{name}", str(path))]
    assert cli([*arguments, *options, "--json", str(tmp_path / "report.json")]) == 0
    written = (tmp_path / "report.json").read_text(encoding="utf-8")
    here = json.loads(written.replace(str(folder), "/work"))  # where the files lie in the page
    assert list(differences(there, here)) == []


def test_what_the_page_cannot_read_it_names_in_its_own_words(opened: Shown, tmp_path: Path) -> None:
    page, wrong = opened.page, tmp_path / "items.parquet"
    wrong.write_bytes(b"PAR1")
    page.set_input_files("input[name=items]", str(wrong))
    for options, says in (("", "save the file as .npy or .csv"), ("--no-such", "unrecognized arguments: --no-such")):
        page.locator(".audit-here details").evaluate("(fold) => (fold.open = true)")
        page.fill("input[name=options]", options)
        page.get_by_role("button", name="Audit here").click()
        page.get_by_text(says).wait_for(timeout=200_000)
    assert "/work/" not in page.inner_text(".audit-here")
