# SPDX-License-Identifier: GPL-3.0-or-later
"""Every form of compile and of what it returns, as two tables. EAGER: programs that give the same whether `compile`
compiles or returns its argument. TORCH: what PyTorch 2.13's torch.compile(backend="eager") answers for the same question."""
import abc
import collections.abc
import contextlib
import copy
import dataclasses
import functools
import inspect
import io
import pickle
import threading
import types
import typing
import unittest
import weakref

import torch

import breakline

X = torch.arange(6.0).reshape(2, 3)


class Net(torch.nn.Module):
    level = 5

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.fc = torch.nn.Linear(3, 3)
        self.norm = torch.nn.BatchNorm1d(3)
        self.factor = 2

    def forward(self, x, *, scale=1):
        return self.fc(x) * scale * self.factor

    def extra(self, x):
        return self.fc(x) + 1

    @property
    def twelve(self):
        return 12

    @torch.no_grad()
    def quiet(self, x):
        return self.fc(x)


def body(x: torch.Tensor, y: int = 2) -> torch.Tensor:
    "what it does"
    return x * y + 1


body.note = 7


@breakline.compile
def at_top(x):
    return x + 1


def plain(value):
    """Tensors as lists, so that answers can be compared with ==."""
    if isinstance(value, torch.Tensor):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return type(value)(plain(item) for item in value)
    return value


EAGER, TORCH = [], []


def eager(function):
    EAGER.append(function)
    return function


def torch_says(expected):
    def keep(function):
        TORCH.append((function, expected))
        return function

    return keep


# ---- functions: same as eager


@eager
def defaults_and_keywords(c):
    f = c(body)
    return f(X), f(X, 3), f(X, y=4), f(x=X)


@eager
def methods_of_a_class(c):
    class Thing:
        @c
        def method(self, x):
            return x + 1

        @staticmethod
        @c
        def static(x):
            return x + 3

        @classmethod
        @c
        def of_class(cls, x):
            return x + len(cls.__name__)

        @property
        @c
        def value(self):
            return torch.ones(2)

        @c
        @staticmethod
        def static_inside(x):
            return x + 4

        @c
        @classmethod
        def of_class_inside(cls, x):
            return x + 5

    thing = Thing()
    assert inspect.ismethod(thing.method) and thing.method.__self__ is thing and Thing.method.__name__ == "method"
    return [
        *(f(X) for f in (thing.method, thing.static, Thing.static, thing.of_class, Thing.of_class, thing.static_inside, Thing.of_class_inside)),
        thing.value,
        Thing.method(thing, X),
    ]


@eager
def inherited_method_with_super(c):
    class Base:
        def go(self, x):
            return x + 1

    class Derived(Base):
        @c
        def go(self, x):
            return super().go(x) * 2

    return Derived().go(X)


@eager
def objects_with_call(c):
    class Callable:
        factor = 3

        def __call__(self, x):
            return x * self.factor

    subject = Callable()
    compiled = c(subject)
    first = compiled(X)
    subject.factor = 4
    return first, compiled(X)


@eager
def slots_dataclass_and_closure(c):
    class Slots:
        __slots__ = ("k",)

        def go(self, x):
            return x * self.k

    @dataclasses.dataclass
    class Data:
        k: int = 2

        @c
        def go(self, x):
            return x * self.k

    slots = Slots()
    slots.k = 3
    count = [1]
    total = 0

    def counting(x):
        nonlocal total
        count[0] += 1
        total += 1
        return x * count[0] + total

    compiled = c(counting)
    return c(slots.go)(X), Data(3).go(X), Data(4).go(X), [compiled(X) for _ in range(3)], count, total


@eager
def other_callables(c):
    return (
        c(lambda x: x + 1)(X),
        c(functools.partial(body, y=5))(X),
        c(functools.partial(body, y=5))(X, y=1),
        c(functools.partial(lambda a, b: a - b, X))(X * 2),
        c(torch.sin)(X),
        c(torch.nn.functional.relu)(X),
        c(len)([1, 2]),
        c(c(body))(X),
        list(map(c(lambda x: x + 1), [X, X])),
        functools.reduce(c(lambda a, b: a + b), [X, X, X]),
    )


