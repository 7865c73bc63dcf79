# SPDX-License-Identifier: GPL-3.0-or-later
# Long because it is one table of small independent programs.
"""Forms in which programs change tensors as objects: shape, memory, requires_grad, class, history. Each entry: name → (maker as in
programs.py, places that may break)."""

import functools
import inspect

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

FORMS = {}


def form(places, table=FORMS):
    def add(make):
        table[make.__name__] = (make, places)
        return make

    return add


def data(*sizes, grad=False):
    return torch.randn(*sizes).requires_grad_(grad)


def calls(*sizes, grad=False, n=3):
    return [(data(*sizes, grad=grad),) for _ in range(n)]


def seen(t):
    return (tuple(t.shape), t.stride(), t.storage_offset(), t.dtype, t.requires_grad, t.is_leaf)


# --- shape and memory in place ----------------------------------------------------------------------------------------


@form(0)
def reshapes_of_a_result():
    def f(x):
        out = []
        y = x * 2
        for change in (lambda t: t.unsqueeze_(1), lambda t: t.squeeze_(1), lambda t: t.t_(), lambda t: t.transpose_(0, 1),
                       lambda t: t.swapaxes_(0, 1), lambda t: t.swapdims_(0, 1), lambda t: t.as_strided_((2, 2), (4, 1))):
            same = change(y)
            out.append((same is y, seen(y), (y + 1).sum()))
        return out, y

    return f, calls(3, 4)


@form(0)
def reshape_of_an_input():
    def f(x):
        before = x.sum(0)
        x.unsqueeze_(0)
        return before, seen(x), x + 1

    return f, calls(3, 4)


@form(0)
def reshape_leaves_views_alone():
    def f(x):
        y = x * 2
        v, w = y.view(12), y[1]
        y.t_()
        v.add_(1)
        y.mul_(3)
        w.sub_(1)
        return y, v, w, y @ x, seen(v), seen(w)

    return f, calls(3, 4)


@form(0)
def reshape_of_a_view():
    def f(x):
        y = x * 2
        v = y[1:]
        v.t_()
        v[0] = 7
        y.add_(1)
        return y, v, seen(v)

    return f, calls(3, 4)


@form(0)
def reshape_with_history():
    def f(x):
        y = x * 2
        y.unsqueeze_(0)
        y.transpose_(1, 2)
        return (y * y).sum(), seen(y), type(y).__name__

    return f, calls(3, 4, grad=True)


@form(0)
def resized():
    def f(x):
        y = x * 2
        y.resize_(2, 2)
        z = x + 1
        z.resize_as_(torch.zeros(2, 3))
        o = torch.empty(0)
        torch.add(x, 1, out=o)
        x.resize_(2, 3)
        return y, z, o, seen(o), x * 1

    return f, calls(3, 4)


@form(0)
def set_to_another():
    def f(x, w):
        y = torch.empty(0)
        y.set_(x)
        y.add_(1)
        z = w * 1
        z.set_(w)
        z[0] = 5
        return x * 1, y, z, seen(z)

    return f, [(data(3, 4), data(5)) for _ in range(3)]


@form(0)
def data_assigned():
    def f(x, w):
        y = x * 2
        old = y[0]
        y.data = w
        w.mul_(2)
        old.add_(1)
        y.sub_(3)
        return y, old, y * 1, seen(y)

    return f, [(data(3, 4), data(5)) for _ in range(3)]


@form(0)
def data_of_an_input_assigned():
    def f(x, w):
        old = x[:]
        x.data = w
        x.add_(1)
        return old * 1, x * 2, seen(x)

    shapes = ((3,), (3,), (4,), (2, 3))
    return f, [(data(3), data(*s)) for s in shapes]


@form(0)
def data_of_a_parameter():
    layer = nn.Linear(4, 4)

    def f(x):
        layer.weight.data = layer.weight.data * 0.5
        layer.bias.data.mul_(0.5)
        return layer(x), layer.weight.requires_grad

    return f, calls(3, 4)


# --- requires_grad ---------------------------------------------------------------------------------------------------


