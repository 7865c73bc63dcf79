# SPDX-License-Identifier: GPL-3.0-or-later
"""Pointwise kernels: every function over special values and wide ranges, and random fused graphs."""
import os
import random

import torch

from recorder import Recorder, bl, check, clone_all, main

GRAPHS = int(os.environ.get("BREAKLINE_VULKAN_GRAPHS", "60"))  # more for a long run
inf, nan = float("inf"), float("nan")
SPECIAL = torch.tensor(
    [0.0, -0.0, 1.0, -1.0, inf, -inf, nan, 0.5, -0.5, 1.5, 2.5, -2.5, 3.4e38, -3.4e38, 1.2e-38, 88.7, 88.73, 89.0, -87.0,
     -103.0, -104.0, 127.9, 128.0, -149.0, 1e-7, -1e-7, 16777216.0, 1e10, 1e30, -1e30, 0.999999, -0.999999, 1000.0,
     1000.5, 12345.678, 1e6, 3.14159265, 1.57079633, 6.2831853])
UNARY = ("neg abs sign reciprocal sqrt rsqrt square exp exp2 expm1 log log2 log10 log1p sin cos tan tanh sinh cosh atan "
         "erf sigmoid relu floor ceil round trunc isnan isinf isfinite logical_not").split()
NN = "gelu silu mish softplus hardtanh hardsigmoid hardswish leaky_relu elu relu6".split()
BINARY = "add sub mul div pow maximum minimum eq ne lt le gt ge".split()


def on_device(plan):
    return plan.info["plan"] == "vulkan" and all(device == "vulkan" for device in plan.devices)


def run_one(name, function, inputs, **kwargs):
    record = Recorder(*inputs)
    eager = record(function, *inputs, **kwargs)
    plan = record.plan("vulkan", eager)
    assert on_device(plan), f"{name} is not on the device: {plan.info['reason']}"
    (got,) = plan(*inputs)
    wide = function(*[x.double() if x.is_floating_point() else x for x in inputs], **kwargs)
    check(name, got, eager, wide if wide.is_floating_point() else None)


def ranges():
    wide = torch.exp(torch.randn(4096) * 20)
    return {"special": SPECIAL, "normal": torch.randn(4096), "30": torch.randn(4096) * 30,
            "1e4": (torch.rand(4096) * 2 - 1) * 1e4, "wide": wide, "-wide": -wide}


def test_unary_functions():
    for name in UNARY + NN:
        function = getattr(torch, name, None) or getattr(torch._C._nn, name)
        for label, x in ranges().items():
            run_one(f"{name} {label}", function, [x])
    run_one("gelu tanh", torch._C._nn.gelu, [torch.randn(4096)], approximate="tanh")


def test_binary_functions():
    a, b = (t.contiguous() for t in torch.meshgrid(SPECIAL, SPECIAL, indexing="ij"))
    r = ranges()
    for name in BINARY:
        function = getattr(torch, name)
        run_one(f"{name} special", function, [a, b])
        run_one(f"{name} normal", function, [r["normal"].abs(), r["30"]])
        run_one(f"{name} wide", function, [r["wide"], r["normal"]])


def test_casts():
    values = torch.tensor([0.0, -0.0, 0.9, -0.9, 1.5, -1.5, 100.7, -100.7, 255.5, 1e6, -1e6, 2.0**31 - 128, -(2.0**31)])
    targets = [torch.int32, torch.int64, torch.bool, torch.float32, torch.uint8, torch.int8]
    for target in targets:
        source = values if target not in (torch.uint8, torch.int8) else values[:6]
        record = Recorder(source)
        cast = record(torch.Tensor.to, source, target)
        eager = record(torch.mul, cast, cast)
        plan = record.plan("vulkan", cast, eager)
        for got, want in zip(plan(source), (cast, eager)):
            check(f"float32 to {target}", got, want)
    for source in (torch.int32, torch.int64, torch.uint8, torch.int8, torch.bool):
        x = torch.randint(0, 2 if source == torch.bool else 100, (64,)).to(source)
        for target in targets:
            record = Recorder(x)
            cast = record(torch.Tensor.to, x, target)
            out = record(torch.add, cast, 1)
            (got,) = record.plan("vulkan", out)(x)
            check(f"{source} to {target}", got, out)


def random_operand(rng, shape, dtype):
    """A tensor that broadcasts to `shape`, with strides of many kinds."""
    sizes = [1 if rng.random() < 0.2 else s for s in shape][rng.randrange(len(shape)) if rng.random() < 0.2 else 0:]
    kind = rng.randrange(5)
    padded = [s * 2 if kind == 1 else s for s in sizes]
    if kind == 4:
        padded[-1] += 3
    t = torch.randn(padded[::-1] if kind == 2 else padded) * 3
    if dtype == torch.bool:
        t = t > 0
    elif dtype != torch.float32:
        t = (t * 5).to(dtype)
    if kind == 1:
        t = t[tuple(slice(None, None, 2) for _ in sizes)]
    if kind == 2:
        t = t.permute(*reversed(range(len(sizes))))
    if kind == 3:
        t = t[:1].expand(sizes)
    if kind == 4:
        t = t[..., 3:]
    return t


