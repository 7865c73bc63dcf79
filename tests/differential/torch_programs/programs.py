# SPDX-License-Identifier: GPL-3.0-or-later
# Long because it is one table of small independent programs.
"""Programs about PyTorch's state, modules, tensors' identity and mutation. Each entry: name → maker of (function, [arguments per call]).

A maker is called once for eager and once for Breakline; functions and what they close over are therefore fresh each time.
"""

import contextlib

import torch
import torch.nn as nn
import torch.nn.functional as F

PROGRAMS = {}


def program(make):
    PROGRAMS[make.__name__] = make
    return make


def leaf(*sizes):
    return torch.randn(*sizes, requires_grad=True)


def facts(t):
    return (t.requires_grad, t.is_leaf, t.dtype, tuple(t.shape), t.stride(), t.grad_fn is not None)


def seen(t):
    return (t.requires_grad, t.is_leaf, t.dtype, tuple(t.shape), t.stride(), t.storage_offset())


# --- in-place operations that change what is known of a tensor ------------------------------------------------------------


@program
def setitem_makes_grad():
    def f(w):
        x = torch.zeros(3)
        before = x.requires_grad
        x[0] = w
        return x, before, x.requires_grad, x.is_leaf, (x * 2).requires_grad

    return f, [(torch.randn((), requires_grad=True),) for _ in range(3)]


@program
def setitem_on_input():
    def f(x, w):
        x[1:] = w
        return x.requires_grad, x.is_leaf, x * 2

    return f, [(torch.zeros(3), leaf(2)) for _ in range(3)]


@program
def write_through_view():
    def f(x, w):
        y = x * 1
        v = y[:2]
        v.mul_(w)
        return y.requires_grad, v.requires_grad, y, v, y.is_leaf

    return f, [(torch.ones(3), leaf(2)) for _ in range(3)]


@program
def write_base_use_view():
    def f(x, w):
        y = x * 1
        v = y[:2]
        y.mul_(w)
        first = v.requires_grad
        u = v * 1
        return first, u.requires_grad, v.requires_grad, u

    return f, [(torch.ones(3), leaf(3)) for _ in range(3)]


@program
def write_sibling_view():
    def f(x, w):
        y = x * 1
        v, u = y[:2], y[1:]
        v.add_(w)
        first = u.requires_grad
        z = u * 2
        return first, z.requires_grad, u.requires_grad, z

    return f, [(torch.ones(3), leaf(2)) for _ in range(3)]


@program
def write_input_used_late():
    def f(x, held, w):
        x.mul_(w)
        return held["view"].requires_grad, held["view"] * 1

    def args():
        x = torch.ones(4)
        return x, {"view": x[:2]}, leaf(4)

    return f, [args() for _ in range(3)]


@program
def detach_then_write():
    def f(x, w):
        y = x * 1
        d = y.detach()
        y.mul_(w)
        return d.requires_grad, y.requires_grad, d * 2

    return f, [(torch.ones(3), leaf(3)) for _ in range(3)]


@program
def detach_in_place():
    def f(w):
        y = w * 2
        y.detach_()
        return y.requires_grad, y.is_leaf, y * 3

    return f, [(leaf(3),) for _ in range(3)]


@program
def detach_in_place_of_view():
    def f(w):
        y = (w * 2)[:1]
        try:
            y.detach_()
        except RuntimeError as e:
            return "error", y.requires_grad
        return y.requires_grad, y

    return f, [(leaf(3),) for _ in range(3)]


@program
def iadd_with_grad():
    def f(x, w):
        total = torch.zeros(3)
        for i in range(3):
            total += w * i
        return total, total.requires_grad

    return f, [(torch.ones(3), leaf(3)) for _ in range(3)]


@program
def shape_in_place():
    def f(x):
        y = x * 1
        y.unsqueeze_(0)
        a = seen(y)
        y.squeeze_(0)
        b = seen(y)
        y.transpose_(0, 1)
        c = seen(y)
        y.t_()
        z = y.swapaxes_(0, 1)
        return a, b, c, y, z is y, seen(z)

    return f, [(torch.randn(2, 3),) for _ in range(3)]


@program
def shape_in_place_of_input():
    def f(x, v):
        x.unsqueeze_(0)
        x.squeeze_()
        x.t_()
        return seen(x), v + 1, x.sum()

    def args():
        x = torch.randn(2, 3)
        return x, x[0]

    return f, [args() for _ in range(3)]


@program
def resize_in_place():
    def f(x):
        y = x * 1
        y.resize_(2, 2)
        return y, seen(y)

    return f, [(torch.randn(2, 3),) for _ in range(3)]


@program
def set_data():
    def f(x, y):
        x.data = y
        return seen(x), x * 2

    return f, [(torch.randn(2, 3), torch.randn(4)) for _ in range(3)]


@program
def set_data_of_parameter():
    def f(m, x):
        m.weight.data = m.weight.data * 2
        m.bias.data.add_(1)
        return m(x)

    m = nn.Linear(3, 3)
    return f, [(m, torch.randn(2, 3)) for _ in range(3)]


@program
def data_write_no_grad():
    def f(w):
        w.data.mul_(2)
        return w * 1, w.requires_grad, w.data.requires_grad

    return f, [(leaf(3),) for _ in range(3)]


@program
def requires_grad_toggle():
    def f(x):
        y = x * 1
        y.requires_grad_()
        a = y.requires_grad
        z = y * 2
        return a, z.requires_grad, z, y.is_leaf

    return f, [(torch.randn(3),) for _ in range(3)]


@program
def requires_grad_assign():
    def f(x):
        x.requires_grad = True
        z = x * 2
        x.requires_grad = False
        return z, x.requires_grad, (x * 1).requires_grad

    return f, [(torch.randn(3),) for _ in range(3)]


@program
def version_counters():
    def f(x, y):
        y.add_(1)
        y.mul_(x)
        y[0] = 5
        v = y[1:]
        v.zero_()
        return y

    return f, [(torch.randn(3), torch.randn(3)) for _ in range(3)]


@program
def saved_for_backward_changed():
    def f(w):
        y = w * 1
        z = y * y
        y.add_(1)
        try:
            z.sum().backward()
        except RuntimeError as e:
            return str(e).split(":")[0]
        return w.grad

    return f, [(leaf(3),) for _ in range(3)]


@program
def out_form():
    def f(x, y, o):
        r = torch.add(x, y, out=o)
        s = torch.sum(x, 0, out=torch.empty(3))
        return r is o, r, s, seen(r)

    return f, [(torch.randn(2, 3), torch.randn(2, 3), torch.empty(2, 3)) for _ in range(3)]


@program
def out_resizes():
    def f(x, y, o):
        torch.add(x, y, out=o)
        return seen(o), o

    return f, [(torch.randn(2, 3), torch.randn(2, 3), torch.empty(0)) for _ in range(3)]


@program
def out_with_strides():
    def f(x, y, o):
        torch.mm(x, y, out=o)
        return seen(o), o

    return f, [(torch.randn(2, 3), torch.randn(3, 2), torch.empty(2, 2).t()) for _ in range(3)]


@program
def out_other_dtype():
    def f(x, y, o):
        torch.add(x, y, out=o)
        return seen(o), o

    return f, [(torch.randn(2, 3), torch.randn(2, 3), torch.empty(2, 3, dtype=torch.float64)) for _ in range(3)]


