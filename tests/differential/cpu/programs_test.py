# SPDX-License-Identifier: GPL-3.0-or-later
"""Random pointwise programs over shapes, strides, broadcasts and dtypes: cpu plan against eager and float64, guard zones around
every buffer that torch does not allocate, and the plan's own rules (order of writes, failures, reentrance, threads)."""
import argparse
import random
import sys
import threading
import warnings

import torch

from tape import FLOATS, Tape, difference, load_extension, sample, same_bits, scalar_numbers

N = torch._C._nn
SHAPES = [(), (1,), (7,), (0,), (3, 0, 2), (5, 16), (33,), (4, 3, 9), (2, 3, 4, 5), (1, 17), (64, 48), (1000,), (3, 1, 31), (130, 7),
          (2, 8, 7, 7)]
# name, callable, row: functions of floats that are smooth, so that their error may be passed on.
SMOOTH = [("Exp", torch.exp), ("Tanh", torch.tanh), ("Sigmoid", torch.sigmoid), ("GeluErf", N.gelu), ("Silu", N.silu),
          ("Erf", torch.erf), ("Sin", torch.sin), ("Cos", torch.cos), ("Softplus", N.softplus), ("Atan", torch.atan),
          ("Neg", torch.neg), ("Abs", torch.abs), ("Relu", torch.relu), ("LeakyRelu", N.leaky_relu), ("Square", torch.square),
          ("Mish", N.mish), ("Hardswish", N.hardswish), ("Elu", N.elu)]
ARITHMETIC = [("Add", torch.add), ("Sub", torch.sub), ("Mul", torch.mul), ("Min", torch.minimum), ("Max", torch.maximum)]
# Of exact operands only: they jump.
JUMPS = [("Eq", torch.eq), ("Lt", torch.lt), ("Ge", torch.ge), ("Ne", torch.ne)]
INTEGER = [("Add", torch.add), ("Sub", torch.sub), ("Mul", torch.mul), ("BitXor", torch.bitwise_xor), ("BitAnd", torch.bitwise_and),
           ("Min", torch.minimum), ("Max", torch.maximum)]


def strided(shape, dtype, generator, rng):
    """A tensor of `shape`, often not contiguous: a slice, a transpose, an expanded or offset view."""
    form = rng.randrange(6)
    if form == 1 and len(shape) >= 2:
        turned = shape[:-2] + (shape[-1], shape[-2])
        return sample(dtype, turned, generator).transpose(-1, -2)
    if form == 2 and shape:
        return sample(dtype, shape[:-1] + (shape[-1] * 2 + 1,), generator)[..., 1::2][..., : shape[-1]]
    if form == 3 and shape:
        return sample(dtype, shape[:-1] + (1,), generator).expand(shape)
    if form == 4 and shape:
        return sample(dtype, (shape[0] + 2,) + shape[1:], generator)[1:-1]
    if form == 5 and len(shape) == 4:
        return sample(dtype, shape, generator).contiguous(memory_format=torch.channels_last)
    return sample(dtype, shape, generator)


def narrowed(shape, rng):
    """A shape that broadcasts to `shape`."""
    cut = tuple(1 if rng.random() < 0.4 else n for n in shape)
    return cut[rng.randrange(len(cut) + 1):] if cut and rng.random() < 0.4 else cut


