# SPDX-License-Identifier: GPL-3.0-or-later
"""Calls of modules: hooks and patches that come late, calls that are special from the start, breaks and errors below them.

Each row changes a model between two calls (or while it runs); compiled and eager must agree after each call, in the frames of what is
raised as well. The model has several modules of a class, since a trace takes the second call of a class another way than the first."""

import copy
import os
import sys
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "support")]

import torch  # noqa: E402
from harness import bits_equal, run_sweep, seed_all  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn.modules import module as module_file  # noqa: E402

LOG = []


class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.mode = ""

    def forward(self, x, *rest, scale=1, **more):
        x = self.inner(x) * scale
        for r in rest:
            x = x + r
        for name in sorted(more):
            x = x - more[name]
        if self.mode == "break":
            import breakline

            breakline.graph_break()
        if self.mode == "print":
            print(end="")
        if self.mode == "raise":
            raise ValueError("of the part")
        if self.mode == "item":
            x = x * x.sum().item()
        return torch.relu(x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList(Part() for _ in range(4))
        self.late = None

    def forward(self, x):
        a, b, c, d = self.parts
        x = a(x)
        x = b(x, x, scale=2)
        if self.late:
            self.late(self)
        x = c(x, scale=3, k=x, m=1)
        return d(*[x, x], **{"z": x})


def hook(m, args, out):
    LOG.append("hook")
    return out * 2


def double(m, args):
    return (args[0] * 2,) + args[1:]


class Own(Part):
    def __call__(self, x, *args, **kwargs):
        return super().__call__(x + 1, *args, **kwargs)


class Called(Part):
    def _call_impl(self, *args, **kwargs):
        return super()._call_impl(*args, **kwargs) + 1


def mode(text, at=2):
    def change(m):
        m.parts[at].mode = text

    return change


def patch_class(m):
    old = Part.forward
    Part.forward = lambda self, *args, **kwargs: old(self, *args, **kwargs) + 3


def patch_call_impl(m):
    old = nn.Module._call_impl
    nn.Module._call_impl = lambda self, *args, **kwargs: old(self, *args, **kwargs)


def patch_wrapped(m):
    old = nn.Module._wrapped_call_impl
    nn.Module.__call__ = lambda self, *args, **kwargs: old(self, *args, **kwargs)


def own_forward(m):
    part = m.parts[2]
    part.forward = lambda x, **more: Part.forward(part, x) * 5


def compiled_impl(m):
    m.parts[2]._compiled_call_impl = lambda x, **more: x * 7


def during(change):
    """While the model runs, before its third part."""

    def set_late(m):
        m.late = change

    return set_late


def hook_of_next(m):
    m.parts[2].register_forward_hook(hook)


def global_hook(m):
    module_file.register_module_forward_hook(hook)


def global_backward_hook(m):
    module_file.register_module_full_backward_hook(lambda m, i, o: None)


def replace_hooks(m):
    m.parts[2]._forward_hooks = {1: hook}


def no_hooks_attribute(m):
    del m.parts[2]._backward_pre_hooks


def replace_part(m):
    m.parts[2] = m.parts[1]


ROWS = {
    "nothing": lambda m: None,
    "hook": lambda m: m.parts[2].register_forward_hook(hook),
    "hook of all": lambda m: [p.register_forward_hook(hook) for p in m.parts],
    "inner hook": lambda m: m.parts[3].inner.register_forward_hook(hook),
    "pre hook": lambda m: m.parts[2].register_forward_pre_hook(double),
    "backward hook": lambda m: m.parts[2].register_full_backward_hook(lambda m, i, o: None),
    "backward pre hook": lambda m: m.parts[2].register_full_backward_pre_hook(lambda m, o: None),
    "global hook": global_hook,
    "global backward hook": global_backward_hook,
    "hooks replaced": replace_hooks,
    "no attribute of hooks": no_hooks_attribute,
    "forward of the class": patch_class,
    "forward of the instance": own_forward,
    "_call_impl": patch_call_impl,
    "__call__": patch_wrapped,
    "_compiled_call_impl": compiled_impl,
    "part replaced": replace_part,
    "break": mode("break"),
    "break in the last": mode("break", 3),
    "print": mode("print"),
    "raise": mode("raise"),
    "item": mode("item"),
    "hook while it runs": during(hook_of_next),
    "global hook while it runs": during(global_hook),
    "forward while it runs": during(own_forward),
    "break while it runs": during(mode("break")),
}


def model_of(kind):
    seed_all()
    m = Model().eval()
    for i in range(4):
        if kind != "plain":
            m.parts[i].__class__ = {"own __call__": Own, "own _call_impl": Called}[kind]
    return m


def outcome(call, x, row=""):
    LOG.clear()
    if row == "global hook while it runs":  # set by the call before
        module_file._global_forward_hooks.clear()
    try:
        result = call(x)
    except Exception as e:
        frames = [(f.name, f.lineno) for f in traceback.extract_tb(e.__traceback__) if "torch/nn" in f.filename or f.filename == __file__]
        return type(e).__name__, str(e), [f for f in frames if f[0] != "outcome"], list(LOG)
    return result, list(LOG)


def wrong_of(row):
    """The change, made to twins: one called by eager, one compiled."""
    import breakline
    from breakline import _breakline

    wrong = {}
    name, kind, every = row
    _breakline.set_option("force_break_every", every)
    x = torch.arange(8.0).view(2, 4)
    with torch.no_grad():
        plain, ours = model_of(kind), model_of(kind)
        compiled = breakline.compile(ours, plan="replay")
        expected, got = [outcome(plain, x) for _ in range(2)], [outcome(compiled, x) for _ in range(2)]
        wrong["before"] = "" if bits_equal(expected, got) else f"{got} for {expected}"
        ROWS[name](plain)
        if name not in ("forward of the class", "_call_impl", "__call__", "global hook", "global backward hook"):  # of both at once
            ROWS[name](ours)
        expected, got = [outcome(plain, x, name) for _ in range(2)], [outcome(compiled, x, name) for _ in range(2)]
        wrong["after"] = "" if bits_equal(expected, got) else f"{got} for {expected}"
        bound = name in ("forward of the instance", "_compiled_call_impl", "forward while it runs")  # to the very module
        fresh = plain if bound else copy.deepcopy(plain)
        again = breakline.compile(fresh if bound else copy.deepcopy(fresh), plan="replay")
        expected, got = outcome(fresh, x, name), outcome(again, x, name)
        wrong["from the start"] = "" if bits_equal(expected, got) else f"{got} for {expected}"
    return {part: text[-1500:] for part, text in wrong.items()}


def main():
    rows = [(name, "plain", every) for name in ROWS for every in (0, 3, 11)]
    rows += [(name, kind, 0) for kind in ("own __call__", "own _call_impl") for name in ("nothing", "hook", "break", "raise")]
    sys.argv[1:] = []
    run_sweep("calls of modules", rows, wrong_of)


if __name__ == "__main__":
    main()