@eager
def wrappers_around_and_inside(c):
    @c
    @torch.no_grad()
    def inside(x):
        return x * 2

    @torch.no_grad()
    @c
    def around(x):
        return x * 3

    @c
    @functools.lru_cache
    def cached(n):
        return torch.ones(2) * n

    @functools.wraps(c(body))
    def wrapped(*args):
        return c(body)(*args)

    @functools.singledispatch
    def dispatched(x):
        return x + 1

    @dispatched.register
    def _(x: int):
        return x + 10

    x = X.clone().requires_grad_()
    return inside(x).requires_grad, around(x).requires_grad, cached(3), cached(3), wrapped(X), c(dispatched)(X), c(dispatched)(3), wrapped.__name__


@eager
def arguments_of_every_kind(c):
    @c
    def many(*args, b=1, **more):
        return sum(args) + b + sum(more.values())

    @c
    def strict(a, /, b, *, d):
        return a + b + d

    answers = [many(X, X), many(X, b=3, z=X), strict(X, b=X, d=X)]
    for call in (lambda: strict(a=X, b=X, d=X), lambda: c(body)(), lambda: c(body)(X, 1, 2), lambda: c(body)(X, z=3)):
        try:
            call()
        except TypeError as error:
            answers.append(str(error))
    return answers


@eager
def answers_without_tensors(c):
    return c(lambda x: None)(X), c(lambda: 5)(), c(lambda *a: a)(1, 2)


@eager
def generators_and_coroutines(c):
    import asyncio

    def numbers(x):
        for i in range(3):
            yield x + i

    async def later(x):
        return x + 1

    assert inspect.isgeneratorfunction(c(numbers)) and inspect.iscoroutinefunction(c(later))
    return list(c(numbers)(X)), asyncio.run(c(later)(X))


@eager
def compiled_inside_compiled(c):
    inner, net = c(body), Net()
    wrapped = c(net)

    @c
    def outer(h, x):
        g = c(lambda y: y * 3)
        return inner(x), h(x), g(x), wrapped(x), c(net)(x), inner.__name__, callable(inner), isinstance(wrapped, torch.nn.Module), wrapped.factor

    return outer(inner, X), outer(inner, X)


@eager
def another_thread(c):
    compiled, answers = c(body), []
    thread = threading.Thread(target=lambda: answers.append(compiled(X)))
    thread.start()
    thread.join()
    return answers


@eager
def an_exception_of_the_users(c):
    @c
    def f(x):
        x = x + 1
        raise ValueError("bad", 3)

    try:
        f(X)
    except ValueError as error:
        return error.args, error.__cause__, error.__context__


@eager
def classes(c):
    @c
    class Decorated(torch.nn.Module):
        def forward(self, x):
            return x + 1

    class Plain:
        def __init__(self, k):
            self.k = k

        def go(self, x):
            return x + self.k

    made = c(Plain)
    assert isinstance(Decorated, type) and made is Plain
    return Decorated()(X), Decorated()(X), made(3).go(X), c(Net)()(X)


# ---- functions: what they are


@torch_says(("body", "body", "what it does", __name__, "(x: torch.Tensor, y: int = 2) -> torch.Tensor", True, 7))
def names_and_notes(c):
    f = c(body)
    return f.__name__, f.__qualname__, f.__doc__, f.__module__, str(inspect.signature(f)), f.__wrapped__ is body, f.note


@torch_says((True, True, True, True, True, True))
def it_passes_for_a_function(c):
    f = c(body)
    return (
        isinstance(f, types.FunctionType),
        inspect.isfunction(f),
        inspect.isroutine(f),
        callable(f),
        typing.get_type_hints(f) == typing.get_type_hints(body),
        all(hasattr(f, name) for name in ("__code__", "__globals__", "__closure__", "__defaults__", "__kwdefaults__")),
    )


@torch_says((True, True, True, False))
def identity_and_references(c):
    f = c(body)
    return weakref.ref(f)() is f, f in {f: 1}, copy.deepcopy(f) is f and copy.copy(f) is f, f == body


@torch_says((3, False))
def attributes_are_its_own(c):
    f = c(body)
    f.mine = 3
    return f.mine, hasattr(body, "mine")


@torch_says("abstract")
def abstract_methods_stay_abstract(c):
    class Base(abc.ABC):
        @c
        @abc.abstractmethod
        def go(self, x): ...

    try:
        Base()
    except TypeError:
        return "abstract"


@torch_says(("extra", "(x)"))
def bound_methods(c):
    method = c(Net().extra)
    return method.__name__, str(inspect.signature(method))


@torch_says((True, True, True))
def disable_keywords_and_none(c):
    return c(body, disable=True) is body, callable(c()), callable(c(None, dynamic=True))