@program
def max_with_out():
    def f(x):
        v, i = torch.empty(2), torch.empty(2, dtype=torch.int64)
        r = torch.max(x, 1, out=(v, i))
        return r.values is v, r.indices is i, v, i

    return f, [(torch.randn(2, 3),) for _ in range(3)]


# --- aliasing ----------------------------------------------------------------------------------------------------------------


@program
def same_input_twice():
    def f(a, b):
        a.add_(1)
        return a * b, a is b

    x = torch.randn(3)
    y = torch.randn(3)
    return f, [(x, x), (x, y), (x, x)]


@program
def overlapping_inputs():
    def f(a, b):
        a.add_(1)
        b.mul_(2)
        return a + b

    def args(k):
        x = torch.randn(6)
        return (x[:4], x[2:]) if k else (x[:3], x[3:6])

    return f, [(torch.randn(4), torch.randn(4)), args(1), args(1), args(0), args(1)]


@program
def output_is_input():
    def f(x, y):
        return x, y, x, x[0], x.view(-1), x.t(), [x, (y, x)]

    return f, [(torch.randn(2, 3), torch.randn(2)) for _ in range(3)]


@program
def output_twice():
    def f(x):
        y = x * 2
        z = y.view(-1)
        z[0] = 7
        return y, y, z, {"y": y, "z": [z, z]}

    return f, [(torch.randn(2, 3),) for _ in range(3)]


@program
def no_op_methods():
    def f(x):
        return (x.to(x.dtype) is x, x.contiguous() is x, x.float() is x, x.cpu() is x, x.expand(2, 3) is x, x.view_as(x) is x,
                x.type(torch.float32) is x, x.to("cpu") is x, x.detach() is x, x.clone() is x, x.requires_grad_ is None,
                x.contiguous(), x.to(torch.float64))

    return f, [(torch.randn(2, 3),) for _ in range(3)]


@program
def expanded_write_fails():
    def f(x):
        y = x.expand(3, 2)
        try:
            y.add_(1)
        except RuntimeError as e:
            return str(e)
        return y

    return f, [(torch.randn(1, 2),) for _ in range(3)]


@program
def overlapping_copy():
    def f(x):
        x[1:] = x[:-1].clone()
        x[:2].copy_(x[2:4])
        return x

    return f, [(torch.randn(6),) for _ in range(3)]


@program
def mutated_input_in_kernels():
    def f(x, y):
        a = x * 2 + y
        x.copy_(a.relu())
        b = x * 3 - 1
        y.sub_(b)
        return b, y * x

    return f, [(torch.randn(4, 5), torch.randn(4, 5)) for _ in range(3)]


@program
def read_before_and_after_write():
    def f(x):
        a = x + 1
        v = x[0]
        x.mul_(3)
        b = x + 1
        return a, b, v, v + 1

    return f, [(torch.randn(4, 5),) for _ in range(3)]


# --- ambient state ---------------------------------------------------------------------------------------------------------------


@program
def grad_mode_between_calls():
    def f(w):
        y = w * 2
        return y, y.requires_grad, torch.is_grad_enabled()

    def g(w, how):
        with how:
            return f(w)

    return f, [(leaf(3),), ("no_grad", leaf(3)), (leaf(3),), ("inference", leaf(3)), ("enable", leaf(3))]


@program
def grad_mode_inside():
    def f(w):
        with torch.no_grad():
            a = w * 2
            with torch.enable_grad():
                b = w * 3
            c = w * 4
        d = w * 5
        return a, b, c, d, a.requires_grad, b.requires_grad, c.requires_grad, d.requires_grad

    return f, [(leaf(3),) for _ in range(3)]


@program
def grad_mode_leaks():
    def f(w):
        torch.set_grad_enabled(False)
        return (w * 2).requires_grad

    def g(w):
        r = f(w)
        after = torch.is_grad_enabled()
        torch.set_grad_enabled(True)
        return r, after

    return g, [(leaf(3),) for _ in range(3)]


@program
def grad_mode_after_error():
    def f(w):
        try:
            with torch.no_grad():
                a = w * 2
                raise ValueError("x")
        except ValueError:
            b = w * 3
        return a, b, torch.is_grad_enabled()

    return f, [(leaf(3),) for _ in range(3)]


@program
def torch_error_in_no_grad():
    def f(w):
        try:
            with torch.no_grad():
                a = w * torch.ones(7)
        except RuntimeError as e:
            b = w * 3
            return str(e), b, torch.is_grad_enabled()
        return a

    return f, [(leaf(3),) for _ in range(3)]


@program
def break_in_no_grad():
    def f(w):
        with torch.no_grad():
            a = w * 2
            n = a.sum().item()
            b = w * n
        return a, b, w * 2

    return f, [(leaf(3),) for _ in range(3)]


@program
def inference_mode_inside():
    def f(w):
        with torch.inference_mode():
            a = w * 2
        b = w * 3
        return a.is_inference(), b.requires_grad, a, b

    return f, [(leaf(3),) for _ in range(3)]


@program
def inference_tensor_used_outside():
    def f(w, a):
        try:
            return w * a
        except RuntimeError as e:
            return str(e)

    with torch.inference_mode():
        a = torch.ones(3)
    return f, [(leaf(3), a), (torch.ones(3), a), (leaf(3), a)]


@program
def inference_write_outside():
    def f(a):
        try:
            a.add_(1)
        except RuntimeError as e:
            return str(e)
        return a + 1

    with torch.inference_mode():
        a = torch.ones(3)
    return f, [(a,), (torch.ones(3),), (a,)]


@program
def decorators_of_modes():
    @torch.no_grad()
    def g(w):
        return w * 2

    @torch.inference_mode()
    def h(w):
        return w * 3

    @torch.autocast("cpu", dtype=torch.bfloat16)
    def k(w):
        return w @ w

    def f(w):
        return g(w), h(w).is_inference(), k(w), k(w).dtype, (w * 1).requires_grad

    return f, [(leaf(3, 3),) for _ in range(3)]


@program
def autocast_inside():
    def f(x, y):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            a = x @ y
            b = torch.add(a, x)
            c = a.softmax(-1)
            with torch.autocast("cpu", enabled=False):
                d = x @ y
            e = F.linear(x, y)
            g = F.layer_norm(a, (3,))
        return a, b, c, d, e, g, a.dtype, b.dtype, c.dtype, d.dtype, x @ y

    return f, [(torch.randn(3, 3), torch.randn(3, 3)) for _ in range(3)]


@program
def autocast_between_calls():
    def f(x, y):
        a = x @ y
        return a, a.dtype, torch.is_autocast_enabled("cpu")

    x, y = torch.randn(3, 3), torch.randn(3, 3)
    return f, [(x, y), ("autocast", x, y), (x, y), ("autocast16", x, y)]


