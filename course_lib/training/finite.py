"""Whether tensors hold finite numbers, asked once for all of them."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor


def not_finite(tensors: Mapping[str, Tensor | None]) -> str:
    """Say where the first NaN or infinity stands in these tensors.

    Parameters
    ----------
    tensors : mapping of str to Tensor or None
        The tensors by name. None, a gradient that is not there, is left out. A sparse tensor counts by what it holds.

    Returns
    -------
    str
        Words such as "rows.weight[3, 0] is nan"; "" where all numbers are finite.

    Notes
    -----
    A sum is finite only if its terms are. So the sums are looked at first, all together, for which a GPU is waited for
    once, and the entries only where a sum is not finite, which may have overflowed.

    Examples
    --------
    >>> import torch
    >>> from course_lib.training.finite import not_finite
    >>> not_finite({"weight": torch.ones(2, 2), "bias": torch.tensor([0.0, torch.inf])})
    'bias[1] is inf'
    >>> not_finite({"weight": torch.ones(2, 2), "bias": None})
    ''
    """
    given = {name: one.detach() for name, one in tensors.items() if one is not None}
    sums = [_total(one._values() if one.is_sparse else one) for one in given.values()]
    if not sums or bool(torch.stack([one.to(sums[0].device) for one in sums]).isfinite().all()):
        return ""
    for name, one in given.items():
        whole = one.coalesce() if one.is_sparse else one
        values = whole.values() if one.is_sparse else whole
        if len(bad := torch.argwhere(~values.isfinite())):
            place = [*whole.indices()[:, bad[0, 0]], *bad[0, 1:]] if one.is_sparse else [*bad[0]]
            where = f"[{', '.join(str(int(at)) for at in place)}]" if place else ""
            return f"{name}{where} is {float(values[tuple(bad[0])])}"
    return ""


def _total(values: Tensor) -> Tensor:
    """The sum as a float32 (): 16 bits overflow, and not every device has 64."""
    return values.sum(dtype=torch.promote_types(values.dtype, torch.float32)).float()
