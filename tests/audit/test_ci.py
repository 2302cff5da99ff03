"""What a team's CI uses: the example workflow is run step by step, its summary, its exit codes and the JSON's keys."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from audit import planted
from drafts import one_quickly

import course_lib.audit
from course_lib.audit import audit, compare
from course_lib.audit.tables import Table

pytestmark = pytest.mark.seconds

WORKFLOW = Path(course_lib.audit.__file__).with_name("workflow.yml")
ROOT = Path(__file__).resolve().parents[2]


def save(model: planted.Model, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    tables = {"items": model.items, "users": model.users, "pairs": model.pairs.pairs, "held_out": model.held_out.pairs}
    for name, table in tables.items():
        np.save(folder / f"{name}.npy", table)


def run_steps(folder: Path, good: bool) -> dict[str, int]:
    """{its name or command: exit status} of the steps of the workflow that are commands, as `bash -e` runs them."""
    model = planted.clean(0)
    save(model, folder / "served")
    save(planted.clean(0) if good else planted.PLANTS["leaked-test-pairs"](0, 2), folder / "trained")
    save(model, folder / "other-seed")
    (folder / "train.py").write_text("import shutil, sys; shutil.copytree('trained', sys.argv[2])")
    commands = folder / "bin"
    commands.mkdir()
    audits = "from course_lib.audit.command import main; main()"
    for name, line in {
        "pip": "exit 0",  # the wheel is installed in tests/test_packaging
        "python": f'exec {sys.executable} "$@"',
        "two-tower-audit": f'exec {sys.executable} -c "{audits}" "$@"',
    }.items():
        (commands / name).write_text(f"#!/bin/bash\n{line}\n")
        (commands / name).chmod(0o755)
    environment = os.environ | {"PATH": f"{commands}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    environment |= {"GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    steps = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]["audit"]["steps"]
    found = {}
    for step in steps:
        if "run" in step:
            done = subprocess.run(["bash", "-e", "-c", step["run"]], cwd=folder, env=environment, check=False)
            found[step.get("name", step["run"])] = done.returncode
    return found


@pytest.mark.parametrize("good", one_quickly([False, True]))
def test_the_example_workflow_runs_and_stops_a_worse_model(tmp_path: Path, good: bool) -> None:
    found = run_steps(tmp_path, good)
    assert found["Audit the new model"] == (0 if good else 1)
    assert set(found.values()) <= {0, 1} and len(found) == 5
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert summary.count("## ") == 2 and ("| ✗ fault | leaked-test-pairs |" in summary) is not good
    assert {each.name for each in tmp_path.glob("*.html")} == {"report.html", "changes.html"}


def test_a_summary_has_the_headline_the_actions_and_what_is_not_fine() -> None:
    report = planted.report("duplicated-rows", 0)
    said = report.markdown()
    assert report.headline in said and all(action.title in said for action in report.actions)
    for verdict in (*report.verdicts, *report.further):
        assert (f"| {verdict.id} | " in said) is (verdict.verdict in ("fault", "noted")), verdict.id
    assert said.rindex("| ✗ fault |") < said.index("| · noted |")
    assert said.count("```") == 2 * len(report.actions) > 0
    table = np.random.default_rng(0).standard_normal((150, 8))
    both = compare(table, -table, rng=np.random.default_rng(0))
    assert both.markdown().startswith("## What changed: memory to memory")


def test_names_of_files_are_no_marks_of_markdown() -> None:
    rows = np.random.default_rng(0).standard_normal((60, 4))
    said = audit(Table(rows, "<b>*a*_|_", 60, np.zeros(0, int)), rng=np.random.default_rng(0)).markdown()
    assert said.startswith("## Audit of \\<b\\>\\*a\\*\\_|\\_\n")


def test_the_keys_of_the_json_are_those_of_its_version() -> None:
    """A key may be added here; where one goes or changes its meaning, SCHEMA_VERSION changes."""
    found = json.loads(json.dumps(planted.report("ddc-gain", 0).to_dict()))
    of_verdict = {"id", "title", "chapter", "verdict", "support", "figures", "advice", "theorem"}
    of_effect = {"remedy", "before", "after", "difference", "low", "high"}
    of_effect |= {"users", "beyond", "chosen", "overlap_recent"}
    shown = ("popularity", "overlap", "coverage", "gini")
    of_effect |= {f"{name}_{when}" for name in shown for when in ("before", "after")}
    expected = {
        "actions": {"title", "why", "decision", "code", "gain", "of", "unmeasured"},
        "verdicts": of_verdict,
        "further": of_verdict,
        "remedies": of_effect | {"advisable"},
        "baselines": of_effect,
        "smaller": {"kind", "megabytes", "exact_megabytes", "recall", "by_group", "change", "by_length"},
    }
    for name, keys in expected.items():
        assert found[name] and all(set(each) == keys for each in found[name]), name
    assert set(found["tool"]) == {"name", "version"} and set(found["options"]) == {"k", "seed"}
    assert found["schema_version"] == "2"