@torch_says(["Unrecognized mode=warp, should be one of: default, lite, reduce-overhead, max-autotune-no-cudagraphs, max-autotune"] + ["TypeError"] * 3)
def refused_keywords(c):
    answers = []
    for keywords in ({"mode": "warp"}, {"foo": 1}, {"error_on_graph_break": True}):
        try:
            c(body, **keywords)
        except (RuntimeError, TypeError) as error:
            answers.append(str(error) if isinstance(error, RuntimeError) else type(error).__name__)
    try:
        c(body, True)
    except TypeError:
        answers.append("TypeError")
    return answers


@torch_says([[[1.0, 3.0, 5.0], [7.0, 9.0, 11.0]]] * 13)
def accepted_keywords(c):
    rows = [dict(mode=m) for m in ("default", "lite", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")]
    rows += [dict(dynamic=True), dict(dynamic=False), dict(options={}), dict(fullgraph=1), dict(name="n"), dict(recompile_limit=3)]
    rows += [dict(isolate_recompiles=True), dict(backend=lambda graph, inputs: graph)]
    return [plain(c(body, **row)(X)) for row in rows]


# ---- modules: same as eager


@eager
def calls_of_a_module(c):
    net = c(Net())
    return net(X), net(X, scale=2), net.forward(X), net.__call__(X), net.extra(X), net.quiet(X), net.twelve, net.level, net.factor


@eager
def training_mode(c):
    net = c(Net())
    seen = [net.training, net.eval() is net, net.training, net.fc.training, net.train() is net, net.training, net.cpu() is net]
    dropout = c(torch.nn.Dropout(0.5))
    torch.manual_seed(3)
    return seen, dropout(torch.ones(8)), dropout.eval()(torch.ones(8))


@eager
def buffers_and_gradients(c):
    norm, net = torch.nn.BatchNorm1d(3), Net()
    wrapped, compiled = c(norm), c(net)
    for _ in range(3):
        wrapped(X)
    optimizer = torch.optim.SGD(compiled.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        compiled(X).sum().backward()
        optimizer.step()
    return norm.num_batches_tracked.item(), norm.running_mean, net.fc.weight.detach()


@eager
def attributes_reach_the_module(c):
    net = Net()
    compiled = c(net)
    compiled.factor, compiled.fresh = 9, 4
    answers = [net.factor, net.fresh, compiled(X)]
    compiled.fc = torch.nn.Identity()
    answers += [net.fc is compiled.fc, compiled(X)]
    del compiled.fresh
    compiled.w = torch.nn.Parameter(torch.ones(2))
    compiled.requires_grad_(False)
    return answers, hasattr(net, "fresh"), sorted(net.state_dict()), net.w.requires_grad, [hasattr(compiled, "nope")]


@eager
def hooks(c):
    net, log = Net(), []
    compiled = c(net)
    net.register_forward_hook(lambda m, a, out: log.append(type(m).__name__))
    net.register_forward_pre_hook(lambda m, a: log.append("before"))
    first = compiled(X)
    handle = net.fc.register_forward_hook(lambda m, a, out: out * 10)
    second = compiled(X)
    handle.remove()
    return first, second, compiled(X), log


@eager
def dtype_and_casts(c):
    net = c(Net())
    net(X)
    assert net.to(torch.float64) is net
    return net(X.double()), str(net.fc.weight.dtype), net.bfloat16()(X.bfloat16())


@eager
def containers(c):
    net = c(torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU()))
    empty = c(torch.nn.Sequential())
    assert isinstance(net, collections.abc.Sized) and not hasattr(type(c(Net())), "__len__")
    return len(net), [type(m).__name__ for m in net], type(net[0]).__name__, bool(net), bool(empty), bool(c(Net())), empty(X)


@eager
def a_module_with_its_own_call_and_getattr(c):
    class Odd(torch.nn.Module):
        def __getattr__(self, name):
            return 42 if name == "magic" else super().__getattr__(name)

        def __call__(self, x):
            return super().__call__(x) + 100

        def forward(self, x):
            return x + self.magic

    odd = c(Odd())
    return odd(X), odd.magic


@eager
def methods_of_a_module_replaced(c):
    net, patched = Net(), type("Patched", (Net,), {})
    net.forward = c(net.forward)
    patched.forward = c(patched.forward)
    copied = copy.deepcopy(net)
    copied.factor = 5
    return net(X), net(X, scale=2), patched()(X), copied(X), c(Net.extra)(Net(), X)


@eager
def copies(c):
    net = Net()
    deep, shallow = copy.deepcopy(c(net)), copy.copy(c(net))
    stream = io.BytesIO()
    torch.save(c(Net()), stream)
    stream.seek(0)
    return deep(X), shallow(X), pickle.loads(pickle.dumps(c(net)))(X), torch.load(stream, weights_only=False)(X)


@eager
def functional_use(c):
    net = c(Net())
    average = torch.optim.swa_utils.AveragedModel(net)
    return torch.func.functional_call(net, dict(net.named_parameters()), (X,)), average(X)


# ---- modules: what they are


@torch_says(("OptimizedModule", True, True, False, True, True))
def the_wrapper(c):
    net = Net()
    compiled = c(net)
    return type(compiled).__name__, isinstance(compiled, torch.nn.Module), compiled._orig_mod is net, isinstance(compiled, Net), compiled == compiled, weakref.ref(compiled)() is compiled


@torch_says((["_orig_mod.fc.weight", "_orig_mod.fc.bias"], ["", "_orig_mod", "_orig_mod.fc", "_orig_mod.norm"], ["_orig_mod"], 4))
def names_in_the_wrapper(c):
    net = c(Net())
    return [k for k in net.state_dict() if ".fc." in k], [k for k, _ in net.named_modules()], [k for k, _ in net.named_children()], len(list(net.parameters()))


@torch_says(("<All keys matched successfully>", "Linear", True, True))
def state_and_submodules(c):
    net = c(Net())
    return (
        str(net.load_state_dict({k: v + 1 for k, v in net.state_dict().items()})),
        type(net.get_submodule("_orig_mod.fc")).__name__,
        all(name in dir(net) for name in ("extra", "fc", "_orig_mod")),
        repr(c(torch.nn.ReLU())) == "OptimizedModule(\n  (_orig_mod): ReLU()\n)",
    )


@torch_says("'Net' object has no attribute 'nope'")
def a_missing_attribute(c):
    try:
        c(Net()).nope
    except AttributeError as error:
        return str(error)


@torch_says(("OptimizedModule", "Net"))
def a_copy_is_a_wrapper(c):
    clone = copy.deepcopy(c(Net()))
    return type(clone).__name__, type(clone._orig_mod).__name__


# ---- the markers of the public API


@torch_says((True, True, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], True))
def disabled_things(c):
    @breakline.disable
    def helper(x):
        "doc"
        return x + 1

    class Quiet:
        def __call__(self, x):
            return x + 1

    net = breakline.disable(Net())
    net.factor = 3
    made = breakline.disable(Quiet)
    with contextlib.suppress(TypeError, AssertionError):
        breakline.disable(3)
        raise SystemExit("disable(3) was accepted")
    return (
        (helper.__name__, helper.__doc__) == ("helper", "doc"),
        made is Quiet and isinstance(net, torch.nn.Module) and list(net.state_dict())[0] == "_orig_mod.fc.weight" and net._orig_mod.factor == 3,
        plain(c(lambda x: made()(x))(X)),
        torch.equal(c(lambda x: net(x))(X), net._orig_mod(X)),
    )


@torch_says((True, True, 1))
def compiling_a_disabled_function_undoes_it(c):
    disabled = breakline.disable(body)
    compiled = c(disabled)
    breakline.reset()
    return torch.equal(compiled(X), body(X)), compiled.__wrapped__ is body, compiled.stats["graphs"]


class Table(unittest.TestCase):
    def test_same_as_eager(self):
        for program in EAGER:
            with self.subTest(program.__name__):
                expected = plain(program(lambda subject: subject))
                breakline.reset()
                self.assertEqual(plain(program(breakline.compile)), expected)

    def test_as_pytorch_answers(self):
        for program, expected in TORCH:
            with self.subTest(program.__name__):
                breakline.reset()
                self.assertEqual(program(breakline.compile), expected)

    def test_a_function_at_the_top_of_a_module_is_pickled_by_name(self):
        self.assertIs(pickle.loads(pickle.dumps(at_top)), at_top)
        with self.assertRaises(pickle.PicklingError):
            pickle.dumps(breakline.compile(body))

    def test_libraries_that_ask_for_pytorchs_class(self):
        compiled = breakline.compile(Net())
        import torch._dynamo

        self.assertIsInstance(compiled, torch._dynamo.eval_frame.OptimizedModule)
        self.assertIsInstance(compiled, torch._dynamo.OptimizedModule)
        self.assertNotIsInstance(Net(), torch._dynamo.OptimizedModule)
        self.assertTrue(torch.equal(compiled(X), Net()(X)))


if __name__ == "__main__":
    unittest.main()