@program
def autocast_matmul_cache():
    def f(m, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return m(m(x)), m(x).float().sum()

    m = nn.Linear(3, 3)
    return f, [(m, torch.randn(2, 3)) for _ in range(3)]


@program
def default_dtype_between_calls():
    def f(x):
        return torch.ones(3) * x, torch.tensor(1.5), torch.arange(3) / 2, torch.zeros(2).dtype, torch.get_default_dtype()

    return f, [(torch.ones(3),), ("double", torch.ones(3)), (torch.ones(3),)]


@program
def default_dtype_inside():
    def f(x):
        torch.set_default_dtype(torch.float64)
        try:
            a = torch.ones(3) + x
        finally:
            torch.set_default_dtype(torch.float32)
        return a, torch.ones(2)

    return f, [(torch.ones(3),) for _ in range(3)]


@program
def default_device():
    def f(x):
        with torch.device("meta"):
            a = torch.ones(3)
        b = torch.ones(3)
        return a.device.type, b.device.type, b + x

    return f, [(torch.ones(3),) for _ in range(3)]


@program
def default_device_between_calls():
    def f(x):
        a = torch.ones(3)
        return a.device.type, x + 1

    return f, [(torch.ones(3),), ("meta", torch.ones(3)), (torch.ones(3),)]


@program
def deterministic_between_calls():
    def f(x):
        return torch.are_deterministic_algorithms_enabled(), torch.empty(3).fill_(1) + x

    return f, [(torch.ones(3),), ("deterministic", torch.ones(3)), (torch.ones(3),)]


@program
def attributes_of_ordered_dicts():
    """An OrderedDict has a __dict__ of its own (state_dict keeps its _metadata there), and so has a named tuple's subclass."""
    import collections

    class Pair(collections.namedtuple("Pair", "a b")):
        pass

    layer = torch.nn.Linear(2, 2)

    def f(x, d, pair):
        state = layer.state_dict()
        known = hasattr(d, "note"), getattr(d, "note", None), hasattr(pair, "note"), getattr(pair, "note", 7), hasattr(d, "other")
        if hasattr(d, "notes"):
            d.notes["k"] = x
        return x + 1, list(state), state._metadata[""]["version"], list(state._metadata), known, list(getattr(d, "notes", ()))

    def make(**attributes):
        d, pair = collections.OrderedDict(a=1), Pair(1, 2)
        d.__dict__.update(attributes)
        pair.__dict__.update(attributes)
        return torch.ones(2), d, pair

    return f, [make(), make(note=1), make(note=2, notes=collections.OrderedDict()), make(), make(notes={"j": 1})]


@program
def attributes_set_on_ordered_dicts():
    import collections
    import copy

    layer = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))

    def note(d, x):
        if hasattr(d, "notes"):
            d.notes["k"] = x.shape[0]
        return d

    def f(x, d):
        made = collections.OrderedDict(a=x + 1)
        made.notes = collections.OrderedDict()
        made.label = "one"
        made.label += "two"
        note(note(made, x), x)
        d.count = getattr(d, "count", 0) + 1
        d["n"] = d.count
        state = layer.state_dict()
        copies = copy.copy(made), copy.deepcopy(made), copy.deepcopy(state)
        kept = [sorted(vars(c)) for c in copies]
        print(end="")
        return (made, vars(made), made.label, list(made.notes.items()), d.count, vars(d), list(state), {k: dict(v) for k, v in state._metadata.items()},
                kept, x * 2, list(made.__dict__), layer.load_state_dict(state))

    d = collections.OrderedDict()
    return f, [(torch.ones(2), d), (torch.ones(2), d), (torch.ones(3), collections.OrderedDict())]


@program
def real_layouts_of_results():
    """Metadata that PyTorch's own meta kernels get wrong: an empty out= resized by a solver, statistics of a half batch norm by its operator."""

    def f(lu, pivots, b, out, x, w):
        r = torch.lu_solve(b, lu, pivots, out=out)
        parts = torch.ops.aten._batch_norm_with_update(x, w, w, w.clone(), w.clone(), 0.1, 1e-5)
        return r, r.stride(), out.stride(), [(p.dtype, p.shape, p.stride()) for p in parts]

    lu, pivots = torch.linalg.lu_factor(torch.tensor([[2.0, 1.0], [1.0, 3.0]]))
    b = torch.ones(2, 3)
    x, w = torch.arange(12.0).reshape(2, 3, 2), torch.ones(3)
    return f, [(lu, pivots, b, torch.empty(0), x, w), (lu, pivots, b, torch.empty(2, 3), x.bfloat16(), w.bfloat16()), (lu, pivots, b, torch.empty(0), x.half(), w.half())]


