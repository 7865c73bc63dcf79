# SPDX-License-Identifier: GPL-3.0-or-later
"""Guard mutation and minimality: after a compiled call one reachable thing changes; the next call must equal eager.
And what was never looked at may change without a new trace. Toggled policies are never answered from a stale segment."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "support")]

import torch  # noqa: E402
from harness import Tally, bits_equal, run_child, seed_all  # noqa: E402
from torch import nn  # noqa: E402

WARM = 5  # calls after which a guard program answers from its snapshot
K = 3
TABLE = {"a": 1}


class Holder:
    factor = 2

    def __init__(self):
        self.value = 1.5
        self.items = [torch.ones(2), torch.zeros(2)]
        self.flags = {"on": True}

    def method(self, t):
        return t * self.factor + self.value

    @property
    def prop(self):
        return self.value * 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.drop = nn.Dropout(0.5)
        self.bn = nn.BatchNorm1d(4)
        self.register_buffer("shift", torch.ones(4))
        self.power = 2

    def forward(self, x):
        return self.drop(self.bn(self.lin(x))) ** self.power + self.shift


def default_arg(t, k=2, *, m=3):
    return t * k + m


def cases():
    """name -> (make() -> state, call(state) function compiled, args(state), mutate(state))"""
    x = lambda: torch.arange(8.0).view(2, 4)  # noqa: E731

    def net(mutate):
        return (lambda: seed_all() or Net(), lambda s: s, lambda s: (x(),), mutate)

    def obj(body, mutate):
        return (Holder, lambda s: (lambda t: body(s, t)), lambda s: (torch.ones(2),), mutate)

    def free(body, mutate, args=lambda s: (torch.ones(2),)):
        return (dict, lambda s: body, args, mutate)

    def set_global(name, value):
        return lambda s: globals().__setitem__(name, value)

    def swap_method(s):
        type(s).method = lambda self, t: t - 100

    return {
        "eval_mode": net(lambda s: s.eval()),
        "new_parameter": net(lambda s: setattr(s.lin, "weight", nn.Parameter(torch.ones(4, 4)))),
        "parameter_data": net(lambda s: setattr(s.lin.weight, "data", torch.ones(4, 4) * 2)),
        "parameter_dtype": net(lambda s: s.double() and None),
        "buffer_inplace": net(lambda s: s.shift.add_(5)),
        "buffer_replaced": net(lambda s: setattr(s, "shift", torch.full((4,), 9.0))),
        "plain_attribute": net(lambda s: setattr(s, "power", 3)),
        "requires_grad": net(lambda s: s.lin.weight.requires_grad_(False)),
        "submodule": net(lambda s: setattr(s, "lin", nn.Linear(4, 4, bias=False))),
        "forward_hook": net(lambda s: s.lin.register_forward_hook(lambda m, a, o: o * 10) and None),
        "forward_pre_hook": net(lambda s: s.lin.register_forward_pre_hook(lambda m, a: (a[0] + 1,)) and None),
        "instance_forward": net(lambda s: setattr(s, "forward", lambda t: t - 1)),
        "class_forward": net(lambda s: setattr(Net, "forward", lambda self, t: t - 2)),
        "dropout_p": net(lambda s: setattr(s.drop, "p", 0.0)),
        "bn_momentum": net(lambda s: setattr(s.bn, "momentum", 0.9)),
        "delete_attribute": net(lambda s: s.__dict__.pop("power")),
        "object_attribute": obj(lambda s, t: s.method(t), lambda s: setattr(s, "value", -0.0)),
        "zero_sign": obj(lambda s, t: t * s.value, lambda s: setattr(s, "value", 0.0)),
        "class_attribute": obj(lambda s, t: s.method(t), lambda s: setattr(Holder, "factor", 7)),
        "instance_shadows_class": obj(lambda s, t: s.method(t), lambda s: setattr(s, "factor", 8)),
        "class_method": obj(lambda s, t: s.method(t), swap_method),
        "property_value": obj(lambda s, t: t + s.prop, lambda s: setattr(s, "value", 4.0)),
        "list_item": obj(lambda s, t: t + s.items[0], lambda s: s.items.__setitem__(0, torch.full((2,), 3.0))),
        "list_length": obj(lambda s, t: t + len(s.items), lambda s: s.items.append(None)),
        "list_iterated": obj(lambda s, t: sum(s.items) + t, lambda s: s.items.append(torch.ones(2))),
        "dict_value": obj(lambda s, t: t if s.flags["on"] else -t, lambda s: s.flags.update(on=False)),
        "dict_key": obj(lambda s, t: t if "new" in s.flags else -t, lambda s: s.flags.update(new=1)),
        "dict_order": obj(lambda s, t: t + [*s.flags].index("on"), lambda s: (s.flags.pop("on"), s.flags.update(b=1, on=2))),
        "int_to_bool": obj(lambda s, t: t * (1 if s.value is True else 2), lambda s: setattr(s, "value", True)),
        "global_int": free(lambda t: t * K, set_global("K", 4)),
        "global_function": free(lambda t: default_arg(t), set_global("default_arg", lambda t: t - 5)),
        "global_dict": free(lambda t: t + TABLE["a"], lambda s: TABLE.update(a=6)),
        "default": free(lambda t: default_arg(t), lambda s: setattr(default_arg, "__defaults__", (9,))),
        "kwdefault": free(lambda t: default_arg(t), lambda s: setattr(default_arg, "__kwdefaults__", {"m": 8})),
        "code": free(lambda t: default_arg(t), lambda s: setattr(default_arg, "__code__", (lambda t, k=1, *, m=2: t - k - m).__code__)),
        "grad_mode": free(lambda t: t * (2 if torch.is_grad_enabled() else 3), lambda s: torch.set_grad_enabled(False)),
        "default_dtype": free(lambda t: torch.zeros(2) + 1, lambda s: torch.set_default_dtype(torch.float64)),
    }


def input_cases():
    """name -> (function, first arguments, second arguments)"""
    one = lambda: torch.ones(2, 2)  # noqa: E731
    base = torch.arange(8.0)
    return {
        "shape": (lambda t: t.sum() * t.numel(), (one(),), (torch.ones(3, 5),)),
        "dtype": (lambda t: t / 2, (one(),), (torch.ones(2, 2, dtype=torch.int64),)),
        "strides": (lambda t: t.view(-1) if t.is_contiguous() else t.reshape(-1) + 1, (torch.arange(4.0).view(2, 2),),
                    (torch.arange(4.0).view(2, 2).t(),)),
        "rank_zero": (lambda t: t + torch.ones(2), (one(),), (torch.tensor(3.0),)),
        "same_object": (lambda a, b: a + 1 if a is b else a - 1, (one(), one()), ((lambda t: (t, t))(one()))),
        "aliasing": (lambda a, b: (a.add_(1), b * 2)[1], (one(), one()), ((lambda t: (t, t))(one()))),
        "overlap": (lambda a, b: (a.add_(1), b * 2)[1], (base[:4].clone(), base[4:].clone()), (base[:4], base[2:6])),
        "int_value": (lambda t, n: t * n, (one(), 2), (one(), 5)),
        "int_bool": (lambda t, n: t * n if n is not True else t, (one(), 1), (one(), True)),
        "float_zero": (lambda t, v: t / v, (one(), 0.0), (one(), -0.0)),
        "float_nan": (lambda t, v: t if v == v else -t, (one(), 1.0), (one(), float("nan"))),
        "none": (lambda t, b: t if b is None else t + b, (one(), None), (one(), one())),
        "string": (lambda t, mode: t.relu() if mode == "relu" else t - 3, (one(), "relu"), (one(), "other")),
        "list_length": (lambda ts: torch.stack(ts).sum(0), ([one(), one()],), ([one(), one(), one()],)),
        "tuple_kind": (lambda ts: ts[0] + len(ts), ((one(),),), ((one(), 1),)),
        "requires_grad": (lambda t: t * 2, (one(),), (one().requires_grad_(),)),
        "subclass": (lambda t: t + 1, (one(),), (nn.Parameter(one()),)),
        "dict_keys": (lambda d: sum(d[k] * i for i, k in enumerate(d)), ({"a": one(), "b": one() * 3},), ({"b": one() * 3, "a": one()},)),
        "slice": (lambda t, s: t[s], (torch.arange(6.0), slice(0, 2)), (torch.arange(6.0), slice(1, 5, 2))),
    }


def mutated(name):
    import breakline

    make, pick, args, mutate = cases()[name]
    outcomes = []
    for wrap in (lambda f: f, lambda f: breakline.compile(f, plan="replay")):
        saved = dict(factor=Holder.factor, method=Holder.method, forward=Net.forward)
        state = make()
        fn = wrap(pick(state))
        seen = []
        for step in range(2 * WARM):
            if step == WARM:
                mutate(state)
            seed_all(step)
            try:
                seen.append(fn(*[a.double() if name == "parameter_dtype" and step >= WARM else a for a in args(state)]))
            except Exception as e:
                seen.append((type(e).__name__, str(e)))
        outcomes.append(seen)
        Holder.factor, Holder.method, Net.forward = saved["factor"], saved["method"], saved["forward"]
        torch.set_grad_enabled(True)
        torch.set_default_dtype(torch.float32)
        globals().update(K=3, default_arg=ORIGINAL)
        TABLE.clear()
        TABLE.update(a=1)
        ORIGINAL.__defaults__, ORIGINAL.__kwdefaults__, ORIGINAL.__code__ = (2,), {"m": 3}, CODE
    return bits_equal(outcomes[0], outcomes[1]), repr(outcomes)[:1500]


ORIGINAL, CODE = default_arg, default_arg.__code__


def inputs(name):
    import copy

    import breakline

    fn, first, second = input_cases()[name]
    compiled = breakline.compile(fn, plan="replay")
    for args in (first, second, first, second, *[first] * WARM, second, first, *[second] * WARM, first):
        a, b = copy.deepcopy(args), copy.deepcopy(args)
        want, got = fn(*a), compiled(*b)
        if not (bits_equal(want, got) and bits_equal(a, b)):
            return False, f"{args}: {want} {got}"
    return True, ""


def unlooked():
    """Things the code never looks at: no recompile."""
    import breakline

    class Box:
        def __init__(self):
            self.used, self.unused, self.passed = 2, 3, object()

    box, out = Box(), []

    def fn(t, b, extra):
        out.append(extra)
        return t * b.used, b.passed

    compiled = breakline.compile(fn, plan="replay")
    t = torch.ones(2)
    for i in range(6):
        box.unused, box.passed = i, object()
        box.__dict__[f"new{i}"] = i
        result = compiled(t, box, object())
        if result[1] is not box.passed:
            return False, "passed object differs"
    return compiled.stats["recompiles"] == 0, str(compiled.stats)


def reborn_names():
    """The same for what a name or an attribute holds, beside names that change at each call, as in a loop of a script."""
    import breakline

    box = Holder()
    box.__dict__.update({f"n{i}": i for i in range(8)})
    numbers = [Number(k) for k in range(4)]
    rest = " + box.n0 + box.n1 + box.n2 + box.n3 + box.n4 + box.n5"
    kinds = {
        "float": ("{}", lambda k: float(f"{k}.5")),
        "int": ("{}", lambda k: int(f"{k}000")),
        "tuple": ("{}[0]", lambda k: (float(f"{k}.5"), box)),
        "method": ("{}()", lambda k: numbers[k].number),
        "closure": ("{}()", lambda k: (lambda: k)),
        "dict": ("{}['k']", lambda k: {"k": k}),
        "list": ("{}[0]", lambda k: [k]),
        "instance": ("{}.k", lambda k: Number(k)),
        "tensor": ("{}.sum()", lambda k: torch.full((k + 1,), 2.0)),
        "text": ("ord({}[-1])", lambda k: "x" + str(k)),
    }
    for kind, (text, make) in kinds.items():
        for place in ("held", "box.held"):
            space = {"box": box, "torch": torch, "noise": 0}
            exec(f"def f(t):\n    return t + {text.format(place)}{rest}\n", space)
            holder = space if place == "held" else box.__dict__
            compiled = breakline.compile(space["f"], plan="replay")
            t = torch.zeros(2)
            for i, k in enumerate([1] * (2 * WARM) + [2] + [1] * WARM + [3] * WARM + [2] * WARM + [1]):
                space["noise"] = box.noise = i
                holder["held"] = None  # the new object often takes the place of the old one
                holder["held"] = make(k)
                want, got = space["f"](t), compiled(t)
                if not bits_equal(want, got):
                    return False, f"{kind} in {place}, {i}: {want} {got}"
    return True, ""


def reborn():
    """Arguments made anew for each call, often where the last ones were freed: the address says nothing of the value."""
    import breakline

    box = Holder()
    box.__dict__.update({f"n{i}": i for i in range(8)})

    def plain(t, x):
        return t + x + box.n0 + box.n1 + box.n2 + box.n3 + box.n4 + box.n5

    bodies = {
        "int": (plain, lambda k: int(f"{k}000")),
        "float": (plain, lambda k: float(f"{k}.5")),
        "tuple": (lambda t, x: plain(t, x[0]), lambda k: (k, box)),
        "nested tuple": (lambda t, x: plain(t, x[1][0]), lambda k: (box, (k, box))),
        "method": (lambda t, x: plain(t, x()), lambda k: boxes[k].number),
        "closure": (lambda t, x: plain(t, x()), lambda k: (lambda: k)),
        "default": (lambda t, x: plain(t, x()), lambda k: (lambda n=k: n)),
        "dict": (lambda t, x: plain(t, x["k"]), lambda k: {"k": k}),
        "list": (lambda t, x: plain(t, x[0]), lambda k: [k]),
        "instance": (lambda t, x: plain(t, x.k), lambda k: Number(k)),
        "text": (lambda t, x: plain(t, len(x) * 7 + ord(x[-1])), lambda k: "x" + str(k)),
    }
    boxes = [Number(k) for k in range(4)]
    t = torch.zeros(2)
    for name, (body, make) in bodies.items():
        compiled = breakline.compile(body, plan="replay")
        for k in [1] * (2 * WARM) + [2] + [1] * WARM + [3] * WARM + [2]:
            want, got = body(t, make(k)), compiled(t, make(k))
            if not bits_equal(want, got):
                return False, f"{name} {k}: {want} {got}"
    return True, ""


class Number:
    def __init__(self, k):
        self.k = k

    def number(self):
        return self.k


def toggled():
    """An overlay toggled between calls: refused, allowed and refused again, at once."""
    import breakline
    from breakline import _breakline

    space = {"torch": torch, "breakline": breakline}
    path = "/models/toggle.py"
    exec(compile("def f(t):\n    t = t + 1\n    breakline.graph_break()\n    return t * 2\n", path, "exec"), space)
    compiled = breakline.compile(space["f"])
    t = torch.ones(2)
    seen = []
    for value in ("inherit", "error", "allow", "error", "inherit"):
        _breakline.set_overlays([("fn:toggle.py:f", value)], "/models")
        try:
            seen.append(bits_equal(compiled(t), (t + 1) * 2))
        except RuntimeError:
            seen.append("refused")
    return seen == [True, "refused", True, "refused", True], str(seen)


def main():
    fault = sys.argv[1] if len(sys.argv) > 1 else ""
    tally = Tally("guards")

    def run(work):
        def child():
            if fault:
                from breakline import _breakline

                _breakline.set_option("fault", fault)
            return work()

        return run_child(child)

    jobs = {f"mutate.{n}": (lambda n=n: mutated(n)) for n in cases()}
    jobs |= {f"input.{n}": (lambda n=n: inputs(n)) for n in input_cases()}
    jobs |= {"minimal.unlooked": unlooked, "reborn": reborn, "reborn.names": reborn_names, "policy.toggled": toggled}
    for name, work in jobs.items():
        got = run(work)
        if isinstance(got, dict):
            tally.check(name, False, got["crash"][-1500:])
        else:
            tally.check(name, *got)
    if fault:
        print(f"planted fault {fault}: {'caught' if tally.failed else 'NOT CAUGHT'} ({len(tally.failed)} checks)")
        sys.exit(0 if tally.failed else 1)
    tally.finish()


if __name__ == "__main__":
    main()
