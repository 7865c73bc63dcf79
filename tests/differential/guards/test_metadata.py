# SPDX-License-Identifier: GPL-3.0-or-later
"""Every attribute and every method without arguments of torch.Tensor, asked of tensors that differ in one thing each: a traced
answer is eager's, also on the calls that come after it with another tensor. Methods whose answer cannot be compared (addresses) or
that act on more than the tensor are left out by name."""

import os
import sys
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "support")]

import breakline  # noqa: E402
import torch  # noqa: E402
from harness import Tally  # noqa: E402

# Addresses and counts of references, which differ between two runs of eager as well; calls that hand the tensor elsewhere.
LEFT_OUT = set("data_ptr const_data_ptr storage untyped_storage _typed_storage _cdata _use_count share_memory_ backward "
               "register_hook register_post_accumulate_grad_hook multinomial _reduce_ex_internal".split())


def square():
    return torch.arange(16.0).reshape(4, 4) + 0.5


def wide():
    return torch.arange(20.0).reshape(5, 4) - 3.5


def kinds():
    """Tensors with the same type, shape and values where that can be."""
    leaf = square().requires_grad_()
    with torch.inference_mode():
        inference = square()
    used = square().requires_grad_()
    (used * 2).sum().backward()
    kept = square().requires_grad_() * 1
    kept.retain_grad()
    hooked = square().requires_grad_()
    hooked.register_hook(lambda g: g)
    written = square()
    written.add_(0.0)
    tagged = square()
    tagged.tag = "x"
    return [square(), wide()[1:], wide()[1:] + 0, square().t(), leaf, square().requires_grad_() * 1, inference, written,
            square().view(4, 4), used, torch._neg_view(-square()), kept, leaf.detach(), hooked, torch.nn.Parameter(square()), tagged,
            square().to(torch.complex64), square()[:, ::2], wide()[:, 1:3]]


def plain(o):
    if isinstance(o, torch.Tensor):
        bits = o.detach().resolve_neg().resolve_conj().contiguous()
        return type(o).__name__, o.dtype, tuple(o.shape), o.stride(), o.requires_grad, repr(bits)
    if isinstance(o, (tuple, list)):
        return type(o).__name__, [plain(i) for i in o]
    known = isinstance(o, (int, float, str, torch.dtype, torch.device, torch.layout)) or o is None
    return o if known else type(o).__name__


def outcome(f, x):
    torch.manual_seed(0)
    try:
        return plain(f(x)), plain(x)
    except Exception as error:  # noqa: BLE001
        return type(error).__name__, str(error)


def of_attribute(name):
    return eval(f"lambda x: (x.{name}, x * 2)")


def of_method(name):
    return eval(f"lambda x: (x.{name}(), x * 2)")


def of_view(name):
    return eval(f"lambda x: (x[1:].{name}(), x[:, :2].t().{name}(), x * 2)")


def main():
    warnings.simplefilter("ignore")
    tally = Tally("metadata")
    for name in dir(torch.Tensor):
        if name.startswith("__") or name in LEFT_OUT:
            continue
        if callable(getattr(torch.Tensor, name)):
            asked = outcome(of_method(name), square())
            if isinstance(asked[0], str) or (isinstance(asked[0][1][0], tuple) and asked[0][1][0][0] == "Tensor"):
                continue  # refuses, or an op: other tests' business
            programs = [of_method(name), of_view(name)]
        else:
            programs = [of_attribute(name)]
        for f in programs:
            g = breakline.compile(f)
            wrong = [i for i, (a, b) in enumerate(zip(kinds(), kinds())) if outcome(f, a) != outcome(g, b)]
            tally.check(name, not wrong, f"other than eager on kinds {wrong}")
    tally.finish()


if __name__ == "__main__":
    main()