@program
def function_mode():
    from torch.overrides import TorchFunctionMode

    class Doubling(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            r = func(*args, **(kwargs or {}))
            return r * 2 if func is torch.add else r

    def f(x):
        with Doubling():
            a = torch.add(x, 1)
        return a, torch.add(x, 1)

    return f, [(torch.ones(3),) for _ in range(3)]


@program
def function_mode_between_calls():
    def f(x):
        return torch.add(x, 1)

    return f, [(torch.ones(3),), ("function_mode", torch.ones(3)), (torch.ones(3),), ("dispatch_mode", torch.ones(3))]


@program
def dispatch_mode():
    from torch.utils._python_dispatch import TorchDispatchMode

    class Counting(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.names = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.names.append(str(func))
            return func(*args, **(kwargs or {}))

    def f(x):
        with Counting() as c:
            a = torch.add(x, 1).relu()
        return a, c.names, x * 2

    return f, [(torch.ones(3),) for _ in range(3)]


@program
def vmap_over_function():
    def g(x, y):
        return (x * y).sum() + x.relu().max()

    def f(a, b):
        return torch.vmap(g)(a, b), torch.func.vmap(g, in_dims=(1, None))(a, b[0])

    return f, [(torch.randn(3, 3), torch.randn(3, 3)) for _ in range(3)]


@program
def func_grad():
    def g(x):
        return (x * x).sin().sum()

    def f(x):
        return torch.func.grad(g)(x), torch.func.jvp(g, (x,), (torch.ones_like(x),)), torch.func.jacrev(g)(x), torch.func.hessian(g)(x)

    return f, [(torch.randn(3),) for _ in range(3)]


@program
def compiled_called_under_vmap():
    def f(x):
        return x * 2 + x.sum()

    return f, [(torch.randn(3),), ("vmap", torch.randn(4, 3)), (torch.randn(3),), ("func_grad", torch.randn(3))]


@program
def functional_call():
    m = nn.Linear(3, 2)

    def f(x, w):
        return torch.func.functional_call(m, {"weight": w}, (x,)), m(x)

    return f, [(torch.randn(2, 3), torch.randn(2, 3)) for _ in range(3)]


@program
def forward_ad():
    import torch.autograd.forward_ad as fwAD

    def f(x, t):
        with fwAD.dual_level():
            d = fwAD.make_dual(x, t)
            y = d * d
            return fwAD.unpack_dual(y).tangent

    return f, [(torch.randn(3), torch.randn(3)) for _ in range(3)]


@program
def anomaly():
    def f(w):
        with torch.autograd.set_detect_anomaly(True):
            y = (w * 2).sum()
        return y

    return f, [(leaf(3),) for _ in range(3)]


@program
def saved_tensor_hooks():
    log = []

    def pack(t):
        log.append("pack")
        return t * 1

    def unpack(t):
        return t

    def f(w):
        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            y = w * w
        z = y.sum()
        return z, list(log)

    return f, [(leaf(3),) for _ in range(3)]


@program
def saved_tensor_hooks_between_calls():
    log = []

    def f(w):
        return (w * w).exp()

    return f, [(leaf(3),), ("saved_hooks", leaf(3)), (leaf(3),)]


# --- tensors of other kinds -----------------------------------------------------------------------------------------------------


class Tagged(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        r = super().__torch_function__(func, types, args, kwargs or {})
        if isinstance(r, Tagged):
            r.tag = func.__name__ if hasattr(func, "__name__") else str(func)
        return r


class Silent(torch.Tensor):
    pass


@program
def subclass_function():
    def f(x, y):
        a = x + y
        b = torch.relu(a)
        return type(a).__name__, a.tag, type(b).__name__, b.tag, y * 2

    return f, [(torch.ones(3).as_subclass(Tagged), torch.ones(3)) for _ in range(3)]


@program
def subclass_plain():
    def f(x, y):
        a = x + y
        b = y + x
        return type(a).__name__, type(b).__name__, a, isinstance(a, Silent)

    return f, [(torch.ones(3).as_subclass(Silent), torch.ones(3)) for _ in range(3)]


@program
def subclass_made_inside():
    def f(y):
        x = y.as_subclass(Tagged)
        z = x * 2
        return type(z).__name__, z.tag

    return f, [(torch.ones(3),) for _ in range(3)]


@program
def parameter_made_inside():
    def f(x):
        p = nn.Parameter(x * 2)
        q = p * 3
        return type(p), p.requires_grad, q.requires_grad, q

    return f, [(torch.ones(3),) for _ in range(3)]


@program
def parameter_of_buffer():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(()))
            self.extra = nn.Buffer(torch.ones(3), persistent=False)
            self.w = nn.Parameter(torch.ones(3))

        def forward(self, x):
            self.count += 1
            self.extra = self.extra * 2
            return x * self.w * self.count + self.extra

    m = M()

    def f(x):
        return m(x), m.count, m.extra

    return f, [(torch.ones(3),) for _ in range(4)]


@program
def sparse():
    def f(x, y):
        s = x.to_sparse()
        return torch.sparse.mm(s, y), s.is_sparse, s.coalesce().values(), (s * 2).to_dense()

    return f, [(torch.eye(3), torch.randn(3, 3)) for _ in range(3)]


@program
def sparse_input():
    def f(s, y):
        return s @ y, (s + s).to_dense(), s.layout == torch.sparse_coo, s.shape

    return f, [(torch.eye(3).to_sparse(), torch.randn(3, 3)) for _ in range(3)]


@program
def complex_numbers():
    def f(x):
        z = torch.complex(x, x * 2)
        c = z.conj()
        return z * c, c.is_conj(), z.abs(), z.real, z.imag, torch.view_as_real(z), (z * 1j).angle(), c * 2, c.resolve_conj(), torch.fft.fft(x)

    return f, [(torch.randn(3),) for _ in range(3)]


@program
def complex_input():
    def f(z, c):
        return z * c + 1, c.is_conj(), (c * 2), z.imag, c.imag, c.imag.is_neg(), z.real + 1

    def args():
        z = torch.randn(3, dtype=torch.complex64)
        return z, z.conj()

    return f, [args() for _ in range(3)]


@program
def quantised():
    def f(x):
        q = torch.quantize_per_tensor(x, 0.1, 0, torch.qint8)
        return q.dequantize(), q.int_repr(), q.is_quantized

    return f, [(torch.randn(3),) for _ in range(3)]


@program
def nested():
    def f(x, y):
        n = torch.nested.nested_tensor([x, y])
        return n.is_nested, torch.nested.to_padded_tensor(n * 2, 0.0)

    return f, [(torch.randn(3), torch.randn(2)) for _ in range(3)]


@program
def meta_tensors():
    def f(x):
        y = x * 2 + torch.ones(3, device="meta")
        return y.shape, y.device, y.dtype

    return f, [(torch.ones(3, device="meta"),) for _ in range(3)]


@program
def zero_dim_and_empty():
    def f(x, e):
        return x * 2 + 1, x.sum(), e * 2, e.sum(), torch.cat([e, e]), e.view(0, 5), x.view(1), e.max(dim=1) if e.shape[1] else None

    return f, [(torch.tensor(3.0), torch.empty(0, 5)) for _ in range(3)]


# --- reads -----------------------------------------------------------------------------------------------------------------------


@program
def reads():
    def f(x):
        a = x.tolist()
        b = x.numpy().copy().tolist()
        c = x[0].item()
        d = float(x[1])
        e = int(x[2])
        g = bool(x[0] > 0)
        h = x.sum().item() + len(x)
        return a, b, c, d, e, g, h, f"{x[0]:.3f}", str(x), repr(x.shape), x[0].item() * x

    return f, [(torch.randn(3) + i,) for i in range(3)]


@program
def new_tensors():
    def f(x):
        return (torch.tensor([1, 2.5]), torch.tensor([[1, 2], [3, 4]]), torch.tensor(True), torch.tensor(3), torch.tensor(2.0, dtype=torch.float16),
                torch.tensor([]), torch.as_tensor([1, 2]), torch.as_tensor(x) is x, torch.asarray([1.0]), x.new_tensor([1, 2]),
                x.new_zeros(2), x.new_full((2,), 3), torch.full((2,), 3), torch.full((2,), True), torch.full((2,), 2.0), torch.scalar_tensor(3),
                torch.tensor((1, 2), dtype=torch.int32), torch.tensor([True, False]), torch.tensor(1 + 2j), torch.tensor(range(3)))

    return f, [(torch.randn(3),) for _ in range(3)]


@program
def new_tensor_of_tensors():
    def f(x):
        return torch.tensor([x[0], x[1]]), torch.tensor(x), torch.tensor([x.sum(), 1.0]), torch.stack([x[0], x[1]]), torch.as_tensor([x[0], 2])

    return f, [(torch.randn(3),) for _ in range(3)]


@program
def new_tensor_requires_grad():
    def f(x):
        w = torch.ones(3, requires_grad=True)
        v = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        y = (w * x * v).sum()
        y.backward()
        return w.grad, v.grad, y.requires_grad

    return f, [(torch.randn(3),) for _ in range(3)]


@program
def iteration():
    def f(x):
        a, b = x
        c = [row * 2 for row in x]
        d, *e = x.t()
        total = 0
        for i, row in enumerate(x):
            total = total + row * i
        return a, b, c, d, e, total, len(x), list(x), tuple(x.unbind(1)), [t.shape for t in x.split(1)]

    return f, [(torch.randn(2, 3),) for _ in range(3)]


@program
def membership():
    def f(x):
        return 2.0 in x, torch.tensor(1.0) in x, x in [x], any(x is t for t in [x])

    return f, [(torch.tensor([1.0, 2.0]),), (torch.tensor([3.0, 2.0]),)]


@program
def membership_in_list():
    def f(x, y):
        try:
            return y in [x, y]
        except (RuntimeError, ValueError) as e:
            return str(e)

    return f, [(torch.ones(2), torch.ones(2)), (torch.ones(1), torch.zeros(1))]


@program
def shape_arithmetic():
    def f(x):
        n, c, h, w = x.shape
        s = x.size()
        return (x.view(n, c, h * w), x.reshape(s[:2] + (-1,)), x.view(*s[:-1], w // 2, 2), s.numel(), s[-1], len(s), list(s), s == torch.Size([1, 2, 3, 4]),
                type(s), type(s[:2]), type(s + (1,)), x.shape[1:], max(s), sum(s), tuple(s) == s, hash(s) == hash(tuple(s)), x.size(-1), x.dim(), x.nelement(),
                torch.zeros(s), torch.zeros(*s[:2], 3), x.stride(0), x.view(s), 3 in s, s.index(3), s.count(2), isinstance(s, tuple), (2,) + s, s * 2)

    return f, [(torch.randn(1, 2, 3, 4),) for _ in range(3)]


@program
def dtype_and_device():
    def f(x, m):
        y = x.to(torch.float16).to(torch.float32)
        z = x.to("cpu", torch.float64, copy=True)
        i = x.int()
        return (y, z, i, x.type(), x.type(torch.int64), x.type("torch.DoubleTensor"), x.to(i), x.to(dtype=torch.bfloat16, memory_format=torch.preserve_format),
                x.device == torch.device("cpu"), x.is_cuda, x.dtype.is_floating_point, torch.finfo(x.dtype).eps, torch.iinfo(i.dtype).max,
                x.double().dtype, x.bool(), x.half(), x.long(), x.byte(), m.to(torch.float64).weight.dtype, m.float().weight.dtype)

    m = nn.Linear(2, 2)
    return f, [(torch.randn(3), m) for _ in range(3)]


@program
def python_scalars():
    def f(i, b, x, h):
        return (i + 1.5, i * 2, b + 1, b * 2.0, i / 2, i // 2, -7 // (i + 1), i % 3, i ** 2, 2 ** i, x ** 2, x ** 0.5, 1 / x, 2 - x, x // 0.3, x % 0.3, h * 2.5, h + 1,
                i << 1, i >> 1, i & 3, b & True, b | False, b ^ True, ~i, ~b, i > 1, i == 1.0, x > 0, torch.where(b, i, 2.5), torch.add(i, 1, alpha=2),
                i.float() * True, x * torch.tensor(2, dtype=torch.float64), i * torch.tensor(2.5), torch.tensor(2) * torch.tensor(2.5), b.sum(), i.sum(), i.mean(dtype=torch.float32))

    return f, [(torch.tensor([1, 2, -3]), torch.tensor([True, False, True]), torch.randn(3).abs(), torch.randn(3).half()) for _ in range(3)]


@program
def uint8_wraps():
    def f(a, b):
        return a + b, a - b, a * b, -a.to(torch.int8), a << 1, a + 300 - 300, a.sum(), a.float().mean(), ~a, a // (b + 1), a % 7, a.pow(2)

    return f, [(torch.tensor([250, 3, 128], dtype=torch.uint8), torch.tensor([10, 4, 200], dtype=torch.uint8)) for _ in range(3)]


# --- random numbers ------------------------------------------------------------------------------------------------------------------


@program
def random_stream():
    def f(x):
        a = torch.rand(3)
        b = F.dropout(x, 0.5)
        c = torch.randn_like(x)
        d = torch.randint(0, 10, (3,))
        e = torch.randperm(5)
        g = torch.empty(3).uniform_(0, 1)
        h = torch.bernoulli(torch.full((3,), 0.5))
        n = torch.normal(0.0, 1.0, (3,))
        return a, b, c, d, e, g, h, n, torch.multinomial(torch.ones(4), 2)

    return f, [(torch.ones(3),) for _ in range(3)]


@program
def seeds_inside():
    def f(x):
        torch.manual_seed(3)
        a = torch.rand(3)
        state = torch.get_rng_state()
        b = torch.rand(3)
        torch.set_rng_state(state)
        c = torch.rand(3)
        with torch.random.fork_rng():
            torch.manual_seed(4)
            d = torch.rand(2)
        return a, b, c, d, torch.rand(1), torch.initial_seed()

    return f, [(torch.ones(3),) for _ in range(3)]


@program
def generator_argument():
    def f(x, g):
        return torch.rand(3, generator=g), torch.randn(2, generator=g) + x[:2], torch.empty(2).normal_(generator=g), torch.rand(2)

    g = torch.Generator().manual_seed(9)
    return f, [(torch.ones(3), g) for _ in range(3)]


# --- modules --------------------------------------------------------------------------------------------------------------------------


@program
def weight_norm():
    m = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))

    def f(x):
        return m(x)

    return f, [(torch.randn(2, 3),) for _ in range(3)]


@program
def weight_norm_old():
    m = nn.utils.weight_norm(nn.Linear(3, 2))

    def f(x):
        return m(x)

    return f, [(torch.randn(2, 3),) for _ in range(3)]


@program
def spectral_norm():
    m = nn.utils.parametrizations.spectral_norm(nn.Linear(3, 2))

    def f(x):
        return m(x)

    return f, [(torch.randn(2, 3),) for _ in range(4)]


@program
def spectral_norm_old():
    m = nn.utils.spectral_norm(nn.Linear(3, 2))

    def f(x):
        return m(x)

    return f, [(torch.randn(2, 3),) for _ in range(4)]


@program
def parametrized():
    class Double(nn.Module):
        def forward(self, w):
            return w * 2

    m = nn.Linear(3, 2)
    nn.utils.parametrize.register_parametrization(m, "weight", Double())

    def f(x):
        with nn.utils.parametrize.cached():
            a = m(x)
        return a, m(x), m.weight

    return f, [(torch.randn(2, 3),) for _ in range(3)]


@program
def hooks_before():
    log = []
    m = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    m[0].register_forward_pre_hook(lambda mod, args: (args[0] * 2,))
    m.register_forward_hook(lambda mod, args, out: out + 1)
    m[1].register_full_backward_hook(lambda mod, gi, go: log.append(len(gi)))

    def f(x):
        y = m(x)
        y.sum().backward()
        return y, list(log), m[0].weight.grad

    return f, [(torch.randn(2, 3, requires_grad=True),) for _ in range(3)]


@program
def hooks_between():
    m = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    handles = []

    def f(x):
        return m(x)

    def add():
        handles.append(m[0].register_forward_hook(lambda mod, args, out: out * 3))

    def remove():
        handles.pop().remove()

    return f, [(torch.randn(2, 3),), ("do", add, torch.randn(2, 3)), ("do", add, torch.randn(2, 3)), ("do", remove, torch.randn(2, 3)), ("do", remove, torch.randn(2, 3))]


@program
def hooks_inside():
    m = nn.Linear(3, 3)

    def f(x):
        h = m.register_forward_hook(lambda mod, args, out: out * 3)
        a = m(x)
        h.remove()
        return a, m(x)

    return f, [(torch.randn(2, 3),) for _ in range(3)]


@program
def hooks_with_kwargs():
    class M(nn.Module):
        def forward(self, x, *, scale=1.0):
            return x * scale

    m = M()
    m.register_forward_pre_hook(lambda mod, args, kwargs: (args, {"scale": 5.0}), with_kwargs=True)
    m.register_forward_hook(lambda mod, args, kwargs, out: out + kwargs["scale"], with_kwargs=True, always_call=True)

    def f(x):
        return m(x, scale=2.0), m(x)

    return f, [(torch.randn(2, 3),) for _ in range(3)]


@program
def tensor_hooks():
    def f(w):
        y = w * 2
        y.register_hook(lambda g: g * 10)
        y.retain_grad()
        y.sum().backward()
        return w.grad.clone(), y.grad

    return f, [(leaf(3),) for _ in range(3)]


@program
def attribute_mutation():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.n = 0
            self.w = nn.Parameter(torch.ones(3))
            self.cache = None
            self.history = []

        def forward(self, x):
            self.n += 1
            self.cache = x * self.n if self.cache is None else self.cache + x
            self.history.append(self.cache.detach())
            return self.cache * self.w

    m = M()

    def f(x):
        return m(x), m.n, m.cache, len(m.history)

    return f, [(torch.randn(3),) for _ in range(4)]


@program
def module_changes_between():
    m = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5), nn.BatchNorm1d(3))

    def f(x):
        return m(x), m[2].running_mean, m[2].num_batches_tracked

    def swap():
        torch.manual_seed(2)
        m[0] = nn.Linear(3, 3, bias=False)

    x = torch.randn(4, 3)
    return f, [(x,), ("do", m.eval, x), ("do", m.train, x), ("do", m.double, x.double()), ("do", m.float, x), ("do", swap, x),
               ("do", lambda: m[0].requires_grad_(False), x), ("do", lambda: m.append(nn.ReLU()), x)]


