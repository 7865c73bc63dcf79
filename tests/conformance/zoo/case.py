# SPDX-License-Identifier: GPL-3.0-or-later
"""What an entry of the zoo is, how it is called, and how two runs are compared."""

import copy
import dataclasses
import importlib.util
import math
import time
from typing import Any, Callable

import torch


@dataclasses.dataclass
class Case:
    """fn: the module or function to compile; args, kwargs: cloned before each call; train: backward of the outputs as well;
    modules: modules whose parameters and buffers are compared after the calls (fn itself when it is a module);
    again: called as again(i) -> (args, kwargs) for calls after the first, in place of the same arguments;
    around: a context manager made anew for each call (autocast, no_grad);
    places: how many places may break, where that is known; train_args: arguments that training takes in addition."""

    fn: Callable
    args: tuple = ()
    kwargs: dict = dataclasses.field(default_factory=dict)
    train: bool = False
    modules: Any = None
    again: Any = None
    around: Any = None
    places: Any = None
    train_args: tuple = ()

    def other(self):
        """The same module in the other mode: training with a backward pass for evaluation and the reverse; None if fn is no module."""
        if not isinstance(self.fn, torch.nn.Module):
            return None
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        self.fn.train(not self.fn.training)
        return Case(**dict(fields, train=not self.train, args=self.args + (() if self.train else self.train_args), places=None))


def entries_of():
    """ENTRIES and MISSING of a file and the decorator that fills them: an entry whose package is not installed is named in MISSING."""
    entries, missing = {}, {}

    def entry(package):
        def register(build):
            if importlib.util.find_spec(package) is None:
                missing[build.__name__] = package
            else:
                entries[build.__name__] = build
            return build

        return register

    return entries, missing, entry


def tokens(*shape, top=96):
    return torch.randint(3, top, shape)


def pictures(side=32, count=2, channels=3):
    return torch.randn(count, channels, side, side)


def clone(value):
    """A copy of arguments that keeps requires_grad and passes other objects on."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)
    if type(value) in (list, tuple):
        return type(value)(clone(v) for v in value)
    if type(value) is dict:
        return {k: clone(v) for k, v in value.items()}
    return copy.deepcopy(value) if type(value).__module__ != "builtins" else value


def tensors(value, seen=None):
    """All tensors inside a result, in order."""
    seen = seen if seen is not None else set()
    if isinstance(value, torch.Tensor):
        return [value]
    if id(value) in seen or value is None or isinstance(value, (int, float, str, bool, type)):
        return []
    seen.add(id(value))
    if isinstance(value, dict):
        return [t for v in value.values() for t in tensors(v, seen)]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in tensors(v, seen)]
    return [t for v in getattr(value, "__dict__", {}).values() for t in tensors(v, seen)]


def state_of(case):
    modules = case.modules if case.modules is not None else case.fn
    if not isinstance(modules, torch.nn.Module):
        return {}
    state = {name: p for name, p in modules.named_parameters()}
    state.update({name: b for name, b in modules.named_buffers()})
    return state


def run_case(case, compile_one, calls):
    """Runs the calls; returns the record of everything seen and the seconds of processor time of each call (forward only)."""
    compiled = compile_one(case.fn)
    record, seconds = {}, []
    for i in range(calls):
        args, kwargs = (case.args, case.kwargs) if i == 0 or case.again is None else case.again(i)
        args, kwargs = clone(tuple(args)), clone(dict(kwargs))
        torch.manual_seed(100 + i)
        start = time.process_time()
        with torch.set_grad_enabled(case.train or case.modules is not None) if case.around is None else case.around():
            result = compiled(*args, **kwargs)
        seconds.append(time.process_time() - start)
        record[f"call {i}"] = result
        record[f"arguments {i}"] = [args, kwargs]
        if case.train:
            loss = sum((t.float() ** 2).mean() for t in tensors(result) if t.requires_grad and t.dtype.is_floating_point)
            loss.backward()
            record[f"gradients {i}"] = {n: p.grad for n, p in state_of(case).items() if p.grad is not None}
            record[f"argument gradients {i}"] = [t.grad for t in tensors([args, kwargs])]
            record[f"gradients {i}"] = clone(record[f"gradients {i}"])
            for p in state_of(case).values():
                p.grad = None
        record[f"call {i}"] = flatten(result)
        record[f"arguments {i}"] = flatten([args, kwargs])
    record["state"] = {n: v.detach().clone() for n, v in state_of(case).items()}
    record["generator"] = torch.get_rng_state()
    return record, seconds


def flatten(value, depth=0, seen=None):
    """A result as plain containers that can be pickled: objects become (class name, fields)."""
    seen = seen if seen is not None else set()
    if isinstance(value, torch.Tensor):
        return ("tensor", type(value).__name__, value.requires_grad, value.detach().clone())
    if value is None or isinstance(value, (int, float, complex, str, bytes)):
        return (type(value).__name__, value) if type(value) in (int, float, complex, str, bytes, bool) else type(value).__name__
    if id(value) in seen or depth > 12:
        return "again"
    seen = seen | {id(value)}
    if isinstance(value, dict):
        return (type(value).__name__, [(flatten(k, depth + 1, seen), flatten(v, depth + 1, seen)) for k, v in value.items()])
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, [flatten(v, depth + 1, seen) for v in value])
    if isinstance(value, (type, torch.nn.Module)) or callable(value):
        return getattr(value, "__qualname__", type(value).__qualname__)
    fields = getattr(value, "__dict__", None)
    return (type(value).__qualname__, flatten(dict(fields), depth + 1, seen) if fields else None)


def describe(record):
    """The record with tensors as arrays of bytes' worth: what crosses a pipe."""
    if isinstance(record, torch.Tensor):
        return record.detach()
    if isinstance(record, dict):
        return {k: describe(v) for k, v in record.items()}
    if isinstance(record, (list, tuple)):
        return type(record)(describe(v) for v in record)
    return record