@form(0)
def grad_asked_for_here():
    def f(x):
        w = torch.zeros(4).requires_grad_()
        v = torch.ones(4, requires_grad=True)
        u = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
        k = x.clone()
        k.requires_grad = True
        y = (x * w * v * u * k).sum()
        return y, seen(w), seen(v), seen(u), seen(k), seen(y), w

    return f, calls(3, 4)


@form(0)
def grad_given_up_here():
    def f(x):
        y = (x.detach() * 2).requires_grad_(False)
        z = torch.ones(4).requires_grad_()
        z.requires_grad_(False)
        z.requires_grad_(True).requires_grad_()
        return y, seen(z), (z * y).sum()

    return f, calls(3, 4)


@form(0)
def grad_of_an_input():
    def f(x):
        x.requires_grad_()
        y = x * 2
        return y.sum(), seen(y), x.requires_grad

    return f, calls(3, 4)


@form(2)
def grad_refused():
    def f(x):
        out = []
        try:
            torch.arange(3).requires_grad_()
        except RuntimeError as e:
            out.append(str(e)[:30])
        try:
            (x * 2).requires_grad_(False)
        except RuntimeError as e:
            out.append(str(e)[:30])
        return out, x * 1

    return f, calls(3, 4, grad=True)


@form(0)
def parameter_of_a_tensor():
    def f(x):
        p = nn.Parameter(x)
        q = nn.Parameter(torch.zeros(4), requires_grad=False)
        with torch.no_grad():
            p.add_(1)
        return (p * p).sum() + q.sum(), isinstance(p, nn.Parameter), type(q) is nn.Parameter, seen(p), seen(q), p, x * 1

    return f, calls(3, 4)


# --- autograd.Function ------------------------------------------------------------------------------------------------


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(x)
        ctx.k, ctx.sizes = k, {"rows": x.shape[0]}
        return x * x * k

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 20 * x * ctx.k * ctx.sizes["rows"], None


class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(x, digits=2):
        return (x * digits).round() / digits

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.digits = inputs
        ctx.save_for_backward(x, output)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * ctx.digits + (x - y) * 0, None


