"""The rows of a lesson's claims.yml: what a claim holds, and a strict reader that names file, id and field."""

import graphlib
import math
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec.structs import replace

from course_lib.lessons.shared import schema

OURS = "This course"  # where a claim of our own stands
PAPERS = ("P0", "P1", "P2", "P3", "P4", "X")
STATUSES = {
    "proved": "a symbolic or exact check passes, at times on small sizes only; the row says on which, and the proof "
    "in words is that of the theorem that it names",
    "enumerated": "exact enumeration over all subsets of small matrices passes; other sizes rest on the proof in words",
    "tested": "an automatic test passes; a test can refute, it does not prove",
    "reproduced": "our own runs agree with the printed number by the rule of the page What reproduced, and within the "
    "stated tolerance",
    "not reproduced": "our own run disagrees with the printed number",
    "not converged": "we ran it, but runs ended before they met their stopping rule, so that they neither reproduce "
    "the printed number nor contradict it; the row says which runs",
    "undecided": "our runs converged, and their spread is too large to say whether the printed number is theirs within "
    "a twentieth",
    "disputed": "a computation contradicts the statement as printed; see the errata",
    "needs assumption": "holds under an assumption that the statement does not name",
    "not run": "not checked here; the row says why",
}
SCOPES = {
    "every size": "an identity in symbols, for every size that the statement names",
    "some sizes": "the sizes named; others rest on the proof in words",
    "one direction": "one direction; the other rests on the proof in words",
    "pieces": "the computations of the proof; proved by hand: what joins them",
}
WITH_REASON = ("not run", "not converged")  # the statuses whose rows say why, in the field `reason`
ERRATUM_KINDS = ("misprint", "counterexample", "imprecise", "protocol")
ROOT = Path(__file__).parents[2]
_ID = re.compile(r"(P[0-4]-[A-Za-z0-9.*]+(-[A-Za-z0-9.*]+)*|X\d+[a-z]?)")
_FUNCTION = re.compile(r"course_lib(\.\w+)+:\w+")
_PROOF = re.compile(r"course_lib\.lessons\.\w+\.(proofs|enumeration):")
_NODE = re.compile(r"tests/[\w/]+\.py(::\w+)+(\[.+\])?")


Text = Annotated[str, msgspec.Meta(pattern=r"\S")]  # with a word in it
Number = int | float


class ClaimError(ValueError):
    """A claims file, or the book beside it, breaks a rule. The message names the file, the claim and the field."""


