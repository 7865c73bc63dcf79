# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared by the Python-driven tests: programs in forked children, strict equality, a plain closing count."""

import math
import os
import pickle
import random
import sys
import traceback


def run_child(work, timeout=120):
    """Calls work() in a forked child and returns what it returned, or {"crash": text}. The child's output is dropped."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read_end)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        try:
            data = pickle.dumps(work())
        except BaseException:  # the child must always answer
            data = pickle.dumps({"crash": traceback.format_exc()[-3000:]})
        with os.fdopen(write_end, "wb") as out:
            out.write(data)
        os._exit(0)
    os.close(write_end)
    import select

    chunks = []
    with os.fdopen(read_end, "rb") as src:
        while True:
            ready, _, _ = select.select([src], [], [], timeout)
            if not ready:
                os.kill(pid, 9)
                os.waitpid(pid, 0)
                return {"crash": f"no answer within {timeout} s"}
            part = os.read(src.fileno(), 1 << 16)
            if not part:
                break
            chunks.append(part)
    _, status = os.waitpid(pid, 0)
    if not chunks:
        return {"crash": f"the child died with status {status}"}
    return pickle.loads(b"".join(chunks))


def seed_all(n=0):
    import torch

    torch.manual_seed(n)
    random.seed(n)


def bits_equal(a, b):
    """Bit for bit: same types, structure, dtypes, strides and values; NaN equals NaN, -0.0 differs from 0.0."""
    import torch

    if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
        if type(a) is not type(b) or a.dtype != b.dtype or a.shape != b.shape:
            return False
        if a.layout == torch.strided and a.stride() != b.stride():
            return False
        if a.requires_grad != b.requires_grad:
            return False
        if a.layout != torch.strided:
            a, b = a.to_dense(), b.to_dense()
        x, y = a.detach().contiguous(), b.detach().contiguous()
        if x.dtype.is_floating_point or x.dtype.is_complex:
            if torch.equal(x, y) and torch.equal(torch.signbit(torch.view_as_real(x) if x.is_complex() else x),
                                                 torch.signbit(torch.view_as_real(y) if y.is_complex() else y)):
                return True
            same = (x == y) | (x.isnan() & y.isnan())
            if not bool(same.all()):
                return False
            if x.is_complex():
                return True
            return bool(((torch.signbit(x) == torch.signbit(y)) | x.isnan()).all())
        return torch.equal(x, y)
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(bits_equal(x, y) for x, y in zip(a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(bits_equal(a[k], b[k]) for k in a)
    if isinstance(a, BaseException):
        return str(a) == str(b)
    try:
        if a == b:
            return True
    except Exception:
        pass
    return type(a).__eq__ is object.__eq__ and vars_equal(a, b)


def agrees(a, b, exact):
    """Structures of tensors and values from two runs: bit for bit where `exact`, else tensors within what a compiler may differ by."""
    import torch

    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(agrees(x, y, exact) for x, y in zip(a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(agrees(a[k], b[k], exact) for k in a)
    if type(a) not in (torch.Tensor, torch.nn.Parameter) or a.layout != torch.strided or a.is_nested or exact:
        return bits_equal(a, b)
    return type(a) is type(b) and a.dtype == b.dtype and a.shape == b.shape and torch.allclose(a, b, rtol=2e-4, atol=1e-5, equal_nan=True)


def vars_equal(a, b):
    return bits_equal(getattr(a, "__dict__", None), getattr(b, "__dict__", None))


def error_facts(e, path):
    """Type, text, notes and the frames in the file `path` (name, line, positions) of an exception and of all it came from."""
    out = []
    seen = set()
    while e is not None and id(e) not in seen:
        seen.add(id(e))
        frames = []
        tb = e.__traceback__
        while tb is not None:
            code = tb.tb_frame.f_code
            if code.co_filename == path:
                frames.append((code.co_name, tb.tb_lineno) + tuple(list(code.co_positions())[tb.tb_lasti // 2]))
            tb = tb.tb_next
        if isinstance(e, UnboundLocalError) and frames:
            # CPython 3.11 fuses a store with the load behind it once code is warm, and then reports the store's place.
            frames[-1] = frames[-1][:1]
        inner = [error_facts(i, path) for i in e.exceptions] if isinstance(e, BaseExceptionGroup) else None
        out.append((type(e).__name__, str(e), frames, e.__cause__ is not None, e.__suppress_context__, inner,
                    getattr(e, "__notes__", None)))
        e = e.__cause__ or e.__context__
    return out


class Tally:
    """Collects named outcomes and ends the program with the counts."""

    def __init__(self, title):
        self.title, self.passed, self.failed = title, 0, []

    def check(self, name, ok, note=""):
        if ok:
            self.passed += 1
        else:
            self.failed.append(name)
            print(f"FAIL {name}: {note}", flush=True)
        return ok

    def finish(self):
        print(f"{self.title}: {self.passed} passed, {len(self.failed)} failed")
        if self.failed:
            print("failed:", " ".join(self.failed))
        sys.exit(1 if self.failed else 0)


def run_rows(title, rows, outcome):
    """Checks functions one by one (those named on the command line, else all): outcome(f) has to be True."""
    tally = Tally(title)
    for f in rows:
        if len(sys.argv) < 2 or f.__name__ in sys.argv[1:]:
            got = outcome(f)
            tally.check(f.__name__, got is True, repr(got))
    tally.finish()


def run_sweep(title, names, wrong_of, timeout=300):
    """Calls wrong_of(name) in a child each, for the names on the command line, else all; it returns {part: text of what is wrong}."""
    tally = Tally(title)
    for name in sys.argv[1:] or names:
        for part, wrong in run_child(lambda name=name: wrong_of(name), timeout).items():
            tally.check(f"{name}: {part}", not wrong, wrong)
    tally.finish()