@program
def optimizers():
    torch.manual_seed(1)
    out = []
    for kind in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad"):
        for foreach in (False, True):
            m = nn.Linear(3, 2)
            kwargs = {"momentum": 0.9} if kind == "SGD" else {}
            out.append((m, getattr(torch.optim, kind)(m.parameters(), lr=0.1, foreach=foreach, **kwargs)))

    def f(x):
        losses = []
        for m, opt in out:
            opt.zero_grad()
            loss = m(x).pow(2).mean()
            loss.backward()
            opt.step()
            losses.append(loss.detach())
        return losses, [m.weight for m, _ in out], [m.bias.grad for m, _ in out]

    return f, [(torch.randn(4, 3),) for _ in range(3)]


@program
def optimizer_step_only():
    m = nn.Linear(3, 2)
    opt = torch.optim.Adam(m.parameters(), lr=0.1)

    def f():
        opt.step()
        return m.weight, m.bias

    def grads():
        for p in m.parameters():
            p.grad = torch.ones_like(p)

    return f, [("do", grads), ("do", grads), ("do", grads)]


@program
def gradient_calls():
    def f(w):
        y = (w * w).sum()
        g, = torch.autograd.grad(y, w, create_graph=True)
        h, = torch.autograd.grad(g.sum(), w)
        z = (w * 3).sum()
        z.backward()
        return g, h, w.grad, y.grad_fn is None

    return f, [(leaf(3),) for _ in range(3)]


