"""Laws of norm growth: how long an embedding gets that only moves sideways.

The setting. A loss that sees an embedding q only through cosines has a gradient of the form h / ||q|| with h orthogonal
to q (`course_lib.geometry`). A step of SGD with learning rate lr then turns s = ||q||^2 into

    s' = s + lr^2 ||h||^2 / s.

Everything here follows from that one line (`squared_norm_path`). It is exact; what treats the ||h||^2 of different
updates as equal, or random numbers as their mean, says so in its docstring.

Symbols: p the probability that one slot of the batch holds the item, B slots, T steps, n updates, lr the learning rate,
h the tangential gradient times the norm (a pure number per update, without unit), lambda the weight decay.

Written for the array API: NumPy, torch (with autograd) and, where no root is taken, exact Fractions.
"""

from __future__ import annotations

import numbers
from fractions import Fraction
from typing import Any

import numpy as np

from course_lib import checking
from course_lib.arrays import Array, as_array, first_index, is_exact, is_torch, like, namespace, shape_of

# ------------------------------------------------------------------------------------------ how often: the counts


def update_probability(p: Any, batch_size: int, *, negatives: int = 0, n_items: int | None = None) -> Any:
    """pi(p) = 1 - (1 - p)^B (1 - 1/N)^K: the chance that a batch moves the item at all.

    p: probability of the item in one slot, a number or array in [0, 1]; batch_size B >= 1 slots, drawn independently;
    negatives K further items, drawn uniformly from all n_items = N (none by default). Same shape as p; exact for
    Fractions.
    Source: P0, equation (30), for K = 0; the factor of the uniform negatives is ours.
    Raises ValueError for probabilities outside [0, 1] and for counts that are not whole numbers.
    """
    p = _inside(p, "p", 0, 1)
    batch_size, negatives = checking.whole(batch_size, "batch_size", 1), checking.whole(negatives, "negatives", 0)
    if negatives and n_items is None:
        raise ValueError(f"n_items is needed for {negatives} uniform negatives, which are drawn from that many")
    n_items = 1 if n_items is None else checking.whole(n_items, "n_items", 1)
    if is_exact(p):
        missed = (1 - p) ** batch_size * (1 - Fraction(1, n_items)) ** negatives
        return 1 - missed
    xp = namespace(p)
    with np.errstate(divide="ignore"):  # log 0 = -inf is right: an item in every slot is never missed
        log_missed = batch_size * xp.log1p(-p)
        if negatives:
            log_missed = log_missed + negatives * float(np.log1p(-1.0 / n_items))
    return _plain(-xp.expm1(log_missed))


def expected_updates(p: Any, *, batch_size: int, steps: int, negatives: int = 0, n_items: int | None = None) -> Any:
    """E N_T = T pi(p): the mean of the Binomial(T, pi(p)) number of batches that move the item.

    steps T >= 0; the rest as in `update_probability`. Source: P0, equation (31).
    """
    return checking.whole(steps, "steps", 0) * update_probability(p, batch_size, negatives=negatives, n_items=n_items)


def coupled_updates(probability: Any, uniforms: Any) -> Array:
    """(..., T) True where uniform number t is below the update probability: the monotone coupling.

    probability (...): chances pi of an update in one step; uniforms (T,): the numbers that ALL of them share. Whoever
    has the larger pi is updated whenever the other is, so sums over the last axis are ordered in every single run, and
    each alone is Binomial(T, pi). Source: P0, Appendix C, Step 2.
    """
    probability = _inside(probability, "probability", 0, 1)
    probability = probability if _is_array(probability) else as_array(probability, "probability")
    uniforms = like(_inside(uniforms, "uniforms", 0, 1), probability, "uniforms")
    if len(shape_of(uniforms)) != 1:
        raise ValueError(f"uniforms has shape {shape_of(uniforms)}; expected (T,), one number for each step")
    return uniforms < probability[..., None]


# -------------------------------------------------------------------------------------------- how far: the paths


def squared_norm_path(start: Any, *, lr: Any, squared_gradients: Any) -> Array:
    """s_0, s_1, ..., s_n with s_{k+1} = s_k + lr^2 ||h_k||^2 / s_k: the exact motion of ||q||^2.

    start s_0 = ||q_0||^2 > 0 (...); squared_gradients (..., n) the ||h_k||^2 >= 0; lr >= 0. Returns (..., n + 1).
    Exact for Fractions (no root is taken). Source: P0, equation (18), with ||Delta q||^2 = lr^2 ||h||^2 / ||q||^2.
    """
    return decayed_path(start, lr=lr, squared_gradients=squared_gradients, decay=0)