class Both(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        order = a.argsort(-1)
        ctx.mark_non_differentiable(order)
        ctx.set_materialize_grads(False)
        return a + b, order, "text", a * b

    @staticmethod
    def backward(ctx, g, _order, _text, h):
        a, b = ctx.saved_tensors
        g, h = 0 if g is None else g, 0 if h is None else h
        return (g + h * b if ctx.needs_input_grad[0] else None), (g + h * a if ctx.needs_input_grad[1] else None)


class Written(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.mark_dirty(a)
        a.mul_(2)
        return a

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Passed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return a.view_as(a)

    @staticmethod
    def backward(ctx, g):
        return -g


@form(0)
def function_with_grad():
    def f(x, w):
        y = Scaled.apply(x * w, 3.0)
        return y.sum(), type(y).__name__, seen(y)

    return f, [(data(3, 4), data(4, grad=True)) for _ in range(3)]


@form(0)
def function_with_setup_context():
    def f(x):
        y, z = Rounded.apply(x, 4), Rounded.apply(x)
        return (y * z).sum(), seen(y)

    return f, calls(3, 4, grad=True)


@form(0)
def function_with_several_results():
    def f(x, w):
        a, order, text, b = Both.apply(x, w)
        c, _, _, _ = Both.apply(a, b)
        return (a * b).sum() + c.sum(), order, text, seen(a), seen(order), seen(b)

    return f, [(data(3, 4, grad=True), data(3, 4, grad=i % 2 == 0)) for i in range(4)]


@form(0)
def function_in_a_module():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x):
            return Scaled.apply(torch.relu(self.layer(x)), 0.5).mean()

    return Net(), calls(3, 4)


@form(0)
def function_that_writes():
    def f(x):
        y = x * 1
        z = Written.apply(y)
        return z is y, z.sum()

    return f, calls(3, 4, grad=True)


@form(0)
def function_that_passes_on():
    def f(x):
        return (Passed.apply(x) * 2).sum()

    return f, calls(3, 4, grad=True)


@form(0)
def function_without_grad():
    def f(x):
        with torch.no_grad():
            a = Scaled.apply(x, 2.0)
        return a, Rounded.apply(x.detach()), seen(a)

    return f, calls(3, 4, grad=True)


# --- classes of tensors ----------------------------------------------------------------------------------------------


class Metered(torch.Tensor):
    log = []
    unit = "m"

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", "?")
        out = super().__torch_function__(func, types, args, kwargs or {})
        cls.log.append(name)
        if name == "add":
            out = out.neg()
            out.cost = 1 + sum(getattr(a, "cost", 0) for a in args)
        return out

    @property
    def doubled(self):
        return self + self


@form(0)
def subclass_of_tensor():
    cls = Metered
    cls.log.clear()

    def f(x, y):
        c = torch.add(x, y)
        d = (c * 2 + 1).matmul(y.t())
        return (d.as_subclass(torch.Tensor), type(d).__name__, c.cost, getattr(d, "cost", None), tuple(c.shape), x.unit, isinstance(d, cls),
                type(x.doubled).__name__, torch.nn.functional.relu(c).sum().as_subclass(torch.Tensor), list(cls.log))

    plain = data(3, 4)
    return f, [(plain.as_subclass(cls), plain), (plain, data(3, 4).as_subclass(cls)), (plain.as_subclass(cls), plain)]


@form(0)
def subclass_made_here():
    class Named(torch.Tensor):
        pass

    def f(x):
        y = x.as_subclass(Named) * 2
        y.label = "a"
        z = (y + 1).sum()
        return type(z).__name__, z.as_subclass(torch.Tensor), y.label, hasattr(z, "label"), y.shape, len(y)

    return f, calls(3, 4)


@form(0)
def override_off_inside():
    class Off(torch.Tensor):
        seen = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.seen.append(func.__name__)
            with torch._C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))

    def f(x):
        y = x.as_subclass(Off) + 1
        return type(y).__name__, y * 2, list(Off.seen)

    return f, calls(3, 4)


@form(0)
def override_without_tensor():
    class Wrapper:
        def __init__(self, value):
            self.value = value

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            args = [a.value if isinstance(a, Wrapper) else a for a in args]
            return Wrapper(func(*args, **(kwargs or {})))

    def f(x):
        w = Wrapper(x)
        return torch.matmul(torch.add(w, 1, alpha=2), x.t()).value, torch.nn.functional.gelu(w).value

    return f, calls(3, 4)


@form(0)
def attributes_on_tensors():
    def f(x, w):
        y = x * 2
        y.name_here, y.more = "y", [1, 2]
        w.count = getattr(w, "count", 0) + 1
        return y, y.name_here, y.more, hasattr(x, "count"), w.count

    w = data(3)
    return f, [(data(3), w) for _ in range(3)]


# --- checks that only raise -------------------------------------------------------------------------------------------


@form(0)
def checks_that_hold():
    def f(x):
        if not torch.isfinite(x).all():
            raise ValueError("not finite: " + str(x.shape))
        if (x > 100).any():
            raise ValueError("too large")
        y = torch.distributions.Normal(x, x.abs() + 1)
        return x * 2, y.log_prob(x), torch.distributions.kl_divergence(y, torch.distributions.Normal(0.0, 1.0))

    return f, calls(3, 4)


@form(0)
def checks_that_fail():
    log = []

    def f(x):
        log.append(len(log))
        x.add_(1)
        if (x > 2).any():
            raise ValueError(f"{len(log)} too large")
        return x * 2, list(log)

    return f, [(torch.zeros(3),), (torch.ones(3) * 5,), (torch.zeros(3),), (torch.ones(3) * 7,)]


@form(0)
def checks_that_are_caught():
    def f(x):
        y = x + 1
        try:
            if y.sum() > 3:
                raise KeyError("large")
            y = y * 2
        except KeyError:
            y = y - 1
        return y

    return f, [(torch.zeros(2),), (torch.ones(3) * 5,), (torch.zeros(2),)]


# --- ambient state ----------------------------------------------------------------------------------------------------


