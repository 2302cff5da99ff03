"""Do the notebooks and the numeric tests give their numbers on other processors? Emulates those that this one can.

A numeric library takes the kernels that suit the processor: wider registers sum in another order, and another LAPACK
returns other signs of singular vectors. The variables below make each library take another kind of kernel than it
would. One kind more, `nudged`, stands for what no machine can emulate (ARM on x86): inputs move by 1e-12, and singular
vectors change signs (tests/processors/nudge.py).

    python tools/processors.py                              every kind, notebooks and tests (about 20 minutes a kind)
    python tools/processors.py --kinds sse nudged           only these
    python tools/processors.py --what notebooks -k gauge    only the notebooks whose name matches
    python tools/processors.py --list                       the kinds, and what this machine can do
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
STARTUP = ROOT / "tests" / "processors"
X86, ARM = ("x86_64", "amd64"), ("aarch64", "arm64")
SUITES = {
    "notebooks": ["tests/notebooks/test_notebooks.py", "-k", "gives_the_numbers"],
    "tests": [
        *("tests", "-m", "not slow and not browser and not laptop"),
        # the tests of the nudge (processors) compare it with the kernels that the libraries choose by themselves
        *(f"--ignore=tests/{folder}" for folder in ("exercises", "installation", "launch", "notebooks", "processors")),
        "--ignore=tests/site",
    ],
}
# Tests that moved inputs cannot pass: they draw in two processes, each of which moves what it draws in its own way, or
# ask for the very numbers that were put in, or what a bare package loads (the nudge loads NumPy).
MOVED = (
    "library/test_training_processes.py",
    "library/test_loop.py::test_a_killed_run_resumes_to_the_same_result",
    "lessons/gramian_estimators/test_claims.py::test_beta_one_leaves_the_cone_and_projecting_loses_the_mean",
    "library/test_gramians.py::test_beta_one_leaves_the_cone_and_the_projection_returns_with_a_bias",
    "library/test_gauge.py::test_an_exact_direction_is_stretched_in_floats",
    "test_house.py::test_the_bare_package_is_light",
)
SHOWN = 12  # failures named in a row of the table


@dataclass(frozen=True)
class Kind:
    """One kind of kernel. variables: what makes the libraries take it; needs: a feature of the processor by NumPy's
    name ("" for none); machines: on which it exists (none named: all); hidden: beginnings of the names of those of
    NumPy's own optional features that it must not use; left_out: tests that say nothing under it.
    """

    name: str
    about: str
    variables: dict[str, str]
    needs: str = ""
    machines: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    def missing(self, machine: str, features: dict[str, bool]) -> str:
        """Why this machine cannot emulate the kind; "" if it can."""
        if self.machines and machine.lower() not in self.machines:
            return f"needs {self.machines[0]}, this is {machine}"
        return f"needs {self.needs}" if self.needs and not features.get(self.needs) else ""

    def side_by_side(self, processes: int) -> int:
        """How many of so many processes have a core for each of their threads; threads without one wait busily."""
        return max(1, processes // int(self.variables.get("OMP_NUM_THREADS", "1")))

    def environment(self, features: dict[str, bool], dispatched: Iterable[str]) -> dict[str, str]:
        """The variables, NPY_DISABLE_CPU_FEATURES among them: the features to hide that NumPy would use here."""
        hide = (
            [name for name in dispatched if features.get(name) and name.startswith(self.hidden)] if self.hidden else []
        )
        return self.variables | ({"NPY_DISABLE_CPU_FEATURES": " ".join(hide)} if hide else {})


WIDE = ("X86_V4", "AVX512")
AVX = (*WIDE, "X86_V3", "AVX", "FMA", "F16C", "XOP")
SSE_VARIABLES = {
    "OPENBLAS_CORETYPE": "Prescott",
    "ATEN_CPU_CAPABILITY": "default",
    "ONEDNN_MAX_CPU_ISA": "SSE41",
    "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
    "NUMBA_CPU_NAME": "nehalem",
    "NUMBA_CPU_FEATURES": "",
    "NUMBA_ENABLE_AVX": "0",
}
AVX2_VARIABLES = {
    "OPENBLAS_CORETYPE": "Haswell",
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "NUMBA_CPU_NAME": "haswell",
    "NUMBA_CPU_FEATURES": "",
}
KINDS = (
    Kind("native", "what the libraries choose by themselves", {}),
    Kind("two-threads", "the same, with two threads", {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}),
    Kind(
        "avx512",
        "AVX-512: Intel servers since 2017, AMD since Zen 4",
        {
            "OPENBLAS_CORETYPE": "SkylakeX",
            "ATEN_CPU_CAPABILITY": "avx512",
            "NUMBA_CPU_NAME": "skylake-avx512",
            "NUMBA_CPU_FEATURES": "",
        },
        needs="AVX512F",
        machines=X86,
    ),
    Kind("avx2", "AVX2: most laptops", AVX2_VARIABLES, needs="AVX2", machines=X86, hidden=WIDE),
    Kind("zen", "AVX2 as AMD's first Zens have it", AVX2_VARIABLES | {"OPENBLAS_CORETYPE": "Zen"}, "AVX2", X86, WIDE),
    Kind("sse", "SSE: what every x86 processor has", SSE_VARIABLES, machines=X86, hidden=AVX),
    Kind("neoverse", "NEON: ARM servers", {"OPENBLAS_CORETYPE": "NEOVERSEN1"}, machines=ARM),
    Kind(
        "arm-plain",
        "NEON: any 64-bit ARM",
        {"OPENBLAS_CORETYPE": "ARMV8", "ATEN_CPU_CAPABILITY": "default"},
        machines=ARM,
    ),
    Kind(
        "nudged",
        "inputs moved by 1e-12, singular vectors turned: for what cannot be emulated",
        {"COURSE_NUDGE": "1e-12"},
        left_out=MOVED,
    ),
)


@dataclass(frozen=True)
class Outcome:
    """What one suite gave under one kind. ran: number of tests; failed: their names; trouble: why nothing can be said,
    "" if all is well.
    """

    ran: int
    failed: tuple[str, ...]
    seconds: float
    trouble: str = ""

    @property
    def good(self) -> bool:
        return not self.failed and not self.trouble

    def text(self) -> str:
        """One line for the table."""
        if self.trouble:
            return self.trouble
        if not self.failed:
            return f"{self.ran} passed"
        more = f" and {len(self.failed) - SHOWN} more" if len(self.failed) > SHOWN else ""
        return f"{len(self.failed)} of {self.ran} FAILED: {', '.join(self.failed[:SHOWN])}{more}"


def cpu() -> tuple[dict[str, bool], list[str]]:
    """(features, dispatched): what NumPy found in this processor, and the optional features that NumPy would use."""
    core = import_module("numpy._core._multiarray_umath")
    return dict(core.__cpu_features__), list(core.__cpu_dispatch__)


def run(kind: Kind, suite: str, *, match: str, processes: int, log: Path) -> Outcome:
    """Runs one suite under one kind of kernel; all that pytest says goes to `log`."""
    features, dispatched = cpu()
    environment = os.environ | {"OMP_NUM_THREADS": "1", **kind.environment(features, dispatched)}
    paths = [str(STARTUP), str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    arguments = list(SUITES[suite])
    if match:
        at = arguments.index("-k") + 1 if "-k" in arguments else None
        arguments = [*arguments, "-k", match] if at is None else [*arguments[:at], f"{arguments[at]} and ({match})"]
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, log.open("w", encoding="utf-8") as stream:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", *arguments]
        command += [f"--deselect=tests/{name}" for name in kind.left_out]
        if processes > 1:
            command += ["-n", str(processes), "--dist", "load" if suite == "notebooks" else "loadfile"]
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=stream, stderr=subprocess.STDOUT, check=False)
        seconds = time.perf_counter() - start
        if done.returncode not in (0, 1) or not report.is_file():
            return Outcome(0, (), seconds, f"pytest ended with {done.returncode}: see {log}")
        return Outcome(*read_report(report), seconds)


def read_report(path: Path) -> tuple[int, tuple[str, ...]]:
    """(number of tests that ran, names of those that failed) of a JUnit file."""
    cases = [case for case in ElementTree.parse(path).iter("testcase") if case.find("skipped") is None]
    bad = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    return len(cases), tuple(short_name(case.get("classname", ""), case.get("name", "")) for case in bad)


def short_name(module: str, test: str) -> str:
    """A notebook's name where the test has one, else "test_file::test"."""
    notebook = re.fullmatch(r"test_every_notebook_gives_the_numbers_it_stores\[(.+)\]", test)
    return notebook[1] if notebook else f"{module.rsplit('.', 1)[-1]}::{test}"