def decayed_path(start: Any, *, lr: Any, squared_gradients: Any, decay: Any, lazy: bool = False) -> Array:
    """s_{k+1} = (1 - lr decay)^2 s_k + lr^2 ||h_k||^2 / s_k: the motion of ||q||^2 under weight decay.

    As `squared_norm_path`, with weight decay `decay` = lambda, 0 <= lr lambda < 1 (torch's SGD: q <- q - lr (g + lambda
    q)). A step without an update has ||h_k||^2 = 0 and still decays; with `lazy` it does not (sparse optimisers decay
    only the rows that a batch holds). Exact for Fractions.
    """
    squares = as_array(squared_gradients, "squared_gradients")
    if not shape_of(squares):
        raise ValueError("squared_gradients is one number; expected (..., n), one entry for each step")
    _refuse_where(squares < 0, squares, "squared_gradients", "at least 0")
    start = _at_least(start, "start", above=0)
    lr, decay = _at_least(lr, "lr"), _at_least(decay, "decay")
    if not 0 <= lr * decay < 1:
        raise ValueError(f"lr * decay is {lr * decay}; expected [0, 1), so that a step shrinks and does not flip")
    s = as_array(start, "start")
    s = like(s, squares, "start") if not is_exact(squares) else s
    s = s + 0 * squares[..., 0] if shape_of(squares)[-1] else s
    kept = (1 - lr * decay) ** 2
    path = [s]
    for k in range(shape_of(squares)[-1]):
        h2 = squares[..., k]
        shrunk = _where(h2 > 0, kept * s, s) if lazy else kept * s
        s = shrunk + lr * lr * h2 / s
        path.append(s)
    return namespace(s).stack(path, axis=-1)


def predicted_norm(start_norm: Any, *, lr: Any, h: Any, updates: Any, fourth_powers: Any = 0) -> Any:
    """(||q_0||^4 + 2 lr^2 h^2 n + sum ||dq||^4)^(1/4): the quartic law from summaries of the run.

    start_norm ||q_0|| > 0; h >= 0 the root mean square of ||h_k|| over the updates; updates n >= 0; fourth_powers =
    sum_k ||dq_k||^4 >= 0 over them. They broadcast. Exact when h and the fourth powers are those of the
    run (`geometry.quartic_norm` takes them step by step). Without the fourth powers (the default) it is a lower bound,
    close unless single steps are as long as the embedding. Source: claim X5.
    """
    start_norm, h = _at_least(start_norm, "start_norm", above=0), _at_least(h, "h")
    updates, lr = _at_least(updates, "updates"), _at_least(lr, "lr")
    return (start_norm**4 + 2 * lr * lr * h * h * updates + _at_least(fourth_powers, "fourth_powers")) ** 0.25


def crossover_count(start_norm: Any, *, lr: Any, h: Any) -> Any:
    """n* = ||q_0||^4 / (2 lr^2 h^2): the updates after which growth has added as much as there was (to ||q||^4).

    Before n* the norm is flat, after it it grows like n^(1/4). Exact for Fractions. Source: claim X5.
    """
    start_norm = _at_least(start_norm, "start_norm", above=0)
    lr, h = _at_least(lr, "lr", above=0), _at_least(h, "h", above=0)
    return start_norm**4 / (2 * lr * lr * h * h)


def effective_learning_rate(lr: Any, *, norm: Any) -> Any:
    """lr / ||q||^2: the only combination of the two that the directions ever see.

    Scaling (q_0, lr) to (c q_0, c^2 lr) multiplies every later q by c and changes no cosine. Source: claim X5.
    """
    lr, norm = _at_least(lr, "lr"), _at_least(norm, "norm", above=0)
    return lr / (norm * norm)


# ------------------------------------------------------------------------------------------------- copies in one batch


