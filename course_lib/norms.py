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

import math
import numbers
from fractions import Fraction
from typing import Any

import numpy as np

from course_lib import checking
from course_lib.arrays import Array, as_array, first_index, is_exact, is_torch, like, namespace, shape_of

# ------------------------------------------------------------------------------------------ how often: the counts


def update_probability(p: Any, batch_size: int, *, negatives: int = 0, n_items: int | None = None) -> Any:
    """Return the probability that a batch moves an item at all.

    ``pi(p) = 1 - (1 - p)^B (1 - 1/N)^K``.

    Parameters
    ----------
    p : number or array_like
        The probability of the item in one slot of the batch, in [0, 1].
    batch_size : int
        The number ``B`` of slots, at least 1. They are drawn independently.
    negatives : int
        The number ``K`` of further items in the batch, drawn uniformly from all items, with replacement. 0 by default.
    n_items : int, optional
        The number ``N`` of all items. Needed only if there are negatives.

    Returns
    -------
    number or array, of the shape of ``p``
        The probabilities. They are exact for Fractions.

    Raises
    ------
    ValueError
        For probabilities outside [0, 1], for counts that are not whole numbers, and for negatives without ``n_items``.

    Notes
    -----
    Source: P0, equation (30), for ``K = 0``; the factor of the uniform negatives is ours.

    Examples
    --------
    Two slots with an even chance each miss the item in one batch of four; one more item, drawn from two, halves that:

    >>> from fractions import Fraction
    >>> from course_lib import norms
    >>> norms.update_probability(Fraction(1, 2), 2)
    Fraction(3, 4)
    >>> norms.update_probability(Fraction(1, 2), 2, negatives=1, n_items=2)
    Fraction(7, 8)
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
    """Return the mean number of batches that move an item in a run.

    ``E N_T = T pi(p)``: the mean of ``N_T``, which has the law Binomial(``T``, ``pi(p)``).

    Parameters
    ----------
    p : number or array_like
        The probability of the item in one slot of the batch, in [0, 1].
    batch_size : int
        The number of slots of a batch, at least 1.
    steps : int
        The number ``T`` of steps, at least 0. Each has one batch.
    negatives : int
        The number of further items in each batch, drawn uniformly from all items.
    n_items : int, optional
        The number of all items. Needed only if there are negatives.

    Returns
    -------
    number or array, of the shape of ``p``
        The mean numbers of updates. They are exact for Fractions.

    Raises
    ------
    ValueError
        As in :func:`update_probability`, and for ``steps`` that are no whole number.

    Notes
    -----
    Source: P0, equation (31).

    Examples
    --------
    A hundred times the popularity is less than a hundred times the updates, as a batch moves an item only once:

    >>> from course_lib import norms
    >>> norms.expected_updates([0.0001, 0.01], batch_size=1000, steps=1000).round().tolist()
    [95.0, 1000.0]
    """
    return checking.whole(steps, "steps", 0) * update_probability(p, batch_size, negatives=negatives, n_items=n_items)


def coupled_updates(probability: Any, uniforms: Any) -> Array:
    """Return which steps update which item when all items share one random number per step.

    An item is updated in step ``t`` where uniform number ``t`` is below its update probability. This is the monotone
    coupling.

    Parameters
    ----------
    probability : number or array_like, shape (...)
        The chances ``pi`` of an update in one step, in [0, 1].
    uniforms : array_like, shape (T,)
        Numbers in [0, 1], drawn uniformly. ALL items share them.

    Returns
    -------
    array of bool, shape (..., T)
        True where an item is updated.

    Raises
    ------
    ValueError
        For numbers outside [0, 1], and for ``uniforms`` that are not of shape (T,).

    Notes
    -----
    An item with a larger ``pi`` is updated whenever an item with a smaller one is. So sums over the last axis are
    ordered in every single run, and each of them alone is Binomial(``T``, ``pi``). Source: P0, Appendix C, Step 2.

    Examples
    --------
    >>> from course_lib import norms
    >>> norms.coupled_updates([0.2, 0.6], [0.1, 0.5, 0.9]).tolist()
    [[True, False, False], [True, True, False]]
    """
    probability = _inside(probability, "probability", 0, 1)
    probability = probability if _is_array(probability) else as_array(probability, "probability")
    uniforms = like(_inside(uniforms, "uniforms", 0, 1), probability, "uniforms")
    if len(shape_of(uniforms)) != 1:
        raise ValueError(f"uniforms has shape {shape_of(uniforms)}; expected (T,), one number for each step")
    return uniforms < probability[..., None]


# -------------------------------------------------------------------------------------------- how far: the paths


def squared_norm_path(start: Any, *, lr: Any, squared_gradients: Any) -> Array:
    """Return the squared norm of an embedding after every step of SGD on a loss of cosines.

    ``s_0, s_1, ..., s_n`` with ``s_{k+1} = s_k + lr^2 ||h_k||^2 / s_k``: the exact motion of ``||q||^2``.

    Parameters
    ----------
    start : number or array_like, shape (...)
        The squared norm ``s_0 = ||q_0||^2``, more than 0.
    lr : number
        The learning rate, at least 0.
    squared_gradients : array_like, shape (..., n)
        The ``||h_k||^2``, one for each step, at least 0.

    Returns
    -------
    array, shape (..., n + 1)
        The squared norms, the first of them ``start``. They are exact where all arguments are: no root is taken.

    Raises
    ------
    ValueError
        For a ``start`` that is not positive, a negative ``lr`` or square, and ``squared_gradients`` that is one number.

    Notes
    -----
    Source: P0, equation (18), with ``||Delta q||^2 = lr^2 ||h||^2 / ||q||^2``.

    Examples
    --------
    The longer the embedding, the shorter the step:

    >>> from course_lib import norms
    >>> norms.squared_norm_path(1, lr=1, squared_gradients=[1, 1, 1]).tolist()
    [1.0, 2.0, 2.5, 2.9]
    """
    return decayed_path(start, lr=lr, squared_gradients=squared_gradients, decay=0)


def decayed_path(start: Any, *, lr: Any, squared_gradients: Any, decay: Any, lazy: bool = False) -> Array:
    """Return the squared norm of an embedding after every step of SGD with weight decay.

    ``s_{k+1} = (1 - lr decay)^2 s_k + lr^2 ||h_k||^2 / s_k``: the motion of ``||q||^2``.

    Parameters
    ----------
    start : number or array_like, shape (...)
        The squared norm ``s_0 = ||q_0||^2``, more than 0.
    lr : number
        The learning rate, at least 0.
    squared_gradients : array_like, shape (..., n)
        The ``||h_k||^2``, one for each step, at least 0. It is 0 in a step without an update.
    decay : number
        The weight decay ``lambda``, with ``0 <= lr lambda < 1``, as in torch's SGD: ``q <- q - lr (g + lambda q)``.
    lazy : bool
        Whether a step without an update leaves the embedding as it is. Sparse optimisers do that: they decay only the
        rows that a batch holds. Without ``lazy`` every step decays.

    Returns
    -------
    array, shape (..., n + 1)
        The squared norms, the first of them ``start``. They are exact where all arguments are: no root is taken.

    Raises
    ------
    ValueError
        For a ``start`` that is not positive, a negative ``lr``, ``decay`` or square, ``lr decay`` of 1 or more, and
        ``squared_gradients`` that is one number.

    See Also
    --------
    squared_norm_path : The same without decay.

    Examples
    --------
    The first step has no update. It decays all the same, unless the decay is lazy:

    >>> from course_lib import norms
    >>> norms.decayed_path(4, lr=1, squared_gradients=[0, 3], decay=0.5).tolist()
    [4.0, 1.0, 3.25]
    >>> norms.decayed_path(4, lr=1, squared_gradients=[0, 3], decay=0.5, lazy=True).tolist()
    [4.0, 4.0, 1.75]
    """
    squares = as_array(squared_gradients, "squared_gradients")
    if not shape_of(squares):
        raise ValueError("squared_gradients is one number; expected (..., n), one entry for each step")
    _at_least(squares, "squared_gradients")
    checking.choice(lazy, "lazy", (True, False))
    start = _at_least(start, "start", above=0)
    checking.real(lr, "lr", least=0), checking.real(decay, "decay", least=0)
    lr, decay = _unbounded(lr), _unbounded(decay)
    if not 0 <= lr * decay < 1:
        raise ValueError(f"lr * decay is {lr * decay}; expected [0, 1), so that a step shrinks and does not flip")
    s = as_array(start, "start")
    s = like(s, squares, "start") if not is_exact(squares) else s
    s = s + 0 * (squares[..., 0] if shape_of(squares)[-1] else squares.sum(-1))
    kept = (1 - lr * decay) ** 2
    path = [s]
    for k in range(shape_of(squares)[-1]):
        h2 = squares[..., k]
        shrunk = _where(h2 > 0, kept * s, s) if lazy else kept * s
        s = shrunk + lr * lr * h2 / s
        path.append(s)
    return namespace(s).stack(path, axis=-1)


def predicted_norm(start_norm: Any, *, lr: Any, h: Any, updates: Any, fourth_powers: Any = 0) -> Any:
    """Return the norm that the quartic law predicts from summaries of a run.

    ``(||q_0||^4 + 2 lr^2 h^2 n + sum ||dq||^4)^(1/4)``.

    Parameters
    ----------
    start_norm : number or array_like
        The norm ``||q_0||`` before the run, more than 0.
    lr : number or array_like
        The learning rate, at least 0.
    h : number or array_like
        The root mean square of the ``||h_k||`` over the updates, at least 0.
    updates : number or array_like
        The number ``n`` of updates, at least 0.
    fourth_powers : number or array_like
        ``sum_k ||dq_k||^4`` over the updates, at least 0.

    Returns
    -------
    number or array
        The norm after the run. The arguments broadcast.

    Raises
    ------
    ValueError
        For a ``start_norm`` that is not positive, and for other values below 0.

    See Also
    --------
    course_lib.geometry.quartic_norm : The same step by step.

    Notes
    -----
    Exact when ``h`` and the fourth powers are those of the run. Without the fourth powers (the default) it is a lower
    bound, close unless single steps are as long as the embedding. Source: claim X5.

    Examples
    --------
    With 16 times the updates an embedding that has grown far is only twice as long:

    >>> from course_lib import norms
    >>> norms.predicted_norm(1, lr=1, h=1, updates=[0, 40, 640]).round(2).tolist()
    [1.0, 3.0, 5.98]
    """
    start_norm, h = _at_least(start_norm, "start_norm", above=0), _at_least(h, "h")
    updates, lr = _at_least(updates, "updates"), _at_least(lr, "lr")
    return (start_norm**4 + 2 * lr * lr * h * h * updates + _at_least(fourth_powers, "fourth_powers")) ** 0.25


def crossover_count(start_norm: Any, *, lr: Any, h: Any) -> Any:
    """Return the number of updates after which growth has doubled the fourth power of the norm.

    ``n* = ||q_0||^4 / (2 lr^2 h^2)``, by the quartic law without its fourth powers of steps.

    Parameters
    ----------
    start_norm : number or array_like
        The norm ``||q_0||`` before the run, more than 0.
    lr : number or array_like
        The learning rate, more than 0.
    h : number or array_like
        The root mean square of the ``||h_k||`` over the updates, more than 0.

    Returns
    -------
    number or array
        The count ``n*``, exact for Fractions.

    Raises
    ------
    ValueError
        For values that are not positive.

    Notes
    -----
    Before ``n*`` the norm is flat, after ``n*`` it grows like ``n^(1/4)``. Source: claim X5.

    Examples
    --------
    After that many updates the fourth power of the norm is twice as large:

    >>> from course_lib import norms
    >>> norms.crossover_count(2, lr=1, h=1)
    8.0
    >>> round(norms.predicted_norm(2, lr=1, h=1, updates=8) ** 4, 4), 2**4
    (32.0, 16)
    """
    start_norm = _at_least(start_norm, "start_norm", above=0)
    lr, h = _at_least(lr, "lr", above=0), _at_least(h, "h", above=0)
    return start_norm**4 / (2 * lr * lr * h * h)


def effective_learning_rate(lr: Any, *, norm: Any) -> Any:
    """Return the learning rate that the direction of an embedding sees.

    ``lr / ||q||^2``, the only combination of the two that the directions ever see.

    Parameters
    ----------
    lr : number or array_like
        The learning rate, at least 0.
    norm : number or array_like
        The norm ``||q||``, more than 0.

    Returns
    -------
    number or array
        The effective learning rate.

    Raises
    ------
    ValueError
        For a negative ``lr`` and a ``norm`` that is not positive.

    Notes
    -----
    Scaling ``(q_0, lr)`` to ``(c q_0, c^2 lr)`` multiplies every later ``q`` by ``c`` and changes no cosine. Source:
    claim X5.

    Examples
    --------
    An embedding of ten times the length needs a hundred times the learning rate:

    >>> from course_lib import norms
    >>> norms.effective_learning_rate(0.1, norm=2), norms.effective_learning_rate(10, norm=20)
    (0.025, 0.025)
    """
    lr, norm = _at_least(lr, "lr"), _at_least(norm, "norm", above=0)
    return lr / norm / norm  # norm * norm would be 0 below 1e-162


# ------------------------------------------------------------------------------------------------- copies in one batch


def expected_squared_gradient(p: Any, *, batch_size: int, coherence: Any, single: Any = 1) -> Any:
    """Return the mean squared gradient that one batch gives an item, with all copies of the item in the batch.

    ``E||h||^2 = h_0^2 [B p + rho B (B - 1) p^2]``.

    Parameters
    ----------
    p : number or array_like
        The probability of the item in one slot of the batch, in [0, 1].
    batch_size : int
        The number ``B`` of slots, at least 1.
    coherence : number or array_like
        ``rho`` in [0, 1]: the mean cosine between the gradients of two copies of the item in one batch (times their
        lengths, over ``h_0^2``).
    single : number or array_like
        ``h_0^2``, the mean square of the gradient of one copy, at least 0.

    Returns
    -------
    number or array
        The mean square. A batch without the item counts as 0. Exact for Fractions.

    Raises
    ------
    ValueError
        For ``p`` or ``coherence`` outside [0, 1], a negative ``single``, and a ``batch_size`` that is no whole number.

    Notes
    -----
    Model: the slots are independent, and the copies are alike. Source: claim X5.

    Examples
    --------
    Two slots with an even chance each hold 0, 1, 1 or 2 copies. Orthogonal gradients add their squares, equal gradients
    add up before they are squared:

    >>> from fractions import Fraction
    >>> from course_lib import norms
    >>> half = Fraction(1, 2)
    >>> norms.expected_squared_gradient(half, batch_size=2, coherence=0) == Fraction(0 + 1 + 1 + 2, 4)
    True
    >>> norms.expected_squared_gradient(half, batch_size=2, coherence=1) == Fraction(0 + 1 + 1 + 4, 4)
    True
    """
    p, coherence = _inside(p, "p", 0, 1), _inside(coherence, "coherence", 0, 1)
    batch_size, single = checking.whole(batch_size, "batch_size", 1), _at_least(single, "single")
    return single * (batch_size * p + coherence * (batch_size * (batch_size - 1)) * p * p)


def expected_squared_gradient_slope(p: Any, *, batch_size: int, coherence: Any) -> Any:
    """Return the slope of the log of the mean squared gradient in the log of the popularity.

    ``d log E||h||^2 / d log p = (1 + 2 c) / (1 + c)`` with ``c = rho (B - 1) p``: from 1 (rare item) to 2 (head item).

    Parameters
    ----------
    p : number or array_like
        The probability of the item in one slot of the batch, in [0, 1].
    batch_size : int
        The number ``B`` of slots, at least 1.
    coherence : number or array_like
        ``rho`` in [0, 1], as in :func:`expected_squared_gradient`.

    Returns
    -------
    number or array
        The slope, in [1, 2). Exact for Fractions.

    Raises
    ------
    ValueError
        For ``p`` or ``coherence`` outside [0, 1], and a ``batch_size`` that is no whole number.

    Notes
    -----
    A quarter of it is the slope of ``log||q||`` in log popularity, far beyond the crossover: 1/4 to 1/2. Source: claim
    X5.

    Examples
    --------
    A rare item, and one with a further copy in the average batch that holds it:

    >>> from course_lib import norms
    >>> norms.expected_squared_gradient_slope([0.0, 0.01], batch_size=101, coherence=1).tolist()
    [1.0, 1.5]
    """
    p, coherence = _inside(p, "p", 0, 1), _inside(coherence, "coherence", 0, 1)
    copies = coherence * (checking.whole(batch_size, "batch_size", 1) - 1) * p
    return (1 + 2 * copies) / (1 + copies)


# ------------------------------------------------------------------------------------------------- weight decay


def decay_equilibrium(probability: Any, *, lr: Any, decay: Any, h: Any) -> Any:
    """Return the norm at which growth and weight decay balance.

    ``(pi lr^2 h^2 / (1 - (1 - lr lambda)^2))^(1/4)``.

    Parameters
    ----------
    probability : number or array_like
        The chance ``pi`` of an update in one step, in [0, 1].
    lr : number
        The learning rate, more than 0.
    decay : number
        The weight decay ``lambda``, more than 0, with ``lr lambda < 1``.
    h : number or array_like
        The root mean square of the ``||h_k||`` over the updates, at least 0, as in :func:`predicted_norm`.

    Returns
    -------
    number or array
        The norm at the balance.

    Raises
    ------
    ValueError
        For values outside these bounds.

    Notes
    -----
    Exact for ``pi = 1`` and constant ``h``. For ``pi < 1`` it is the fixed point of the MEAN of ``s = ||q||^2`` in a
    step where ``1/s`` stands for its mean. The true stationary mean of ``s`` is at least the square of this norm
    (Jensen), and close to it while ``pi`` is well above ``lr lambda``. Source: claim X6.

    Examples
    --------
    At the balance a step changes nothing, and an item with a sixteenth of the updates is half as long:

    >>> from course_lib import norms
    >>> norm = norms.decay_equilibrium(1, lr=0.1, decay=0.5, h=1)
    >>> path = norms.decayed_path(norm**2, lr=0.1, decay=0.5, squared_gradients=[1, 1])
    >>> (path / norm**2).round(6).tolist()
    [1.0, 1.0, 1.0]
    >>> round(norms.decay_equilibrium(1 / 16, lr=0.1, decay=0.5, h=1) / norm, 4)
    0.5
    """
    probability, h = _inside(probability, "probability", 0, 1), _at_least(h, "h")
    checking.real(lr, "lr", above=0), checking.real(decay, "decay", above=0)
    lr, decay = _unbounded(lr), _unbounded(decay)
    if not lr * decay < 1:
        raise ValueError(f"lr * decay is {lr * decay}; expected less than 1, so that a step shrinks and does not flip")
    kept = 1 - lr * decay
    return (probability * (lr * lr * h * h) / (1 - kept * kept)) ** 0.25


def lazy_decay_equilibrium(*, lr: Any, decay: Any, h: Any) -> Any:
    """Return the norm at which growth and weight decay balance when the decay acts only at updates.

    This is :func:`decay_equilibrium` with ``pi = 1``, so the popularity is gone from it.

    Parameters
    ----------
    lr : number
        The learning rate, more than 0.
    decay : number
        The weight decay ``lambda``, more than 0, with ``lr lambda < 1``.
    h : number or array_like
        The root mean square of the ``||h_k||`` over the updates, at least 0, as in :func:`predicted_norm`.

    Returns
    -------
    number or array
        The norm at the balance.

    Raises
    ------
    ValueError
        For values outside these bounds.

    Notes
    -----
    Every ``1 / (4 lr lambda)`` updates, about, the distance of ``||q||^4`` from its balance falls by the factor e. Only
    the time that these updates take still depends on popularity. Source: claim X6.

    Examples
    --------
    Two steps in three do not move this item. The embedding stays at the balance all the same:

    >>> from course_lib import norms
    >>> norm = norms.lazy_decay_equilibrium(lr=0.1, decay=0.5, h=1)
    >>> path = norms.decayed_path(norm**2, lr=0.1, decay=0.5, squared_gradients=[1, 0, 0], lazy=True)
    >>> (path / norm**2).round(6).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    return decay_equilibrium(1, lr=lr, decay=decay, h=h)


# ------------------------------------------------------------------------------------------------- arguments


def _is_array(value: Any) -> bool:
    return is_torch(value) or isinstance(value, np.ndarray)


def _values(value: Any, name: str) -> Any:
    """A number as it is, anything else as a floating or exact array."""
    if isinstance(value, bool):
        raise checking.refuse(value, name, "numbers")
    if not isinstance(value, numbers.Real):
        return as_array(value, name)
    return _unbounded(value)


def _unbounded(value: Any) -> Any:
    """A NumPy integer as an int, whose powers do not overflow; anything else as it is."""
    return int(value) if isinstance(value, np.integer) else value


def _at_least(value: Any, name: str, *, above: int | None = None) -> Any:
    value = _values(value, name)
    good = _mask(value >= 0 if above is None else value > above) & _mask(value < math.inf)
    _refuse_where(~good, value, name, f"{'at least 0' if above is None else f'more than {above}'}, and finite")
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