class Program:
    def __init__(self, seed, scalar):
        rng = self.rng = random.Random(seed)
        generator = torch.Generator().manual_seed(seed)
        self.scalar = scalar
        self.dtype = rng.choice([torch.float32] * 6 + [torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.int32,
                                                       torch.uint8, torch.int8])
        shape = rng.choice(SHAPES)
        inputs = []
        for _ in range(rng.randint(1, 4)):
            part = shape if rng.random() < 0.6 else narrowed(shape, rng)
            inputs.append(strided(part, self.dtype, generator, rng))
        self.tape = Tape(inputs)
        self.exact = {id(x): True for x in inputs}
        self.bools = []
        self.values = list(inputs)
        for _ in range(rng.randint(2, 12)):
            self.step()
        results = [r for r in self.tape.results if isinstance(r, torch.Tensor)]
        self.outputs = rng.sample(results, min(len(results), rng.randint(1, 3)))
        if results[-1] not in [o for o in self.outputs if o is results[-1]]:
            self.outputs.append(results[-1])

    def do(self, name, function, *args, exact=True, **kwargs):
        operands = [a for a in args if isinstance(a, torch.Tensor)]
        result = self.tape.call(function, *args, row=name.lower(), scalar=self.scalar[name], **kwargs)
        self.exact[id(result)] = exact and all(self.exact[id(a)] for a in operands)
        (self.bools if result.dtype == torch.bool else self.values).append(result)
        return result

    def step(self):
        rng = self.rng
        x, y = rng.choice(self.values), rng.choice(self.values)
        kind = rng.randrange(8)
        floating = x.is_floating_point() and y.is_floating_point()
        both_exact = self.exact[id(x)] and self.exact[id(y)]
        if kind == 0 and both_exact:
            name, function = rng.choice(JUMPS)
            self.do(name, function, x, y)
        elif kind == 1 and self.bools:
            self.do("Where", torch.where, rng.choice(self.bools), x, y)
        elif kind == 2:
            self.do("Clamp", torch.clamp, x, -2, 3)
        elif kind == 3 and self.dtype.is_floating_point and x.is_floating_point():
            to = rng.choice([t for t in (torch.float32, torch.float64, torch.bfloat16) if t != x.dtype])
            if self.exact[id(x)]:
                self.do("Cast", torch.Tensor.to, x, to)
        elif not floating:
            name, function = rng.choice(INTEGER)
            if rng.random() < 0.3:
                self.do("Mul", torch.mul, x, 3)
            elif x.is_floating_point() or y.is_floating_point():
                self.do("Add", torch.add, x, y)
            else:
                self.do(name, function, x, y)
        elif kind < 6:
            name, function = rng.choice(ARITHMETIC)
            # Which zero wins between 0.0 and -0.0 depends on the element's place in eager.
            extremum = name in ("Min", "Max")
            self.do(name, function, x, y if rng.random() < 0.8 or extremum else 0.37, exact=not extremum)
        else:
            name, function = rng.choice(SMOOTH)
            self.do(name, function, x, exact=name in ("Neg", "Abs", "Relu", "LeakyRelu", "Square"))


def check_program(extension, seed, scalar):
    program = Program(seed, scalar)
    tape, outputs = program.tape, program.outputs
    before = [x.clone() for x in tape.inputs]
    plan = tape.plan(extension, outputs)
    wides = tape.replay_wide(outputs)
    kernels = [k for k in extension.info(plan)["kernels"] if k[1] == "cpu"]
    for run in range(2):
        got = extension.run(plan, tape.inputs)
        for i, (g, e, w) in enumerate(zip(got, outputs, wides)):
            # Errors pass through the rest of the program: the tolerance is that of the largest element.
            fault = difference(g, e, w.double(), program.exact[id(e)], whole=True)
            if fault:
                names = [c[5] for c in tape.calls]
                return f"program {seed} output {i} run {run}: {fault}\n  {names}\n{extension.schedule(plan)}", kernels
    for x, y in zip(tape.inputs, before):
        if not same_bits(x, y):
            return f"program {seed}: an input was changed", kernels
    return None, kernels


def guard_zones(extension, scalar):
    """Inputs lie inside larger buffers; what a kernel writes beyond its outputs or reads beyond its inputs would show."""
    for count in list(range(0, 70)) + [255, 1000]:
        for dtype in (torch.float32, torch.int8, torch.bfloat16, torch.float64):
            room = torch.full((count + 128,), 77, dtype=torch.float64).to(dtype)
            x = room[64: 64 + count]
            x.copy_(torch.arange(count) % 50)
            tape = Tape([x])
            a = tape.call(torch.mul, x, 2, row="mul", scalar=scalar["Mul"])
            b = tape.call(torch.neg, a, row="neg", scalar=scalar["Neg"])
            # A write into the middle of an outer buffer goes through an extern copy_ of the kernel's result.
            out = torch.full((count + 128,), 55, dtype=torch.float64).to(dtype)
            plan = tape.plan(extension, [a, b])
            got = extension.run(plan, [x])
            out[64: 64 + count] = got[1]
            assert same_bits(got[0], x * 2) and same_bits(got[1], -(x * 2)), (count, dtype)
            assert bool((room[:64] == 77).all()) and bool((room[64 + count:] == 77).all()), "input's surroundings changed"
    print("guard zones: fine")


