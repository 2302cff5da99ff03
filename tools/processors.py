"""Do the notebooks and the numeric tests give their numbers on other processors? Emulates those that this one can.

A numeric library takes the kernels that suit the processor: wider registers sum in another order, and another LAPACK
returns other signs of singular vectors. The variables below make each library take another kind of kernel than it
would. One kind more, `nudged`, stands for what no machine can emulate (ARM on x86): inputs move by 1e-12, and singular
vectors change signs (tests/processors/nudge.py).

    python tools/processors.py            every kind, notebooks and tests (about 20 minutes a kind)
    python tools/processors.py --help     some of them; what this machine can do
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STARTUP = ROOT / "tests" / "processors"
LOGS = ROOT / "_build" / "processors"  # pytest's words
X86, ARM = ("x86_64", "amd64"), ("aarch64", "arm64")
SUITES = {
    "notebooks": ["tests/notebooks/test_notebooks.py::test_every_notebook_gives_the_numbers_it_stores"],
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


def cpu() -> tuple[dict[str, bool], list[str]]:
    """(features, dispatched): what NumPy found in this processor, and the optional features that NumPy would use."""
    core = import_module("numpy._core._multiarray_umath")
    return dict(core.__cpu_features__), list(core.__cpu_dispatch__)


def run(kind: Kind, suite: str, *, match: str, processes: int, log: Path) -> str:
    """Run one suite under one kind of kernel, all that pytest says going to `log`; what it says at its end: the tests
    that failed, and how many there were. Nothing where all is well.
    """
    processes //= int(kind.variables.get("OMP_NUM_THREADS", "1"))  # a thread without a core waits busily
    features, dispatched = cpu()
    paths = os.pathsep.join(filter(None, [str(STARTUP), str(ROOT), os.environ.get("PYTHONPATH", "")]))
    own = {"OMP_NUM_THREADS": "1", "PYTHONPATH": paths, **kind.environment(features, dispatched)}
    command = [sys.executable, "-m", "pytest", "-q", "-rfE", "-p", "no:cacheprovider", *SUITES[suite]]
    command += ["-k", match] if match else []
    command += [f"--deselect=tests/{name}" for name in kind.left_out]
    if processes > 1:
        command += ["-n", str(processes), "--dist", "load" if suite == "notebooks" else "loadfile"]
    with log.open("w", encoding="utf-8") as stream:
        done = subprocess.run(
            command, cwd=ROOT, env=os.environ | own, stdout=stream, stderr=subprocess.STDOUT, check=False
        )
    said = log.read_text(encoding="utf-8").splitlines()
    if done.returncode == 0:
        return ""
    failed = [line for line in said if line.startswith(("FAILED", "ERROR"))]
    return "\n".join(["FAILED", *failed, *said[-1:], f"pytest ended with {done.returncode}: see {log}"])


def main(arguments: list[str] | None = None) -> int:
    """0 when everything passed under every kind that can be emulated here, 1 otherwise."""
    parser = argparse.ArgumentParser(description="run notebooks and numeric tests under other kinds of kernels")
    names = [kind.name for kind in KINDS]
    parser.add_argument("--kinds", nargs="+", choices=names, default=names, metavar="KIND", help=", ".join(names))
    parser.add_argument("--what", nargs="+", choices=list(SUITES), default=list(SUITES), help="which suites (both)")
    parser.add_argument("-k", dest="match", default="", help="only tests and notebooks that match (as pytest's -k)")
    parser.add_argument("-n", dest="processes", type=int, default=2, help="tests side by side (2)")
    parser.add_argument("--list", action="store_true", help="name the kinds and run nothing")
    options = parser.parse_args(arguments)
    features, dispatched = cpu()
    failed = False
    LOGS.mkdir(parents=True, exist_ok=True)
    for kind in (kind for kind in KINDS if kind.name in options.kinds):
        missing = kind.missing(platform.machine(), features)
        if missing or options.list:
            words = " ".join(f"{name}={value}" for name, value in kind.environment(features, dispatched).items())
            print(f"{kind.name}: {f'not here: {missing}' if missing else f'{kind.about} {words}'}")
            continue
        for suite in options.what:
            log = LOGS / f"{kind.name}-{suite}.log"
            trouble = run(kind, suite, match=options.match, processes=options.processes, log=log)
            failed = failed or bool(trouble)
            print(f"{kind.name}, {suite}: {trouble or 'passed'}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