@program
def autograd_function():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, k):
            ctx.save_for_backward(x)
            ctx.k = k
            return x * x * k

        @staticmethod
        def backward(ctx, g):
            x, = ctx.saved_tensors
            return g * 2 * x * ctx.k * 10, None

    def f(w):
        y = Square.apply(w, 3) + 1
        y.sum().backward()
        return y, w.grad

    return f, [(leaf(3),) for _ in range(3)]


@program
def autograd_function_new_style():
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x ** 3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            x, = ctx.saved_tensors
            return g * 3 * x ** 2

    def f(w):
        y = Cube.apply(w)
        with torch.no_grad():
            z = Cube.apply(w)
        y.sum().backward()
        return y, z, z.requires_grad, w.grad, type(y.grad_fn).__name__

    return f, [(leaf(3),) for _ in range(3)]


@program
def checkpointed():
    from torch.utils.checkpoint import checkpoint

    m = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5), nn.ReLU())

    def f(x):
        y = checkpoint(m, x, use_reentrant=False)
        z = checkpoint(m, x, use_reentrant=True)
        (y + z).sum().backward()
        return y, z, m[0].weight.grad, x.grad

    return f, [(leaf(2, 3),) for _ in range(3)]


def _recurrent(kind, flags, packed=False, state=False):
    def make():
        m = getattr(nn, kind)(3, 4, **flags)

        def f(x, h, lengths):
            if packed:
                x = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=flags.get("batch_first", False), enforce_sorted=False)
            out, h = m(x, h) if state else m(x)
            if packed:
                out, sizes = nn.utils.rnn.pad_packed_sequence(out, batch_first=flags.get("batch_first", False))
            loss = out.sum()
            loss.backward()
            return out, h, m.weight_hh_l0.grad

        d = 2 if flags.get("bidirectional") else 1
        layers = flags.get("num_layers", 1)

        def args():
            x = torch.randn(2, 5, 3) if flags.get("batch_first") else torch.randn(5, 2, 3)
            h = torch.randn(d * layers, 2, 4)
            if kind == "LSTM":
                h = (torch.randn(d * layers, 2, flags.get("proj_size") or 4), torch.randn(d * layers, 2, 4))
            return x, h if state else None, torch.tensor([3, 5])

        return f, [args() for _ in range(2)]

    return make


for _kind in ("LSTM", "GRU", "RNN"):
    for _i, _flags in enumerate(({}, {"batch_first": True}, {"num_layers": 2, "dropout": 0.5}, {"bidirectional": True, "bias": False},
                                 {"num_layers": 2, "bidirectional": True, "batch_first": True})):
        PROGRAMS[f"{_kind.lower()}_{_i}"] = _recurrent(_kind, _flags)
    PROGRAMS[f"{_kind.lower()}_state"] = _recurrent(_kind, {"num_layers": 2}, state=True)
    PROGRAMS[f"{_kind.lower()}_packed"] = _recurrent(_kind, {"batch_first": True}, packed=True)
    PROGRAMS[f"{_kind.lower()}_packed_state"] = _recurrent(_kind, {"bidirectional": True}, packed=True, state=True)
PROGRAMS["lstm_proj"] = _recurrent("LSTM", {"proj_size": 2}, state=True)
PROGRAMS["rnn_relu"] = _recurrent("RNN", {"nonlinearity": "relu"})


@program
def cells():
    a, b, c = nn.LSTMCell(3, 4), nn.GRUCell(3, 4), nn.RNNCell(3, 4)

    def f(x):
        h = torch.zeros(2, 4)
        state = None
        for t in range(3):
            state = a(x[t], state)
            h = b(x[t], h)
            h = c(x[t], h)
        return h, state

    return f, [(torch.randn(3, 2, 3),) for _ in range(3)]


@program
def attention():
    m = nn.MultiheadAttention(4, 2, dropout=0.1)
    n = nn.MultiheadAttention(4, 2, batch_first=True, add_bias_kv=True, add_zero_attn=True)
    k = nn.MultiheadAttention(4, 2, kdim=3, vdim=5)

    def f(x, a, b, pad, mask):
        return (m(x, x, x), m(x, x, x, need_weights=False), m(x, x, x, key_padding_mask=pad, attn_mask=mask, average_attn_weights=False),
                n(x, x, x), k(x, a, b), m(x, x, x, attn_mask=mask, is_causal=True, need_weights=False))

    def args():
        return (torch.randn(3, 2, 4), torch.randn(3, 2, 3), torch.randn(3, 2, 5), torch.tensor([[False, False, True], [False, True, True]]),
                nn.Transformer.generate_square_subsequent_mask(3))

    return f, [args(), args(), ("do", lambda: (m.eval(), n.eval(), k.eval()), *args()), ("no_grad", *args())]