def expected_squared_gradient(p: Any, *, batch_size: int, coherence: Any, single: Any = 1) -> Any:
    """E||h||^2 = h_0^2 [B p + rho B (B - 1) p^2]: what one batch does to an item, copies included.

    p: probability of one slot; batch_size B; single = h_0^2, the mean square of one copy's gradient; coherence = rho in
    [0, 1], the mean cosine between the gradients of two copies of the item in one batch (times their lengths, over
    h_0^2). A batch without the item counts as 0. Exact for Fractions. Model: slots are independent, copies alike.
    Source: claim X5.
    """
    p, coherence = _inside(p, "p", 0, 1), _inside(coherence, "coherence", 0, 1)
    batch_size, single = checking.whole(batch_size, "batch_size", 1), _at_least(single, "single")
    return single * (batch_size * p + coherence * (batch_size * (batch_size - 1)) * p * p)


def expected_squared_gradient_slope(p: Any, *, batch_size: int, coherence: Any) -> Any:
    """d log E||h||^2 / d log p = (1 + 2 c) / (1 + c), c = rho (B - 1) p: from 1 (rare item) to 2 (head item).

    A quarter of it is the slope of log||q|| in log popularity: 1/4 to 1/2. Exact for Fractions. Source: claim X5.
    """
    p, coherence = _inside(p, "p", 0, 1), _inside(coherence, "coherence", 0, 1)
    copies = coherence * (checking.whole(batch_size, "batch_size", 1) - 1) * p
    return (1 + 2 * copies) / (1 + copies)


# ------------------------------------------------------------------------------------------------- weight decay


def decay_equilibrium(probability: Any, *, lr: Any, decay: Any, h: Any) -> Any:
    """(pi lr^2 h^2 / (1 - (1 - lr lambda)^2))^(1/4): where growth and weight decay balance.

    probability pi: chance of an update in one step, in [0, 1]; decay = lambda with 0 < lr lambda < 1; h as in
    `predicted_norm`. Exact for pi = 1 and constant h. For pi < 1 it is the fixed point of the MEAN of s = ||q||^2 in a
    step where 1/s stands for its mean; the true stationary mean of s is at least this squared (Jensen), and close while
    pi is well above lr lambda. Source: claim X6.
    """
    probability, h = _inside(probability, "probability", 0, 1), _at_least(h, "h")
    lr, decay = _at_least(lr, "lr", above=0), _at_least(decay, "decay", above=0)
    if not lr * decay < 1:
        raise ValueError(f"lr * decay is {lr * decay}; expected less than 1, so that a step shrinks and does not flip")
    kept = 1 - lr * decay
    return (probability * (lr * lr * h * h) / (1 - kept * kept)) ** 0.25


def lazy_decay_equilibrium(*, lr: Any, decay: Any, h: Any) -> Any:
    """The same with decay only at updates: pi = 1 in `decay_equilibrium`, so the popularity is gone.

    Only the number of updates that it takes to get there (about 1 / (4 lr lambda)) still depends on popularity. Source:
    claim X6.
    """
    return decay_equilibrium(1, lr=lr, decay=decay, h=h)


# ------------------------------------------------------------------------------------------------- arguments


def _is_array(value: Any) -> bool:
    return is_torch(value) or isinstance(value, np.ndarray)


def _values(value: Any, name: str) -> Any:
    """A number as it is, anything else as a floating or exact array."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return as_array(value, name)
    return value


def _at_least(value: Any, name: str, *, above: int | None = None) -> Any:
    value = _values(value, name)
    good = value >= 0 if above is None else value > above
    _refuse_where(~_mask(good), value, name, "at least 0" if above is None else f"more than {above}")
    return value


def _inside(value: Any, name: str, low: int, high: int) -> Any:
    value = _values(value, name)
    _refuse_where(~(_mask(value >= low) & _mask(value <= high)), value, name, f"in [{low}, {high}]")
    return value


def _mask(condition: Any) -> Any:
    return condition if _is_array(condition) else np.asarray(condition, dtype=bool)


def _refuse_where(bad: Any, value: Any, name: str, expected: str) -> None:
    where = first_index(bad)
    if where is not None:
        shown = value[where] if _is_array(value) else value
        raise ValueError(f"{name} holds {shown}{f' at {where}' if where else ''}; expected values {expected}")


def _where(condition: Any, yes: Any, no: Any) -> Any:
    return namespace(yes, no).where(condition, yes, no)


def _plain(value: Any) -> Any:
    """A NumPy scalar as a Python float."""
    return float(value) if isinstance(value, np.generic) else value
