"""What each process of a run was given, in words that can be compared: functions, modules, optimisers, batches."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping, Sequence
from functools import partial
from types import CodeType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

PLAIN = (bool, int, float, str, bytes, type(None))


def function_words(function: Any) -> str:
    """Describe a function by its name, its settings and a fingerprint of its code.

    Parameters
    ----------
    function : callable
        A function, a method, a ``partial`` or an object that can be called.

    Returns
    -------
    str
        Words that are equal for the same function with the same settings.

    Notes
    -----
    Settings are numbers, words and functions among the arguments of a ``partial``, the defaults, what a function
    closes over, and what the object of a method holds. Those with "rank" in their name say which process it is, and
    are left out. Arrays, modules and data are not looked at.

    Examples
    --------
    >>> from functools import partial
    >>> from course_lib.training.alike import function_words
    >>> def step(module, batch, tau): return module(batch) / tau
    >>> function_words(partial(step, tau=0.1)) == function_words(partial(step, tau=0.2))
    False
    >>> function_words(lambda x: x + 1) == function_words(lambda x: x + 1)
    True
    """
    return _words(function, frozenset())


def _words(function: Any, above: frozenset[int]) -> str:
    """See `function_words`. above: the objects that hold this function, which may hold it in a circle."""
    if isinstance(function, partial):
        given = {str(at): value for at, value in enumerate(function.args)} | function.keywords
        return _words(function.func, above) + _settings(given, above)
    inner = getattr(function, "__func__", function)
    owner = getattr(function, "__self__", None if hasattr(function, "__code__") else function)
    name = getattr(inner, "__qualname__", type(inner).__qualname__)
    if id(inner) in above:
        return name
    code = getattr(inner, "__code__", None)
    bare = isinstance(owner, nn.Module | ModuleType)  # the owner of a function written in C is its module
    held = {} if bare else dict(getattr(owner, "__dict__", {}))
    words = name + _settings(held | _held(inner), above | {id(inner)})
    return words + (f" with code {_digest(_code_bytes(code))}" if code else "")


def module_words(module: nn.Module) -> dict[str, str]:
    """Describe a module by name: its class, each of its tables, and each fraction that a layer holds.

    Parameters
    ----------
    module : torch.nn.Module
        The module.

    Returns
    -------
    dict of str to str
        A name -> what it is.

    Examples
    --------
    >>> from course_lib import encoders
    >>> from course_lib.training.alike import module_words
    >>> for name, words in module_words(encoders.Lookup(3, 2)).items():
    ...     print(name, "is", words)
    module is course_lib.encoders.Lookup
    module.weight is a table (3, 2) of torch.float32
    """
    words = {"module": f"{type(module).__module__}.{type(module).__qualname__}"}
    for name, tensor in (*module.named_parameters(), *module.named_buffers()):
        words[f"module.{name}"] = f"a table {tuple(tensor.shape)} of {tensor.dtype}"
    for path, layer in module.named_modules():
        for name, value in vars(layer).items():
            if isinstance(value, float):
                words[".".join(filter(None, ("module", path, name)))] = repr(value)
    return words


def optimizer_words(optimizer: torch.optim.Optimizer) -> dict[str, str]:
    """Describe an optimiser by name: its class, and the settings of each group of parameters.

    Parameters
    ----------
    optimizer : torch.optim.Optimizer
        The optimiser.

    Returns
    -------
    dict of str to str
        A name -> what it is.

    Examples
    --------
    >>> import torch
    >>> from course_lib.training.alike import optimizer_words
    >>> words = optimizer_words(torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=0.1))
    >>> words["optimizer"], words["optimizer.param_groups[0]['lr']"]
    ('SGD', '0.1')
    """
    words = {"optimizer": type(optimizer).__qualname__}
    for at, group in enumerate(optimizer.param_groups):
        words |= {
            f"optimizer.param_groups[{at}][{key!r}]": repr(value) for key, value in group.items() if key != "params"
        }
    return words


def batch_words(batch: Any) -> str:
    """Describe a batch by a fingerprint of its numbers.

    Parameters
    ----------
    batch : object
        Tensors, arrays, numbers and words, also in lists, tuples and dicts.

    Returns
    -------
    str
        Words that are equal for equal numbers of the same shape and type.

    Examples
    --------
    >>> import torch
    >>> from course_lib.training.alike import batch_words
    >>> batch_words([torch.tensor([1, 2])]) == batch_words([torch.tensor([1, 2])])
    True
    >>> batch_words([torch.tensor([1, 2])]) == batch_words([torch.tensor([1, 3])])
    False
    """
    return f"a batch with fingerprint {_digest(_bytes(batch))}"


def _held(function: Any) -> dict[str, Any]:
    """Name -> value of what a function closes over and of its defaults."""
    code = getattr(function, "__code__", None)
    if code is None:
        return {}
    cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
    held = {name: cell.cell_contents for name, cell in cells if cell != type(cell)()}
    held |= {f"default {at}": value for at, value in enumerate(function.__defaults__ or ())}
    return held | dict(function.__kwdefaults__ or {})


def _settings(held: Mapping[str, Any], above: frozenset[int]) -> str:
    shown = {name: _setting(value, above) for name, value in sorted(held.items()) if "rank" not in name}
    kept = [f"{name}={words}" for name, words in shown.items() if words is not None]
    return f"({', '.join(kept)})" if kept else ""


def _setting(value: Any, above: frozenset[int]) -> str | None:
    if isinstance(value, PLAIN):
        return repr(value)
    return _words(value, above) if inspect.isroutine(value) or isinstance(value, partial) else None


def _code_bytes(code: CodeType) -> bytes:
    return b"|".join([code.co_code, *(name.encode() for name in code.co_names), *map(_constant_bytes, code.co_consts)])


def _constant_bytes(value: Any) -> bytes:
    if isinstance(value, CodeType):
        return _code_bytes(value)
    return repr(sorted(map(repr, value)) if isinstance(value, frozenset) else value).encode()


def _bytes(value: Any) -> bytes:
    if isinstance(value, Tensor):
        plain = value.detach().cpu()
        return _bytes((plain.float() if plain.dtype == torch.bfloat16 else plain).numpy())
    if isinstance(value, np.ndarray):
        return f"{value.shape}{value.dtype}".encode() + (b"" if value.dtype == object else value.tobytes())
    if isinstance(value, Mapping):
        return b"".join(str(key).encode() + _bytes(part) for key, part in value.items())
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return b"".join(_bytes(part) for part in value)
    return repr(value).encode() if isinstance(value, PLAIN) else type(value).__qualname__.encode()


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=4).hexdigest()