@form(0)
def default_dtype_changes():
    def f(x):
        torch.set_default_dtype(torch.float64)
        a = torch.zeros(2) + 1
        torch.set_default_dtype(torch.float32)
        return a, torch.zeros(2), x * 2

    return f, calls(3, 4)


@form(0)
def inference_region():
    def f(x):
        with torch.inference_mode():
            y = x * 2
            z = torch.exp(y + 1)
            v = x.view(-1)
            y.add_(1)
        u = y[0]
        return y, z, v, u, y + 1, [t.is_inference() for t in (x, y, z, v, u)], torch.is_inference(y + 1)

    return f, calls(3, 4, n=4) + [(torch.randn(5, 4),)] * 3


@form(1)
def inference_region_with_a_break():
    def f(x):
        with torch.inference_mode():
            y = x * 2
            if y.sum() > 1e9:
                y = y + 1
            z = torch.relu(y) + 1
            z.add_(1)
        return z + 1, z, torch.is_inference_mode_enabled(), torch.is_grad_enabled()

    return f, calls(3, 4)


@form(0)
def inference_regions_in_each_other():
    w = torch.randn(4, 4, requires_grad=True)

    def f(x):
        seen = []
        with torch.no_grad(), torch.inference_mode():
            y = x * 2
            with torch.inference_mode(False):
                z = x @ w + 1
                seen.append(torch.is_grad_enabled())
            with torch.enable_grad():
                u = x @ w
                seen.append((torch.is_grad_enabled(), u.requires_grad))
            seen.append(torch.is_grad_enabled())
        return y, z, u, seen, torch.is_grad_enabled()

    return f, calls(3, 4)


@form(0)
def inference_by_decorator_and_hand():
    layer = nn.Linear(4, 4)

    @torch.inference_mode
    def plain(x):
        return layer(x)

    @torch.inference_mode()
    def parts(x):
        yield x * 2
        yield layer(x)

    def f(x):
        @torch.inference_mode()
        def inner(t):
            return layer(t) * 2

        region = torch.inference_mode()
        region.__enter__()
        y = x * 2
        region.__exit__(None, None, None)
        return inner(x) + 1, plain(x) + 1, y + 1, [t + 1 for t in parts(x)], torch.is_inference_mode_enabled()

    return f, calls(3, 4)


@form(0)
def inference_region_left_by_an_exception():
    def f(x):
        try:
            with torch.inference_mode():
                y = x * 2
                raise KeyError("x")
        except KeyError as e:
            return y, torch.is_inference_mode_enabled(), torch.is_grad_enabled(), str(e)

    return f, calls(3, 4)


@form(1)
def inference_tensors_outside():
    w = torch.randn(3, 4, requires_grad=True)

    def f(x):
        with torch.inference_mode():
            y = x * 2
        texts = []
        try:
            y.add_(1)
        except RuntimeError as e:
            texts.append(str(e))
        try:
            texts.append((y * w).sum())
        except RuntimeError as e:
            texts.append(str(e))
        return texts, (y + w).sum(), y.clone().mul_(2)

    return f, calls(3, 4)


@form(0)
def inference_tensors_as_inputs():
    with torch.inference_mode():
        given = torch.randn(3, 4)

    def f(x):
        y, v = given * 2, given.view(12)
        return y + x, v, y.is_inference(), v.is_inference()

    return f, calls(3, 4)


@form(0)
def named_profiler_regions():
    @torch.profiler.record_function("whole")
    def inner(x):
        return x * 2

    def f(x):
        with torch.profiler.record_function("part") as region:
            y = inner(x) + 1
        return y, type(region).__name__, region.name

    return f, calls(3, 4)


@form(0)
def parameters_of_a_closure():
    def f(x):
        scale = 3

        def g(a, b: int = 2, *rest, c=(1, 2), **words) -> float:
            return a * b + scale

        def wrapper(*args, **kwargs):
            return g(*args, **kwargs)

        wrapper.__wrapped__ = g
        names = [list(inspect.signature(h).parameters) for h in (g, wrapper, lambda p, q=1: p)]
        return wrapper(x), names, [p.default for p in inspect.signature(g).parameters.values() if p.default is not p.empty]

    return f, calls(3, 4)


