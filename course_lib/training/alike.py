"""What each process of a run was given, in words that can be compared: functions, modules, optimisers, batches."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping, Sequence
from functools import partial
from types import CodeType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

PLAIN = (bool, int, float, str, bytes, type(None))


def function_words(function: Any) -> str:
    """Name, settings and a fingerprint of the code: equal for the same function with the same settings.

    Settings are numbers, words and functions among the arguments of a `partial`, the defaults, what a function closes
    over, and what the object of a method holds; those with "rank" in their name say which process it is, and are left
    out. Arrays, modules and data are not looked at.
    """
    if isinstance(function, partial):
        given = {str(at): value for at, value in enumerate(function.args)} | function.keywords
        return function_words(function.func) + _settings(given)
    inner = getattr(function, "__func__", function)
    owner = getattr(function, "__self__", None if hasattr(function, "__code__") else function)
    name = getattr(inner, "__qualname__", type(inner).__qualname__)
    code = getattr(inner, "__code__", None)
    held = dict(getattr(owner, "__dict__", {})) if not isinstance(owner, nn.Module) else {}
    return name + _settings(held | _held(inner)) + (f" with code {_digest(_code_bytes(code))}" if code else "")


def module_words(module: nn.Module) -> dict[str, str]:
    """A name -> what it is: the class of the module, each of its tables, and each fraction that a layer holds."""
    words = {"module": f"{type(module).__module__}.{type(module).__qualname__}"}
    for name, tensor in (*module.named_parameters(), *module.named_buffers()):
        words[f"module.{name}"] = f"a table {tuple(tensor.shape)} of {tensor.dtype}"
    for path, layer in module.named_modules():
        for name, value in vars(layer).items():
            if isinstance(value, float):
                words[".".join(filter(None, ("module", path, name)))] = repr(value)
    return words


def optimizer_words(optimizer: torch.optim.Optimizer) -> dict[str, str]:
    """A name -> what it is: the class of the optimiser and the settings of each group of parameters."""
    words = {"optimizer": type(optimizer).__qualname__}
    for at, group in enumerate(optimizer.param_groups):
        words |= {
            f"optimizer.param_groups[{at}][{key!r}]": repr(value) for key, value in group.items() if key != "params"
        }
    return words


def batch_words(batch: Any) -> str:
    """A fingerprint of the numbers in a batch."""
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


def _settings(held: Mapping[str, Any]) -> str:
    shown = {name: _setting(value) for name, value in sorted(held.items()) if "rank" not in name}
    kept = [f"{name}={words}" for name, words in shown.items() if words is not None]
    return f"({', '.join(kept)})" if kept else ""


def _setting(value: Any) -> str | None:
    if isinstance(value, PLAIN):
        return repr(value)
    return function_words(value) if inspect.isroutine(value) or isinstance(value, partial) else None


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