class Scalar(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A number that a claim rests on, where it comes from, and what it must be.

    Exactly one of `notebook` (published there under `name`), `result` ("<experiment>-<scale>", the file in
    book/results) and `function` ("course_lib.module:function", called with `arguments`) says where it comes from.
    `printed` is the paper's number where it has one: a reproduced claim expects it, one not reproduced expects another.
    """

    name: Text
    expected: Number
    tolerance: Number
    source: Text
    notebook: Text | None = None
    result: Text | None = None
    function: Text | None = None
    arguments: dict[str, Any] = {}
    null_scale: Number | None = None
    printed: Number | None = None
    unit: str = ""

    @property
    def origin(self) -> str:
        """Where the number comes from, in words: "notebook sampling/my-topic", or the function."""
        if self.notebook:
            return f"notebook {self.notebook}"
        return f"result {self.result}" if self.result else f"{self.function}"


class Erratum(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a paper is wrong or vague: its claim, our counterexample, the repaired statement, what remains right."""

    title: Text
    kind: str
    claim: Text
    counterexample: Text
    repair: Text
    credit: Text
    extraction: bool = False


class Machine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What of a proof the machine checked: a scope of SCOPES, and in words what exactly."""

    scope: str
    what: Text


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row. `file` is the name of the YAML file that holds it: that of its chapter. `paper` is that of its id.

    `order` says where a row stands among those of its paper, which lie in the files of several chapters; without it a
    row follows the one before it in its file, and a file without any comes last. `checks` has the proof of the theorem,
    which the file need not name. `findings` are sentences about data, "ddc.alpha-raises-popularity", that the claim
    rests on (`course_lib.lessons.shared.findings`).
    """

    id: str
    statement: Text
    paper: str = ""
    place: Text = OURS
    status: str
    not_claimed: Text
    file: str = ""
    order: Number = math.inf
    note: str = ""
    checks: tuple[str, ...] = ()
    theorem: str | None = None
    depends_on: tuple[str, ...] = ()
    chapter: str | None = None
    assumption: str = ""
    reason: str = ""
    scalars: tuple[Scalar, ...] = ()
    findings: tuple[str, ...] = ()
    erratum: Erratum | None = None
    machine: Machine | None = None

    @property
    def anchor(self) -> str:
        """The HTML id of the claim on the page of claims: "P3-Eq12" -> "claim-p3-eq12"."""
        return anchor(self.id)

    @property
    def functions(self) -> tuple[str, ...]:
        """The checks that are Python functions, "course_lib.module:function"."""
        return tuple(check for check in self.checks if _FUNCTION.fullmatch(check))

    @property
    def nodes(self) -> tuple[str, ...]:
        """The checks that are pytest node ids, "tests/test_x.py::test_y"."""
        return tuple(check for check in self.checks if _NODE.fullmatch(check))


def anchor(claim_id: str) -> str:
    """The HTML id that belongs to a claim's id."""
    return "claim-" + re.sub(r"[^a-z0-9]+", "-", claim_id.lower()).strip("-")


def files(folder: Path | None = None) -> list[Path]:
    """The files of claims in the lessons' folder, or another: claims.yml of each lesson, and what lies in it itself."""
    folder = folder or ROOT / "course_lib" / "lessons"
    return sorted([*folder.glob("*/claims.yml"), *folder.glob("*.yml")])


def name_of(path: Path) -> str:
    """What a file of claims is called: my_topic/claims.yml is my-topic.yml."""
    return f"{path.parent.name.replace('_', '-')}.yml" if path.name == "claims.yml" else path.name


def path_of(name: str) -> Path:
    """Where the file of claims lies that is called so: `name_of` the other way round."""
    return ROOT / "course_lib" / "lessons" / name.removesuffix(".yml").replace("-", "_") / "claims.yml"


def load(folder: Path | str | None = None) -> list[Claim]:
    """All claims of `folder` (default: the lessons), paper by paper, each in the order of the paper (see `Claim`).

    Raises ClaimError, with file, id and field, for anything that the schema does not allow: an unknown or missing
    field, a wrong type, an unknown status, a duplicate id, an unknown or circular `depends_on`, a tolerance that zero
    or a flipped sign would pass, a status that its evidence does not carry.
    """
    paths = files(Path(folder) if folder is not None else None)
    if not paths:
        raise ClaimError(
            f"{folder or 'the lessons'}: no claims file; expected one for each chapter, such as my-topic.yml"
        )
    found = (claim for path in paths for claim in _read_file(path))
    claims = sorted(found, key=lambda claim: (PAPERS.index(claim.paper), claim.order))
    _refuse_duplicates(claims)
    _refuse_bad_dependencies(claims)
    return claims


def _read_file(path: Path) -> tuple[Claim, ...]:
    status = path.stat()
    return _read_text(path, status.st_mtime_ns, status.st_size)


@cache
def _read_text(path: Path, changed: int, size: int) -> tuple[Claim, ...]:
    """The claims of a file as it was when it had this time and this size; each page of a build asks for them."""
    rows = schema.load(path, error=ClaimError)
    if not isinstance(rows, list) or not rows:
        raise ClaimError(f"{name_of(path)}: expected a list of claims, got {type(rows).__name__}")
    return tuple(_in_order(_read_row(row, name_of(path), number) for number, row in enumerate(rows, 1)))


def _in_order(claims: Iterable[Claim]) -> Iterator[Claim]:
    """The rows of a file; one without an order gets that of the row of the same paper before it."""
    last: dict[str, float] = {}
    for claim in claims:
        if claim.order != math.inf:
            last[claim.paper] = claim.order
        yield replace(claim, order=last.get(claim.paper, math.inf))


def _read_row(row: Any, file: str, number: int) -> Claim:
    where = f"{file}: {row.get('id', f'row {number}') if isinstance(row, dict) else f'row {number}'}"
    try:
        claim = msgspec.convert(row, Claim)
    except msgspec.ValidationError as problem:
        raise ClaimError(f"{where}: {str(problem).replace('$.', '')}") from None
    for name in {"file", "paper"} & set(row):
        raise ClaimError(f"{where}: {name} is {row[name]!r}, and no field of a row")
    paper = "X" if claim.id.startswith("X") else claim.id[:2]
    claim = _with_its_proof(replace(claim, file=file, paper=paper))
    for scalar in claim.scalars:
        _check_scalar(scalar, f"{where}: scalar {scalar.name}")
    _check_values(claim, where)
    _check_evidence(claim, where)
    return claim


def _with_its_proof(claim: Claim) -> Claim:
    """A row whose first check is the proof of its theorem: thm-x is proved by `thm_x` in the proofs of its lesson.

    A row that names such a function itself, of another lesson, stays as it is.
    """
    function = (claim.theorem or "def-").replace("-", "_")
    if function.startswith("def_") or any(check.endswith(f":{function}") for check in claim.checks):
        return claim
    lesson = Path(claim.file).stem.replace("-", "_")
    return replace(claim, checks=(f"course_lib.lessons.{lesson}.proofs:{function}", *claim.checks))


def _check_scalar(scalar: Scalar, where: str) -> None:
    origins = [origin for origin in (scalar.notebook, scalar.result, scalar.function) if origin]
    if len(origins) != 1:
        raise ClaimError(f"{where}: give exactly one of notebook, result and function; got {len(origins)}")
    if scalar.arguments and not scalar.function:
        raise ClaimError(f"{where}: arguments go with a function, and there is none")
    if scalar.function and not _FUNCTION.fullmatch(scalar.function):
        raise ClaimError(f"{where}: function {scalar.function!r} is not of the form course_lib.module:function")
    _check_tolerance(scalar, where)


def _check_tolerance(scalar: Scalar, where: str) -> None:
    """A tolerance must leave out zero (and with it the flipped sign); around zero it must be below a named effect."""
    if not 0 <= scalar.tolerance < float("inf"):
        raise ClaimError(f"{where}: tolerance {scalar.tolerance} must be finite and at least 0")
    if scalar.expected != 0:
        if abs(scalar.expected) <= scalar.tolerance:
            raise ClaimError(
                f"{where}: tolerance {scalar.tolerance} around {scalar.expected} would accept zero or a flipped sign; "
                f"expected a tolerance below {abs(scalar.expected)}"
            )
        return
    if scalar.null_scale is None:
        raise ClaimError(f"{where}: expected is 0, so name null_scale, the size of an effect that must be noticed")
    if not scalar.tolerance < abs(scalar.null_scale):
        raise ClaimError(f"{where}: tolerance {scalar.tolerance} must be below null_scale {scalar.null_scale}")


def _check_choice(value: str, what: str, choices: Iterable[str], where: str) -> None:
    if value not in choices:
        raise ClaimError(f"{where}: {what} {value!r}; expected one of {', '.join(choices)}")


def _check_values(claim: Claim, where: str) -> None:
    if not _ID.fullmatch(claim.id):
        raise ClaimError(f"{where}: id {claim.id!r} is not of the form P3-Eq12 or X4")
    if claim.place == OURS and claim.paper != "X":
        raise ClaimError(f"{where}: place is missing; expected where the paper says it")
    _check_choice(claim.status, "status", STATUSES, where)
    if claim.erratum:
        _check_choice(claim.erratum.kind, "kind", ERRATUM_KINDS, f"{where}: erratum")
    if claim.machine:
        _check_choice(claim.machine.scope, "scope", SCOPES, f"{where}: machine")
    page, file = (claim.chapter or "").rpartition("/")[2], Path(claim.file).stem
    if page and page != file and not page.startswith(f"{file}-"):
        raise ClaimError(f"{where}: chapter is {claim.chapter!r}, expected a page of {file!r}, as the file is named")
    for check in claim.checks:
        if not (_FUNCTION.fullmatch(check) or _NODE.fullmatch(check)):
            raise ClaimError(
                f"{where}: check {check!r} is no course_lib.module:function and no tests/test_x.py::test_y"
            )


def _check_evidence(claim: Claim, where: str) -> None:
    """A status may claim no more than what the row names as evidence."""
    proofs = [check for check in claim.checks if _PROOF.match(check)]
    enumerations = [check for check in claim.checks if "enumerat" in re.split("::?", check)[-1]]
    measured = [scalar for scalar in claim.scalars if scalar.result or scalar.notebook]
    functions = [scalar for scalar in claim.scalars if scalar.function]
    if claim.status in ("proved", "enumerated") and not (proofs or enumerations):
        raise ClaimError(
            f"{where}: status {claim.status!r} needs a check in a lesson's proofs or a test named after its "
            f"enumeration; got {list(claim.checks)}"
        )
    lacking = [name for name in ("theorem", "machine", "chapter") if not getattr(claim, name)]
    if claim.status == "proved" and lacking:
        raise ClaimError(
            f"{where}: status 'proved' needs the fields theorem (the label of the statement that proves it), machine "
            f"(what of the proof was checked) and chapter; it lacks {', '.join(lacking)}"
        )
    if claim.machine and not (proofs or enumerations):
        raise ClaimError(f"{where}: the field 'machine' says what a proof or an enumeration checked, and there is none")
    if claim.status in ("reproduced", "not reproduced") and not measured:
        raise ClaimError(f"{where}: status {claim.status!r} needs a scalar from a result file or a notebook")
    printed = [(scalar, scalar.printed) for scalar in measured if scalar.printed is not None]
    if claim.status in ("reproduced", "not reproduced") and not printed:
        raise ClaimError(f"{where}: status {claim.status!r} needs a scalar with 'printed', the paper's number")
    differing = [scalar.name for scalar, number in printed if abs(number - scalar.expected) > scalar.tolerance]
    if claim.status == "reproduced" and any(number != scalar.expected for scalar, number in printed):
        names = [scalar.name for scalar, _ in printed]
        raise ClaimError(f"{where}: status 'reproduced' must expect the printed numbers; {names}")
    if claim.status == "not reproduced" and not differing:
        raise ClaimError(f"{where}: status 'not reproduced', but every number is within tolerance of the printed one")
    evidence = claim.checks or measured or functions or claim.findings
    if claim.status in ("tested", "undecided", "disputed", "needs assumption", "not converged") and not evidence:
        raise ClaimError(f"{where}: status {claim.status!r} needs a check, a scalar or a finding")
    if claim.status == "needs assumption" and not claim.assumption:
        raise ClaimError(f"{where}: status 'needs assumption' needs the field 'assumption'")
    if claim.status == "disputed" and claim.erratum is None:
        raise ClaimError(f"{where}: status 'disputed' needs an erratum")
    if (claim.status in WITH_REASON) != bool(claim.reason):
        either = " or ".join(map(repr, WITH_REASON))
        raise ClaimError(f"{where}: status {either} and the field 'reason' go together; status is {claim.status!r}")


def _refuse_duplicates(claims: list[Claim]) -> None:
    seen: dict[str, Claim] = {}
    for claim in claims:
        if claim.id in seen:
            raise ClaimError(f"{claim.file}: {claim.id}: id given twice (also in {seen[claim.id].file})")
        seen[claim.id] = claim


def _refuse_bad_dependencies(claims: list[Claim]) -> None:
    needs = {claim.id: claim.depends_on for claim in claims}
    for claim in claims:
        for other in claim.depends_on:
            if other not in needs:
                raise ClaimError(f"{claim.file}: {claim.id}: depends_on names {other!r}, which no file holds")
    try:
        graphlib.TopologicalSorter(needs).prepare()
    except graphlib.CycleError as error:
        cycle = error.args[1][::-1]  # each needs the next
        file = next(claim.file for claim in claims if claim.id == cycle[0])
        raise ClaimError(f"{file}: {cycle[0]}: depends_on is circular: {' -> '.join(cycle)}") from None