@program
def transformers():
    m = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2)
    n = nn.Transformer(4, 2, 1, 1, 8, batch_first=True, norm_first=True, activation="gelu")

    def f(x, y, pad):
        return m(x), m(x, src_key_padding_mask=pad), n(x, y), n(x, y, tgt_mask=nn.Transformer.generate_square_subsequent_mask(3))

    def args():
        return torch.randn(2, 3, 4), torch.randn(2, 3, 4), torch.tensor([[False, False, True], [False, True, True]])

    return f, [args(), args(), ("do", lambda: (m.eval(), n.eval()), *args()), ("no_grad", *args())]


@program
def data_loader():
    from torch.utils.data import DataLoader, TensorDataset

    data = TensorDataset(torch.arange(12.0).view(6, 2), torch.arange(6))
    m = nn.Linear(2, 2)

    def f():
        total = 0
        for x, y in DataLoader(data, batch_size=2, shuffle=True):
            total = total + (m(x).sum() * y.sum()).item()
        return total

    return f, [(), (), ()]


@program
def torch_compile_inside():
    def g(x):
        return x * 2 + 1

    inner = torch.compile(g, backend="eager")

    def f(x):
        return inner(x) + inner(x * 2)

    return f, [(torch.randn(3),) for _ in range(3)]


@program
def scripted_inside():
    with contextlib.suppress(Exception):
        s = torch.jit.trace(lambda x: x * 2 + 1, torch.ones(3))

    def f(x):
        return s(x) + 1

    return f, [(torch.randn(3),) for _ in range(3)]


@program
def custom_operator():
    name = f"bltest::twice{len(REGISTERED)}"
    REGISTERED.append(name)

    @torch.library.custom_op(name, mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @twice.register_fake
    def _(x):
        return torch.empty_like(x)

    def f(x):
        return twice(x) + 1

    return f, [(torch.randn(3),) for _ in range(3)]


REGISTERED = []


@program
def custom_operator_mutates():
    name = f"bltest::fill{len(REGISTERED)}"
    REGISTERED.append(name)

    @torch.library.custom_op(name, mutates_args=("x",))
    def fill(x: torch.Tensor, v: float) -> None:
        x.fill_(v)

    def f(x):
        y = x * 1
        fill(y, 3.0)
        fill(x, 4.0)
        return y + 1, x + 1

    return f, [(torch.randn(3),) for _ in range(3)]


@program
def foreach_calls():
    def f(xs, ys):
        a = torch._foreach_add(xs, ys)
        torch._foreach_mul_(xs, 2.0)
        b = torch._foreach_norm(xs)
        torch._foreach_addcmul_(xs, ys, ys, 0.5)
        return a, b, xs

    return f, [([torch.ones(2), torch.ones(3)], [torch.ones(2), torch.ones(3)]) for _ in range(3)]


@program
def clip_gradients():
    m = nn.Linear(3, 3)

    def f(x):
        m.zero_grad()
        m(x).sum().backward()
        n = nn.utils.clip_grad_norm_(m.parameters(), 0.5)
        v = nn.utils.parameters_to_vector(m.parameters())
        return n, m.weight.grad, v

    return f, [(torch.randn(2, 3),) for _ in range(3)]


@program
def copies():
    import copy

    m = nn.Linear(3, 3)

    def f(x):
        y = copy.copy(x)
        n = copy.deepcopy(m)
        n.weight.data.zero_()
        z = copy.deepcopy(x.detach())
        return y + 1, n(x), m(x), z

    return f, [(torch.randn(2, 3),) for _ in range(3)]


@program
def indexing():
    def f(x, i, b, j):
        y = x.clone()
        y[i] = 0
        y[b] = 1
        y[:, j, ...] += 1
        y[..., None, 0].mul_(2)
        y[i, j] = x[j, i]
        y[0][1] = 9
        return (y, x[i], x[b], x[i, :2], x[:, [0, 2]], x[None, 1, ::2], x[-1], x[..., 1], x[i][:, None], x[(0, 1)], x[[0, 1]], x[torch.tensor(1)], x[True], x[False],
                x[1:1], x[j.tolist()], x[slice(0, 2)], x[i, None, j], x[:, b.any(1)] if b.shape[0] == 4 else 0, x[0, 0].shape)

    return f, [(torch.randn(4, 4), torch.tensor([0, 2]), torch.rand(4, 4) > 0.5, torch.tensor([1, 3])) for _ in range(3)]


@program
def index_errors():
    def f(x):
        out = []
        for g in (lambda: x[5], lambda: x[0, 0, 0], lambda: x.view(7), lambda: x @ x[:, :1].t(), lambda: torch.cat([x, x[0]]), lambda: x.sum(4), lambda: x.reshape(-1, 5),
                  lambda: x + torch.ones(7), lambda: F.linear(x, torch.ones(3, 3)), lambda: x[torch.tensor([9])], lambda: x.expand(2, 2, 2), lambda: x.permute(0),
                  lambda: x.squeeze(7), lambda: x.no_such, lambda: torch.no_such, lambda: x.add("a"), lambda: torch.zeros(-1), lambda: F.softmax(x, 3), lambda: x.long() ** -1,
                  lambda: x.to(torch.int64) / 0, lambda: torch.tensor(5) // 0, lambda: torch.embedding(x, torch.tensor([77])), lambda: F.cross_entropy(x, torch.tensor([9, 9]))):
            try:
                out.append(g())
            except Exception as e:
                out.append((type(e).__name__, str(e)))
        return out

    return f, [(torch.randn(2, 3),) for _ in range(3)]


@program
def lazy_modules():
    m = nn.Sequential(nn.LazyLinear(3), nn.ReLU(), nn.LazyLinear(2))

    def f(x):
        return m(x), m[0].weight.shape

    return f, [(torch.randn(2, 5),) for _ in range(3)]


@program
def buffers_in_training():
    m = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.InstanceNorm2d(3, track_running_stats=True), nn.MaxPool2d(2))

    def f(x):
        return m(x), m[1].running_mean, m[3].running_var, m[1].num_batches_tracked

    return f, [(torch.randn(2, 2, 8, 8),) for _ in range(3)]


@program
def channels_last_module():
    m = nn.Sequential(nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(2)).to(memory_format=torch.channels_last)

    def f(x):
        y = m(x)
        return y, y.stride(), y.is_contiguous(memory_format=torch.channels_last), y.contiguous()

    return f, [(torch.randn(2, 4, 8, 8).to(memory_format=torch.channels_last),) for _ in range(3)]


@program
def losses():
    def f(x, t, y):
        return (F.cross_entropy(x, t), F.cross_entropy(x, t, ignore_index=1, label_smoothing=0.1, reduction="none"), F.nll_loss(F.log_softmax(x, 1), t), F.mse_loss(x, y),
                F.l1_loss(x, y, reduction="sum"), F.smooth_l1_loss(x, y), F.huber_loss(x, y), F.kl_div(F.log_softmax(x, 1), y.softmax(1), reduction="batchmean"),
                F.binary_cross_entropy_with_logits(x, y.sigmoid()), F.binary_cross_entropy(x.sigmoid(), y.sigmoid()), F.cosine_similarity(x, y), F.hinge_embedding_loss(x, y.sign()),
                F.triplet_margin_loss(x, y, y.flip(0)), F.cosine_embedding_loss(x, y, torch.ones(3)), F.multi_margin_loss(x, t), F.gaussian_nll_loss(x, y, y.abs()), F.poisson_nll_loss(x, y.abs()),
                F.soft_margin_loss(x, y.sign()), F.margin_ranking_loss(x, y, torch.ones(3, 4)), F.pairwise_distance(x, y), F.normalize(x), F.one_hot(t, 4), F.ctc_loss(F.log_softmax(torch.randn(5, 3, 4), 2), t[:, None] % 3 + 1, torch.tensor([5, 5, 5]), torch.tensor([1, 1, 1])))

    return f, [(leaf(3, 4), torch.tensor([0, 3, 1]), torch.randn(3, 4)) for _ in range(3)]


@program
def einsum_forms():
    def f(x, y):
        return (torch.einsum("ij,jk->ik", x, y), torch.einsum("ij->ji", x), torch.einsum("ii", x), torch.einsum("...j,jk->...k", x, y), torch.einsum("ij,ij->", x, y),
                torch.einsum(x, [0, 1], y, [1, 2], [0, 2]), torch.tensordot(x, y, 1), torch.tensordot(x, y, dims=([0], [1])))

    return f, [(torch.randn(3, 3), torch.randn(3, 3)) for _ in range(3)]


@torch.jit.script
def scripted_scale(x, factor: int = 2):
    return torch.sqrt(torch.tensor(x.size(-1), dtype=torch.float) * factor)


@program
def script_function():
    def f(x):
        return x / scripted_scale(x), x * scripted_scale(x, 3).to(x.dtype)

    return f, [(torch.randn(2, 3),) for _ in range(3)]


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k=2):
        ctx.save_for_backward(x)
        ctx.k = k
        return x * torch.sigmoid(1.702 * x) * k

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0] * ctx.k, None


