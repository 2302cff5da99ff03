"""How dependent two sets of embeddings are: the distance correlation that DGCF and DICE make small."""

from __future__ import annotations

from course_lib import arrays, checking, extras

try:
    import torch
    from torch import Tensor
except ImportError as error:
    raise extras.missing(error, "course_lib.dependence") from error


def distance_correlation(x: Tensor, y: Tensor) -> Tensor:
    """Compute how dependent two sets of paired rows are, as their distance correlation.

    ``dCor(x, y) = dCov(x, y) / sqrt(dCov(x, x) dCov(y, y))``, where ``dCov^2(x, y)`` is the mean of ``A * B``. ``A``
    and ``B`` (N, N) are the distances within x and within y, less their row and column means plus their mean.

    Parameters
    ----------
    x, y : Tensor, shape (N, p) and (N, q)
        The paired rows.

    Returns
    -------
    Tensor, shape ()
        A number in [0, 1]: near 0 for many independent rows, 1 where ``y = a + b x`` with a number ``b`` other than 0,
        0 where x or y is constant. It is a float32 for rows of 16 bits.

    Raises
    ------
    ValueError
        For anything but tensors of floats with two axes and as many rows, at least one, and for NaN and infinity.

    Notes
    -----
    Scaling x or y changes nothing, as in the definition. Code that goes with DGCF, RecBole's too, adds 1e-8 under
    every square root. So it makes small embeddings look less dependent, and constant ones entirely dependent. Source:
    Szekely, Rizzo and Bakirov, Annals of Statistics 2007 (arXiv 0803.4101).

    Examples
    --------
    >>> import torch
    >>> from course_lib.dependence import distance_correlation
    >>> x = torch.tensor([[0.0], [1.0], [3.0]])
    >>> round(float(distance_correlation(x, 5 - 2 * x)), 4)
    1.0
    >>> float(distance_correlation(x, torch.ones(3, 1)))
    0.0
    """
    for name, rows in (("x", x), ("y", y)):
        if not (isinstance(rows, Tensor) and rows.is_floating_point() and rows.ndim == 2 and len(rows) == len(x) > 0):
            raise checking.refuse(rows, name, "a tensor of floats with two axes, in x and in y a row for each pair")
        arrays.check_finite(rows, name)
    one, other = (_centred_distances(_of_size_one(arrays.at_least_single(rows))) for rows in (x, y))
    product, spread = (one * other).mean(), (one.square().mean() * other.square().mean()).sqrt()
    small = torch.finfo(product.dtype).tiny
    return (product.clamp(min=small) / spread.clamp(min=small)).sqrt() if bool(spread > small) else spread.new_zeros(())


def _of_size_one(x: Tensor) -> Tensor:
    """The rows, scaled where their distances are so large or small that the fourth powers would leave their dtype."""
    size = float((x.detach().amax(dim=0) - x.detach().amin(dim=0)).max()) if x.shape[1] else 0.0
    return x if size == 0 or 1e-6 < size < 1e6 else x / size


def _centred_distances(x: Tensor) -> Tensor:
    """(N, N) Euclidean distances of the rows, less row means and column means, plus the mean."""
    distances = torch.cdist(x, x, compute_mode="donot_use_mm_for_euclid_dist")
    return distances - distances.mean(dim=0) - distances.mean(dim=1, keepdim=True) + distances.mean()