def differences(wanted, got, exact, path=""):
    """Where two records differ, in words."""
    if isinstance(wanted, torch.Tensor) and isinstance(got, torch.Tensor):
        return tensor_differences(wanted, got, exact, path)
    if type(wanted) is not type(got):
        return [f"{path}: {type(got).__name__} in place of {type(wanted).__name__}"]
    if isinstance(wanted, dict):
        if list(wanted) != list(got):
            return [f"{path}: keys {list(got)[:6]} in place of {list(wanted)[:6]}"]
        return [d for k in wanted for d in differences(wanted[k], got[k], exact, f"{path}.{k}")]
    if isinstance(wanted, (list, tuple)):
        if len(wanted) != len(got):
            return [f"{path}: {len(got)} items in place of {len(wanted)}"]
        return [d for i, (a, b) in enumerate(zip(wanted, got)) for d in differences(a, b, exact, f"{path}[{i}]")]
    if isinstance(wanted, float):
        same = wanted == got or (math.isnan(wanted) and math.isnan(got))
        return [] if same or (not exact and math.isclose(wanted, got, rel_tol=1e-5, abs_tol=1e-6)) else [f"{path}: {got} for {wanted}"]
    return [] if wanted == got else [f"{path}: {str(got)[:80]} in place of {str(wanted)[:80]}"]


def tensor_differences(a, b, exact, path):
    if a.dtype != b.dtype or a.shape != b.shape:
        return [f"{path}: {b.dtype} {tuple(b.shape)} in place of {a.dtype} {tuple(a.shape)}"]
    if a.is_sparse or a.layout != torch.strided:
        a, b = a.to_dense(), b.to_dense()
    if exact and a.stride() != b.stride() and a.numel() > 1:
        return [f"{path}: strides {b.stride()} in place of {a.stride()}"]
    if not exact and (a.dtype.is_floating_point or a.dtype.is_complex):
        try:
            torch.testing.assert_close(b, a, equal_nan=True)
        except AssertionError as error:
            return [f"{path}: " + " ".join(str(error).split())[:160]]
        return []
    if a.contiguous().reshape(-1).view(torch.uint8).equal(b.contiguous().reshape(-1).view(torch.uint8)):
        return []
    if a.dtype.is_floating_point and torch.equal(torch.nan_to_num(a, 7.5), torch.nan_to_num(b, 7.5)) and torch.equal(a.isnan(), b.isnan()) and \
            torch.equal(torch.signbit(a) & ~a.isnan(), torch.signbit(b) & ~b.isnan()):
        return []
    worst = (a.double() - b.double()).abs().max().item() if not a.dtype.is_complex else float("nan")
    return [f"{path}: values differ by up to {worst:.3g}"]