class Passed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.set_materialize_grads(False)
        return x, y * 2, 3, None

    @staticmethod
    def backward(ctx, g, *rest):
        return g, None


class Written(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.add_(1)
        ctx.mark_dirty(x)
        return x


class SetUp(torch.autograd.Function):
    @staticmethod
    def forward(x, y=3):
        return x + y, x - y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.count = len(inputs)
        ctx.mark_non_differentiable(output[1])


@program
def autograd_functions():
    def f(x):
        y = x.clone()
        w = Written.apply(y)
        a, b, c, d = Passed.apply(x, x + 1)
        return Scaled.apply(x) + Scaled.apply(x, 3), w, w is y, a, b, c, d, a is x, a.requires_grad, SetUp.apply(x), SetUp.apply(x, 4)

    return f, [(torch.randn(3),) for _ in range(3)]


@program
def autograd_functions_without_grad():
    def f(x):
        with torch.no_grad():
            a, b, c, d = Passed.apply(x, x + 1)
            return Scaled.apply(x), a, b, a is x, a.requires_grad, SetUp.apply(x)

    return f, [(leaf(3),) for _ in range(3)]


# --- objects around tensors --------------------------------------------------------------------------------------------------


@program
def retained_grads():
    def f(x):
        y = x * 2
        y.retain_grad()
        z = (y * y).sum()
        z.backward()
        return y.grad, x.grad, y.requires_grad

    return f, [(leaf(3),) for _ in range(3)]


@program
def hook_removed_inside():
    seen = []

    def f(x, drop):
        y = x * 2
        handle = y.register_hook(lambda g: g * 3)
        other = y.register_hook(lambda g: seen.append(float(g.sum())))
        if drop:
            handle.remove()
        (y * y).sum().backward()
        other.remove()
        return x.grad, list(seen)

    return f, [(leaf(3), False), (leaf(3), True), (leaf(3), False)]


@program
def switched_off_logging():
    import logging

    log = logging.Logger("apart")
    log.setLevel(logging.WARNING)
    lines = []
    log.addHandler(type("Sink", (logging.Handler,), {"emit": lambda self, record: lines.append(record.getMessage())})())

    def f(x, level):
        if level is not None:
            log.setLevel(level)
        log.debug("value %s", x)
        y = x * 2
        log.info("info %d", 3)
        if log.isEnabledFor(logging.INFO):
            y = y + 1
        log.log(logging.WARNING, "warning %s", "a")
        return y, list(lines)

    return f, [(torch.ones(2), level) for level in (None, None, logging.DEBUG, None, logging.ERROR, logging.WARNING)]


@program
def argument_specs():
    import inspect

    class Base:
        def run(self, x, *rest, scale=2, **more):
            return x

    holder = Base()

    def plain(a, b=1, *, c: int = 3):
        return a

    def f(x):
        spec = inspect.getfullargspec(holder.run)
        other = inspect.getfullargspec(plain)
        return x * len(spec.args), spec.varargs, spec.kwonlydefaults, other.defaults, other.kwonlyargs, other.annotations["c"] is int

    return f, [(torch.ones(2),) for _ in range(3)]


@program
def asserted():
    def f(x, log):
        x.add_(1)
        log.append(x.numel())
        try:
            assert (x > 0).all(), "not positive"
            log.append("passed")
        except AssertionError as e:
            log.append(str(e))
        return x * 2

    return f, [(torch.ones(2), []), (torch.full((2,), -3.0), []), (torch.ones(2), [])]


def under_autocast(body):
    """A layer whose weights change between calls: the casts that a region keeps are forgotten when it is left."""

    def make():
        layer = nn.Linear(3, 3)
        f = body(layer)

        def g(x, step):
            with torch.no_grad():
                layer.weight.add_(step)
            return f(x)

        return g, [(torch.ones(2, 3), float(i)) for i in range(4)]

    make.__name__ = body.__name__
    return program(make)


@under_autocast
def autocast_with_a_break_first(layer):
    def f(x):
        with torch.autocast("cpu", torch.bfloat16):
            print(end="")
            return layer(x).detach()

    return f


@under_autocast
def autocast_with_a_break_between(layer):
    def f(x):
        with torch.autocast("cpu", torch.bfloat16):
            y = layer(x)
            if y.sum() > 0:
                y = layer(y)
        return y.detach()

    return f


@under_autocast
def autocast_nested(layer):
    def f(x):
        with torch.autocast("cpu", torch.bfloat16):
            y = layer(x)
            with torch.autocast("cpu", enabled=False):
                print(end="")
                z = layer(x)
            print(end="")
            w = layer(x)
        return y.detach(), z.detach(), w.detach(), torch.is_autocast_enabled("cpu")

    return f


@under_autocast
def autocast_as_a_decorator(layer):
    @torch.autocast("cpu", torch.bfloat16)
    def inner(x):
        y = layer(x)
        print(end="")
        return y + layer(x)

    return lambda x: inner(x).detach()


@program
def default_device():
    layer = nn.Sequential(nn.Linear(3, 3), nn.GELU(), nn.LayerNorm(3))

    def inner(x):
        y = layer(x) + torch.ones(3) * torch.arange(3)
        return F.softmax(y, -1), torch.tensor([1.0, 2.0]), torch.empty(2).device, y.new_zeros(2)

    def f(x, device):
        torch.set_default_device(device)
        try:
            return inner(x)
        finally:
            torch.set_default_device(None)

    x = torch.randn(2, 3)
    return f, [(x, None), (x, "cpu"), (x, "cpu"), (x, None)]


@program
def device_as_a_region():
    def f(x, device):
        with torch.device(device):
            a = torch.ones(2)
            b = a.relu() * torch.arange(2)
        return a.device.type, b.shape, torch.ones(2) + x.sum()

    return f, [(torch.randn(2, 3), d) for d in ("cpu", "meta", "cpu")]