def writes(extension, scalar):
    """In-place nodes keep their place between kernels that read the same memory."""
    x = torch.arange(40.0).reshape(5, 8)
    tape = Tape([x.clone()])
    t = tape.inputs[0]
    a = tape.call(torch.mul, t, 2, row="mul", scalar=scalar["Mul"])
    b = tape.call(torch.add, a, 1, row="add", scalar=scalar["Add"])
    view = tape.call(torch.Tensor.view, t, 40)
    tape.call(torch.Tensor.add_, view, 100, mutates=True)
    c = tape.call(torch.mul, t, 3, row="mul", scalar=scalar["Mul"])
    d = tape.call(torch.add, c, a, row="add", scalar=scalar["Add"])
    tape.call(torch.Tensor.mul_, d, 10, mutates=True)
    e = tape.call(torch.sub, d, b, row="sub", scalar=scalar["Sub"])
    f = tape.call(torch.neg, e, row="neg", scalar=scalar["Neg"])
    plan = tape.plan(extension, [b, d, f, t])
    mine, theirs = x.clone(), x.clone()
    got = extension.run(plan, [mine])
    want = extension.run(tape.plan(extension, [b, d, f, t], "replay"), [theirs])
    for g, w in zip(got, want):
        assert same_bits(g, w), extension.schedule(plan)
    assert got[3] is mine and same_bits(mine, theirs)
    assert any(k[1] == "cpu" for k in extension.info(plan)["kernels"]), extension.schedule(plan)
    print("writes: in order")


def failures(extension, scalar):
    """An extern node that raises: its index, its exception, and a plan that works again."""
    x, index = torch.randn(10), torch.tensor([1, 2, 3])
    tape = Tape([x, index])
    a = tape.call(torch.mul, x, 2, row="mul", scalar=scalar["Mul"])
    b = tape.call(torch.exp, a, row="exp", scalar=scalar["Exp"])
    c = tape.call(torch.index_select, b, 0, index)
    plan = tape.plan(extension, [c])
    try:
        extension.run(plan, [x, torch.tensor([1, 2, 30])])
    except (IndexError, RuntimeError) as error:
        assert "index" in str(error), error
    else:
        raise AssertionError("no error")
    assert torch.allclose(extension.run(plan, [x, index])[0], c)
    print("failures: raised, plan usable afterwards")


def reentrance(extension, scalar):
    """Threads and calls inside calls do not share scratch memory."""
    shape = (300, 301)
    x = torch.randn(shape)
    tape = Tape([x])
    a = tape.call(torch.mul, x, 2, row="mul", scalar=scalar["Mul"])
    b = tape.call(torch.add, a, 1, row="add", scalar=scalar["Add"])
    t = tape.call(torch.Tensor.sum, b)  # between the kernels: keeps them apart
    c = tape.call(torch.mul, b, t, row="mul", scalar=scalar["Mul"])
    d = tape.call(torch.neg, c, row="neg", scalar=scalar["Neg"])
    plan = tape.plan(extension, [d])
    wrong = []

    def work(seed):
        own = torch.randn(shape, generator=torch.Generator().manual_seed(seed))
        doubled = own * 2 + 1
        want = -(doubled * doubled.sum())
        for _ in range(20):
            if not torch.allclose(extension.run(plan, [own])[0], want):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong
    print("reentrance: fine")


def modes(extension, scalar):
    """Outputs are the kind of tensors that eager makes under inference mode and no_grad."""
    for mode in (torch.inference_mode, torch.no_grad):
        with mode():
            x = torch.nn.Parameter(torch.randn(12))
            tape = Tape([x])
            a = tape.call(torch.mul, x, 2, row="mul", scalar=scalar["Mul"])
            b = tape.call(torch.tanh, a, row="tanh", scalar=scalar["Tanh"])
            plan = tape.plan(extension, [b])
            (got,) = extension.run(plan, [x])
            assert any(kernel[1] == "cpu" for kernel in extension.info(plan)["kernels"])
            assert type(got) is torch.Tensor and not got.requires_grad
            assert got.is_inference() == b.is_inference(), mode
            assert torch.allclose(got, b)
    print("modes: fine")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--programs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    extension, scalar = load_extension(options.folder), scalar_numbers()
    for part in (guard_zones, writes, failures, reentrance, modes):
        part(extension, scalar)
    wrong, fused = 0, 0
    for seed in range(options.seed, options.seed + options.programs):
        fault, kernels = check_program(extension, seed, scalar)
        fused += bool(kernels)
        if fault:
            wrong += 1
            if wrong <= 8:
                print("FAIL", fault)
    print(f"{options.programs} programs, {fused} with kernels, {wrong} wrong, {extension.host()['compiled']} kernels compiled")
    assert fused >= options.programs * 0.8, "too few programs reached a kernel"
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