@form(5)
def parameters_of_functions_that_change():
    def f(x, g):
        signature = inspect.signature(g)
        return x * 2, list(signature.parameters), [p.default for p in signature.parameters.values()]

    return f, [(data(2), g) for g in (lambda a=1: a, lambda a=2: a, lambda b, c: b, calls)]


@form(0)
def annotations_of_a_closure():
    def f(x):
        def g(a, b: int = 2) -> float:
            return a * b

        @functools.wraps(g)
        def wrapper(*args):
            return g(*args)

        return wrapper(x), wrapper.__annotations__ is g.__annotations__, sorted(g.__annotations__), wrapper.__name__

    return f, calls(3, 4)


@form(0)
def asks_for_history():
    w = torch.randn(4, 4, requires_grad=True)

    def f(x):
        y = (x @ w).relu()
        if y.grad_fn is not None:
            y = y * 2
        if x.grad_fn is None and y.grad_fn:
            y = y + 1
        return y, y.grad_fn is None, (y.detach() * 2).grad_fn is None

    return f, calls(3, 4)


@form(0)
def chosen_attention_kernel():
    def f(x):
        q = x.view(1, 1, 3, 4)
        with sdpa_kernel(SDPBackend.MATH):
            y = F.scaled_dot_product_attention(q, q, q)
        with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]):
            y = y + F.scaled_dot_product_attention(q, q, q)
        return y * 2, {SDPBackend.MATH: 1}[SDPBackend.MATH]

    return f, calls(3, 4)


@form(0)
def distributions_of_all_kinds():
    def f(x):
        k = torch.distributions.Categorical(logits=x)
        b = torch.distributions.Bernoulli(logits=x)
        n = torch.distributions.Normal(x, 1.0)
        other = torch.distributions.Normal(0.0, 1.0)
        drawn = k.sample(), b.sample(), n.rsample()
        return drawn, k.log_prob(drawn[0]), k.probs, k.entropy(), b.mean, b.entropy(), torch.distributions.kl_divergence(n, other)

    return f, calls(3, 4)


@form(0)
def trees_mapped_by_type():
    from torch.utils import _pytree as tree

    def f(x):
        data = {"x": x, "rest": [3, (x + 1, None)]}
        some = tree.tree_map_only(torch.Tensor, lambda t: t.sum(), data)
        both = tree.tree_map_only((torch.Tensor, int), lambda t: t + 1, data)
        return some, both, tree.tree_any_only(int, lambda v: v > 1, data), tree.tree_leaves(data)

    return f, calls(3, 4)


@form(0)
def memory_of_what_came_in():
    kept = torch.ones(3)
    seen = []

    def f(x, y):
        seen.append(x.data_ptr())
        same = x.data_ptr() == y.data_ptr(), x.data_ptr() == kept.data_ptr(), hash(x) == hash(kept), hash(x) == hash(y)
        return x + 1 if same[0] else y * 2, same, x.data_ptr() % 4, x.untyped_storage() is None

    return f, [(kept, kept), (kept, torch.zeros(3)), (kept, kept[:2]), (kept[1:], kept[1:]), (torch.ones(3), kept)]


@form(3)
def memory_that_moves():
    def f(x):
        first = x.data_ptr()
        x.data = torch.ones(3)
        second = x.data_ptr()
        x.set_(torch.zeros(4))
        third = x.data_ptr()
        return first == second, second == third, x + 1

    return f, [(torch.zeros(3),), (torch.zeros(3),)]


@form(0)
def questions_to_the_machine():
    def f(x):
        there = torch.cuda.is_available() or torch.cuda.device_count() or torch.cuda.is_initialized() or torch.backends.mps.is_available()
        return x.to("cuda" if there else "cpu") + torch.get_num_threads()

    return f, calls(3, 4)


# --- arrays of numpy

TABLE = np.arange(4, dtype=np.float32)


