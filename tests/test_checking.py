"""Each check lets good arguments through as plain values, and names the argument, its value and what was expected."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import torch
from refused import refused

from course_lib import checking

TABLE = np.arange(6).reshape(3, 2)


def test_good_arguments_become_plain_values() -> None:
    rng = np.random.default_rng(0)
    assert type(checking.whole(np.int64(3), "k")) is int
    assert checking.whole(0, "k", 0) == 0 and checking.whole(4, "k", 2, 4) == 4
    assert checking.real(Fraction(1, 2), "tau", above=0) == 0.5 and checking.real(np.float32(2), "lr") == 2.0
    assert checking.real(torch.tensor(0.25), "tau") == 0.25
    assert checking.share(1, "ratio") == 1.0 and checking.choice("b", "law", ("a", "b")) == "b"
    assert checking.choice(np.True_, "logq", (True, False)) and checking.choice(np.int64(1), "seed", (0, 1)) == 1
    assert checking.generator(rng) is rng and checking.instance(rng, "rng", np.random.Generator) is rng
    assert checking.table(TABLE, "items").dtype == np.float64
    assert checking.table(torch.ones(3, 2, requires_grad=True), "items", rows=3, width=2).dtype == np.float32
    assert checking.vector([1, 2], "a", 2).tolist() == [1.0, 2.0] and checking.counts([0, 2]).tolist() == [0.0, 2.0]
    assert checking.same_width(torch.ones(4, 2), TABLE, "users", "items") == 2


test_bad_arguments_are_named = refused(
    (lambda: checking.whole(0, "k"), "k is 0; expected a whole number of at least 1"),
    (lambda: checking.whole(2.0, "k"), "k is 2.0; expected a whole number"),
    (lambda: checking.whole(True, "k"), "k is True; expected a whole number"),
    (lambda: checking.whole(np.int64(5), "k", 2, 4, why="the rows"), "^k is 5; .* from 2 to 4, the rows$"),
    (lambda: checking.real("1", "tau"), "tau is '1'; expected a finite number$"),
    (lambda: checking.real(False, "tau"), "tau is False; expected a finite number$"),
    (lambda: checking.real(None, "tau"), "tau is None"),
    (lambda: checking.real(np.True_, "tau"), "tau is True"),
    (lambda: checking.real(b"1", "tau"), "tau is b'1'"),
    (lambda: checking.real(np.timedelta64(1, "s"), "tau"), "tau is .*; expected a finite number"),
    (lambda: checking.real(10**400, "tau"), "tau is 1000"),
    (lambda: checking.whole(np.timedelta64(1, "s"), "k"), "k is .*; expected a whole number"),
    *((lambda x=x: checking.vector(x, "a"), "a is .*; expected an array of real") for x in (["1"], [1j], {1}, "abc")),
    (lambda: checking.vector(np.ones(2, "m8[s]"), "a"), "a is .*; expected an array of real numbers"),
    (
        lambda: checking.table([[1.0], [1.0, 2.0]], "items"),
        "items is .*; expected an array, whose rows",
    ),
    (lambda: checking.real(np.nan, "tau"), "tau is nan"),
    (lambda: checking.real(np.inf, "lr", least=0), "lr is inf; expected a finite number of at least 0$"),
    (lambda: checking.real(0, "tau", above=0), "tau is 0; expected a finite number above 0$"),
    (lambda: checking.real(1, "decay", least=0, below=1), r"decay is 1; expected a finite number in \[0, 1\)$"),
    (lambda: checking.real(2, "x", most=1), "x is 2; expected a finite number of at most 1$"),
    (lambda: checking.real(1, "x", below=1), "x is 1; expected a finite number below 1$"),
    (lambda: checking.real(-1, "x", least=0), "x is -1; expected a finite number of at least 0$"),
    (lambda: checking.share(0, "ratio"), r"ratio is 0; expected a finite number in \(0, 1\]$"),
    (lambda: checking.choice("c", "law", ("a", "b")), "law is 'c'; expected one of a, b$"),
    (lambda: checking.choice(["a"], "law", {"a": 1}), r"law is \['a'\]; expected one of a$"),  # a list has no hash
    (lambda: checking.choice(TABLE[0], "law", ("a", "b")), "law is array.* expected one of a, b$"),
    (lambda: checking.choice(torch.ones(2), "k", (1, 2)), "k is tensor.* expected one of 1, 2$"),
    (lambda: checking.choice(True, "seed", (0, 1)), "seed is True; expected one of 0, 1$"),
    (lambda: checking.choice(1, "logq", (True, False)), "logq is 1; expected one of True, False$"),
    (lambda: checking.generator(0), "rng is 0; expected a numpy.random.Generator such as"),
    (lambda: checking.generator(np.random), r"rng is <module .*\.\.\.; expected a numpy.random.Generator"),
    (lambda: checking.instance(0, "train", dict), "^train is 0; expected dict$"),
    (
        lambda: checking.as_numpy([[1], [1, 2]], "ids"),
        r"^ids is \[\[1\], \[1, 2\]\]; expected an array, whose rows are of one length",
    ),
    (lambda: checking.vector([1 + 2j], "a"), "^a is .* expected an array of real numbers"),
    (lambda: checking.vector(["1"], "a"), r"^a is \['1'\]; expected an array of real numbers"),
    (lambda: checking.vector(np.array([object()]), "a"), "^a is .* expected an array of real numbers"),
    (lambda: checking.table(TABLE, "items", rows=4), r"items has shape \(3, 2\) .* expected numbers of shape \(4, d\)"),
    (lambda: checking.table(TABLE, "items", width=3), r"expected numbers of shape \(n, 3\)"),
    (lambda: checking.table([1.0], "items"), r"items has shape \(1,\)"),
    (lambda: checking.table([["a"]], "items"), "dtype <U1"),
    (lambda: checking.table([[1.0], [np.inf]], "items"), "items holds NaN or infinity in 1 rows, .* row 1"),
    (lambda: checking.vector([], "a"), r"a has shape \(0,\)"),
    (lambda: checking.vector([1.0, 2.0], "a", 3), r"a has shape \(2,\); expected \(3,\)"),
    (lambda: checking.vector([1.0, np.nan], "a"), r"a\[1\] is nan; expected finite"),
    (lambda: checking.counts([1, -2]), r"counts\[1\] is -2.0; expected a finite count"),
    (lambda: checking.some([], "rows"), "rows is empty; expected at least one"),
    (lambda: checking.some(x for x in (1, 2) if x > 3), "values is empty"),
    (lambda: checking.same_width(TABLE, np.ones(3), "A", "B"), r"A has width 2 but B has width 3.*\(3, 2\)"),
)