def table(rows: list[tuple[str, str, str]]) -> str:
    """Rows (kind, suite, what came out) under each other."""
    left, middle = (max(len(row[at]) for row in rows) for at in (0, 1))
    return "\n".join(f"{kind:<{left}}  {suite:<{middle}}  {text}" for kind, suite, text in rows)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="run notebooks and numeric tests under other kinds of kernels")
    names = [kind.name for kind in KINDS]
    parser.add_argument("--kinds", nargs="+", choices=names, default=names, metavar="KIND", help=", ".join(names))
    parser.add_argument("--what", nargs="+", choices=list(SUITES), default=list(SUITES), help="which suites (both)")
    parser.add_argument("-k", dest="match", default="", help="only tests and notebooks that match (as pytest's -k)")
    parser.add_argument("-n", dest="processes", type=int, default=2, help="tests side by side (2)")
    parser.add_argument("--logs", type=Path, default=ROOT / "_build" / "processors", help="where pytest's words go")
    parser.add_argument("--list", action="store_true", help="name the kinds and run nothing")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """0 when everything passed under every kind that can be emulated here, 1 otherwise."""
    options = _parser().parse_args(arguments)
    features, dispatched = cpu()
    rows, good = [("kind", "what", "outcome")], True
    options.logs.mkdir(parents=True, exist_ok=True)
    for kind in (kind for kind in KINDS if kind.name in options.kinds):
        missing = kind.missing(platform.machine(), features)
        if missing or options.list:
            words = " ".join(f"{name}={value}" for name, value in kind.environment(features, dispatched).items())
            rows.append((kind.name, "-", f"not here: {missing}" if missing else f"{kind.about} {words}".strip()))
            continue
        for suite in options.what:
            log = options.logs / f"{kind.name}-{suite}.log"
            found = run(kind, suite, match=options.match, processes=kind.side_by_side(options.processes), log=log)
            good = good and found.good
            rows.append((kind.name, suite, found.text()))
            print(f"{kind.name}, {suite}: {found.text()} ({found.seconds:.0f} s)", flush=True)
    print(table(rows))
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