@form(0)
def arrays_become_tensors():
    def f(x, a):
        one, other = np.zeros(2), np.zeros(2)
        known = torch.from_numpy(np.linspace(0, 1, 4)), torch.from_numpy(np.array([[1, 2], [3, 4]])) * 2, torch.from_numpy(np.arange(x.shape[1]))
        return x + torch.from_numpy(TABLE) + torch.from_numpy(np.ones(4)).float() + torch.from_numpy(a), known, one, one is other

    return f, [(data(3, 4), np.ones(4, dtype=np.float32)), (data(3, 4), np.arange(8)[::2]), (data(3, 4), np.ones((3, 1)))]


@form(0)
def arrays_share_their_memory():
    def make():
        arr = np.zeros(4, dtype=np.float32)

        def f(x):
            t, fresh = torch.from_numpy(arr), np.zeros(4, dtype=np.float32)
            t += 1
            torch.from_numpy(fresh).add_(t)
            return x + t, fresh, t.data_ptr() == torch.from_numpy(arr).data_ptr()

        return f

    return make(), calls(3, 4)


# --- hooks on results


@form(1)
def hooks_on_results():
    w = torch.ones(4, requires_grad=True)

    def f(x):
        y = x * w
        y.register_hook(lambda g: g * 3)
        y.mul_(2)
        y.register_hook(torch.neg)
        z = x.clone().requires_grad_()
        z.register_hook(lambda g: g + 1)
        return torch.autograd.grad((y * z).sum(), (w, z))

    return f, calls(3, 4)


@form(5)
def handles_of_hooks():
    w, kept = torch.ones(4, requires_grad=True), []

    def f(x):
        y = x * w
        handle = y.register_hook(lambda g: g * 3)
        kept.append(y.register_hook(lambda g: g + 1))
        handle.remove()
        return torch.autograd.grad(y.sum(), w), len(kept)

    return f, calls(3, 4)


# --- gradients that are set


@form(1)
def gradients_of_parameters_set():
    torch.manual_seed(0)
    layer = torch.nn.Linear(4, 2)

    def f(x):
        layer.zero_grad()
        first = [p.grad for p in layer.parameters()]
        grads = torch.autograd.grad(layer(x).pow(2).mean(), list(layer.parameters()))
        for p, g in zip(layer.parameters(), grads):
            p.grad = g
        kept = layer.weight.grad
        layer.weight.grad.mul_(2)
        same = layer.weight.grad is kept
        layer.weight.grad = None
        return first, kept, same, layer.weight.grad, layer.bias.grad * 2

    return f, calls(3, 4)


@form(3)
def gradients_that_do_not_fit():
    layer = torch.nn.Linear(4, 2)

    def f(x):
        said = []
        for wrong in (torch.ones(3), layer.weight, 3):
            try:
                layer.weight.grad = wrong
            except (RuntimeError, TypeError) as e:
                said.append(str(e))
        return said, x + 1

    return f, calls(3, 4)


@form(0)
def determinism_asked_for():
    def f(x, on):
        torch.use_deterministic_algorithms(on, warn_only=True)
        y = x + 1, torch.are_deterministic_algorithms_enabled()
        torch.use_deterministic_algorithms(False)
        return y, torch.are_deterministic_algorithms_enabled()

    return f, [(data(3, 4), True), (data(3, 4), False), (data(3, 4), True)]


@form(0)
def lists_take_rows():
    def f(x):
        rows = [x]
        other = rows
        rows += x
        again = rows.__iadd__(x[0])
        return rows, other is rows, again is rows, len(rows)

    return f, calls(3, 4)


@form(0)
def operators_on_numbers_alone():
    def f(x):
        parts = torch.div(x.shape[1], 3, rounding_mode="trunc"), torch.add(x.shape[0], 4), torch.mul(2.5, 3), torch.sub(1, 2.5)
        return x + parts[0], parts, [p.dtype for p in parts]

    return f, calls(3, 4)


@form(0)
def attributes_asked_for_and_set():
    def f(x):
        if not hasattr(x, "seen"):
            x.seen = set()
        x.seen.add(3)
        return x + 1, x.seen

    return f, calls(3, 4)