FLOAT_UNARY = [torch.exp, torch.tanh, torch.sigmoid, torch.relu, torch.neg, torch.abs, torch.sqrt, torch.square,
               torch._C._nn.gelu, torch._C._nn.silu, torch.sin, torch.erf, torch.floor]
ARITHMETIC_OF_BOOL = [torch.add, torch.mul, torch.maximum, torch.minimum]
ARITHMETIC = ARITHMETIC_OF_BOOL + [torch.sub]


def random_graph(rng):
    shape = rng.choice([[7], [4096], [5, 8], [64, 64], [3, 4, 5], [2, 3, 16, 16], [1], [33, 129], [8, 1, 4]])
    dtypes = [torch.float32] * 5 + [torch.int64, torch.int32, torch.bool]
    inputs = [random_operand(rng, shape, rng.choice(dtypes)) for _ in range(rng.randint(1, 4))]
    record = Recorder(*inputs)
    pool = list(inputs)
    for _ in range(rng.randint(2, 12)):
        a, b = rng.choice(pool), rng.choice(pool)
        kind = rng.randrange(8)
        floats = [t for t in pool if t.is_floating_point()]
        if kind <= 2 and floats:
            out = record(rng.choice(FLOAT_UNARY), rng.choice(floats))
        elif kind <= 4:
            if a.dtype == torch.bool and b.dtype == torch.bool:
                out = record(torch.logical_xor, a, b)
            else:
                subtracts = torch.bool not in (a.dtype, b.dtype)
                out = record(rng.choice(ARITHMETIC if subtracts else ARITHMETIC_OF_BOOL), a, b)
        elif kind == 5:
            out = record(rng.choice([torch.lt, torch.ge, torch.eq, torch.ne]), a, b)
        elif kind == 6:
            out = record(torch.where, record(torch.gt, a, 0), a, b)
        else:
            out = record(torch.mul if a.dtype != torch.bool else torch.add, a, rng.choice([2, 3, 0.5, -1.25]))
        pool.append(out)
    made = pool[len(inputs):]
    outputs = [made[-1]] + [t for t in made[:-1] if rng.random() < 0.2]
    return record, inputs, outputs


def in_double(record, outputs):
    """The graph again with float64 in place of float32: {id of result: its reference}."""
    table = {id(t): t.double() if t.dtype == torch.float32 else t for t in record.inputs}
    for function, args, kwargs, result, _, _ in record.calls:
        out = function(*[table.get(id(a), a) if isinstance(a, torch.Tensor) else a for a in args], **kwargs)
        table[id(result)] = out.double() if out.is_floating_point() else out
    return [table[id(t)] for t in outputs]


def test_random_graphs():
    seen = 0
    for seed in range(GRAPHS):
        rng = random.Random(seed)
        torch.manual_seed(seed)
        record, inputs, outputs = random_graph(rng)
        references = in_double(record, outputs)
        for name in ("vulkan", "vulkan_eager"):
            plan = record.plan(name, *outputs)
            seen += plan.info["plan"] == name
            for call in range(3):
                before = clone_all(inputs)
                for i, (got, eager, reference) in enumerate(zip(plan(*inputs), outputs, references)):
                    if eager.is_floating_point():
                        # A comparison or floor that tips over in float32 but not in float64 says nothing of the kernel.
                        same = torch.equal(torch.isfinite(reference), torch.isfinite(eager)) and torch.allclose(
                            reference, eager.double(), 1e-4, 1e-4, equal_nan=True)
                        check(f"seed {seed} {name} output {i}", got, eager, reference if same else None,
                              len(record.calls))
                    else:
                        check(f"seed {seed} {name} output {i}", got, eager)
                assert all(torch.equal(a, b) or a.is_floating_point() for a, b in zip(before, inputs))
    assert seen >= 1.9 * GRAPHS, f"only {seen} of {2 * GRAPHS} plans ran on the device"


def test_fusion():
    x = torch.randn(64, 64)
    record = Recorder(x)
    y = record(torch.relu, record(torch.add, record(torch.mul, x, 2.0), 1.0))
    fused, single = record.plan("vulkan", y), record.plan("vulkan_eager", y)
    assert len(fused.info["kernels"]) == 1 and len(single.info["kernels"]) == 3
    before = bl.stats()
    fused(x)
    middle = bl.stats()
    single(x)
    after = bl.stats()
    assert middle["dispatches"] - before["dispatches"] == 1 and after["dispatches"] - middle["dispatches"] == 3
    assert middle["submits"] - before["submits"] <= 2 and after["submits"] - middle["submits"] >= 3
    assert "void main()" in fused.info["kernels"][0][3]


def test_times():
    x = torch.randn(256, 256)
    record = Recorder(x)
    plan = record.plan("vulkan", record(torch.exp, record(torch.mul, x, 0.5)))
    plan(x)
    assert plan.info["times_us"] == [-1]
    bl.timestamps(True)
    plan(x)
    assert plan.info["times_us"][0] > 0
    bl.timestamps(False)


main(globals())
