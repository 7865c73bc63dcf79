# SPDX-License-Identifier: GPL-3.0-or-later
"""Every scalar function alone, all dtypes, at edge values and random ones: bits of integers and casts, 4 ulp for floats."""
import sys
import warnings

import torch

from tape import FLOATS, Tape, difference, load_extension, sample, scalar_numbers, specials

N = torch._C._nn
INTS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
ALL = FLOATS + INTS + (torch.bool,)
UNARY = {
    "Neg": torch.neg, "Abs": torch.abs, "Sign": torch.sign, "Reciprocal": torch.reciprocal, "Sqrt": torch.sqrt,
    "Rsqrt": torch.rsqrt, "Square": torch.square, "Exp": torch.exp, "Exp2": torch.exp2, "Expm1": torch.expm1,
    "Log": torch.log, "Log2": torch.log2, "Log10": torch.log10, "Log1p": torch.log1p, "Sin": torch.sin, "Cos": torch.cos,
    "Tan": torch.tan, "Tanh": torch.tanh, "Sinh": torch.sinh, "Cosh": torch.cosh, "Atan": torch.atan, "Erf": torch.erf,
    "Sigmoid": torch.sigmoid, "LogSigmoid": N.log_sigmoid, "Softplus": N.softplus, "Relu": torch.relu,
    "Relu6": N.relu6, "LeakyRelu": N.leaky_relu, "Elu": N.elu, "GeluErf": N.gelu, "Silu": N.silu, "Mish": N.mish,
    "Hardtanh": N.hardtanh, "Hardsigmoid": N.hardsigmoid, "Hardswish": N.hardswish, "Floor": torch.floor,
    "Ceil": torch.ceil, "Round": torch.round, "Trunc": torch.trunc, "LogicalNot": torch.logical_not,
    "BitNot": torch.bitwise_not, "IsNan": torch.isnan, "IsInf": torch.isinf, "IsFinite": torch.isfinite,
    "Copy": torch.clone,
}
BINARY = {
    "Add": torch.add, "Sub": torch.sub, "Mul": torch.mul, "Div": torch.div, "FloorDiv": torch.floor_divide,
    "Remainder": torch.remainder, "Pow": torch.pow, "Min": torch.minimum, "Max": torch.maximum, "Eq": torch.eq,
    "Ne": torch.ne, "Lt": torch.lt, "Le": torch.le, "Gt": torch.gt, "Ge": torch.ge, "LogicalAnd": torch.logical_and,
    "LogicalOr": torch.logical_or, "LogicalXor": torch.logical_xor, "BitAnd": torch.bitwise_and,
    "BitOr": torch.bitwise_or, "BitXor": torch.bitwise_xor, "Shl": torch.bitwise_left_shift,
    "Shr": torch.bitwise_right_shift,
}
# Functions whose float results are the same bits in any correct implementation.
EXACT = set("Neg Abs Sign Reciprocal Square Relu Relu6 Hardtanh Floor Ceil Round Trunc Copy Add Sub Mul Div FloorDiv "
            "Remainder Min Max".split())


class Suite:
    def __init__(self, extension, all_pairs):
        self.extension, self.all_pairs, self.pairs = extension, all_pairs, 0
        self.scalar = scalar_numbers()
        self.generator = torch.Generator().manual_seed(7)
        self.failures, self.fused, self.extern, self.refused = [], 0, {}, 0

    def check(self, label, name, function, args, kwargs=None, exact=None, row=None):
        """`function(*args)` followed by a clone, so that there is a group; both results are compared."""
        kwargs = kwargs or {}
        tape = Tape([a for a in args if isinstance(a, torch.Tensor)])
        try:
            y = tape.call(function, *args, row=row or name.lower(), scalar=self.scalar[name], **kwargs)
        except (RuntimeError, NotImplementedError, TypeError):
            self.refused += 1
            return
        z = tape.call(torch.clone, y, row="clone", scalar=self.scalar["Copy"])
        plan = tape.plan(self.extension, [y, z])
        info = self.extension.info(plan)
        if not any(kernel[1] == "cpu" for kernel in info["kernels"]):
            why = self.extension.schedule(plan).splitlines()[0].split(";")[-1].strip()
            self.extern.setdefault(name, {}).setdefault(why, []).append(label)
        else:
            self.fused += 1
        got = self.extension.run(plan, tape.inputs)
        try:
            wide = tape.replay_wide([y])[0]
        except (RuntimeError, NotImplementedError, TypeError):
            wide = y.double()
        wide = wide.double() if isinstance(wide, torch.Tensor) else y.double()
        exact = name in EXACT if exact is None else exact
        for result, eager in ((got[0], y), (got[1], z)):
            # Of float64 there is no better reference than eager: its elements count by the largest one.
            fault = difference(result, eager, wide, exact, whole=eager.dtype == torch.float64)
            if fault:
                self.failures.append(f"{label} {name}: {fault}")
                break

    def input(self, dtype, count=203):
        return torch.cat([specials(dtype), sample(dtype, (count,), self.generator)])

    def unary(self):
        for name, function in UNARY.items():
            for dtype in ALL:
                self.check(str(dtype), name, function, (self.input(dtype),))
        for dtype in FLOATS:
            x = self.input(dtype)
            self.check(f"{dtype} tanh form", "GeluErf", N.gelu, (x,), {"approximate": "tanh"}, row="gelu")
            self.check(f"{dtype} slope", "LeakyRelu", N.leaky_relu, (x, 0.2))
            self.check(f"{dtype} alpha", "Elu", N.elu, (x, 0.7))
            self.check(f"{dtype} beta", "Softplus", N.softplus, (x, 1.7, 3.0))
            self.check(f"{dtype} bounds", "Hardtanh", N.hardtanh, (x, -0.3, 2.0))

    def binary(self):
        for name, function in BINARY.items():
            for dtype in ALL:
                a, b = self.input(dtype), self.input(dtype).flip(0).contiguous()
                label = f"{dtype} tensors"
                self.check(label, name, function, (a, b))
                numbers = (3, -2, 0.75, True) if dtype.is_floating_point or dtype == torch.bool else (3, -3, 300, 0.5)
                for number in numbers:
                    self.check(f"{dtype} {number}", name, function, (a, number))
                for other in (torch.float32, torch.bfloat16, torch.int64, torch.float64, torch.uint8):
                    # Every pair of dtypes is a kernel to compile: one third of them, evenly spread, unless asked for.
                    self.pairs += 1
                    if other != dtype and (self.all_pairs or self.pairs % 3 == 0):
                        c = self.input(other)
                        k = min(len(a), len(c))
                        self.check(f"{dtype} with {other}", name, function, (a[:k].clone(), c[:k].clone()))
                        self.check(f"{dtype} with rank-0 {other}", name, function, (a, c[7].clone()))
        for dtype in FLOATS:
            x = self.input(dtype)
            for exponent in (0, 1, 2, 3, 0.5, -0.5, -1, -2, 1.7, 4, 0.25, 7):
                self.check(f"{dtype} ** {exponent}", "Pow", torch.pow, (x, exponent))
                self.check(f"{dtype} |x| ** {exponent}", "Pow", torch.pow, (x.abs(), exponent))
            for base in (2, 3.5, 0, 1):
                self.check(f"{base} ** {dtype}", "Pow", torch.pow, (base, x))
            for alpha in (2, -0.7):
                y = self.input(dtype).flip(0).contiguous()
                self.check(f"{dtype} alpha {alpha}", "Add", torch.add, (x, y), {"alpha": alpha}, exact=False)
                self.check(f"{dtype} alpha {alpha}", "Sub", torch.sub, (x, y), {"alpha": alpha}, exact=False)
            for mode in ("trunc", "floor"):
                self.check(f"{dtype} {mode}", "Div", torch.div, (x, y), {"rounding_mode": mode})
                self.check(f"{dtype} {mode} 0.3", "Div", torch.div, (x, 0.3), {"rounding_mode": mode})
        for dtype in INTS:
            x = self.input(dtype)
            for exponent in (0, 1, 2, 5, 64):
                self.check(f"{dtype} ** {exponent}", "Pow", torch.pow, (x, exponent))
            for number in (1, 7, -7, 100):
                for mode in ("trunc", "floor"):
                    self.check(f"{dtype} {mode} {number}", "Div", torch.div, (x, number), {"rounding_mode": mode})
                self.check(f"{dtype} // {number}", "FloorDiv", torch.floor_divide, (x, number))
                self.check(f"{dtype} % {number}", "Remainder", torch.remainder, (x, number))
            for shift in (0, 1, 7, 8, 31, 63, 64, -1):
                self.check(f"{dtype} << {shift}", "Shl", torch.bitwise_left_shift, (x, shift))
                self.check(f"{dtype} >> {shift}", "Shr", torch.bitwise_right_shift, (x, shift))
            self.check(f"{dtype} alpha", "Add", torch.add, (x, x.flip(0).contiguous()), {"alpha": 3})

    def ternary(self):
        for dtype in ALL:
            x, y, z = self.input(dtype), self.input(dtype).flip(0).contiguous(), self.input(dtype).roll(3)
            cond = self.input(torch.bool, len(x) - 3)
            self.check(str(dtype), "Where", torch.where, (cond, x, y))
            self.check(f"{dtype} number", "Where", torch.where, (cond, x, 2))
            self.check(f"{dtype} float", "Where", torch.where, (cond, 0.1, x))
            self.check(f"{dtype} method", "Where", torch.Tensor.where, (x, cond, y))
            for low, high in ((-1, 3), (None, 2), (1, None), (0.25, 0.5), (float("nan"), 1)):
                self.check(f"{dtype} {low}..{high}", "Clamp", torch.clamp, (x, low, high), exact=True)
            self.check(f"{dtype} tensors", "Clamp", torch.clamp, (x, y, z), exact=True)
            self.check(str(dtype), "Clamp", torch.clamp_min, (x, 1), row="clamp_min", exact=True)
            self.check(str(dtype), "Clamp", torch.clamp_max, (x, 1), row="clamp_max", exact=True)
            self.check(str(dtype), "Lerp", torch.lerp, (x, y, 0.3), exact=False)
            self.check(str(dtype), "Lerp", torch.lerp, (x, y, z), exact=False)
            self.check(str(dtype), "Addcmul", torch.addcmul, (x, y, z), exact=False)
            self.check(f"{dtype} value", "Addcmul", torch.addcmul, (x, y, z), {"value": 3}, exact=False)
            self.check(str(dtype), "Addcdiv", torch.addcdiv, (x, y, z), {"value": 0.5}, exact=False)

    def casts(self):
        for dtype in ALL:
            x = self.input(dtype)
            for to in ALL:
                self.check(f"{dtype} to {to}", "Cast", torch.Tensor.to, (x, to), exact=True)

    def reversed_forms(self):
        for dtype in ALL:
            x = self.input(dtype)
            for name, method in (("Sub", "__rsub__"), ("Div", "__rtruediv__"), ("FloorDiv", "__rfloordiv__"),
                                 ("Pow", "__rpow__"), ("Remainder", "__rmod__"), ("Mul", "__rmul__"), ("Add", "__radd__")):
                for number in (3, 0.5):
                    self.check(f"{dtype} {method} {number}", name, getattr(torch.Tensor, method), (x, number), row=method)
            self.check(f"{dtype} rsub", "Sub", torch.rsub, (x, 3), row="rsub")


def main(folder, *flags):
    warnings.simplefilter("ignore")
    suite = Suite(load_extension(folder), "--all" in flags)
    for part in (suite.unary, suite.binary, suite.ternary, suite.casts, suite.reversed_forms):
        part()
    for failure in suite.failures[:60]:
        print("FAIL", failure)
    for name, reasons in sorted(suite.extern.items()):
        for why, labels in reasons.items():
            print(f"extern {name}: {why} ({len(labels)}: {labels[0]}, …)")
    print(f"{suite.fused} calls in kernels, {sum(len(l) for r in suite.extern.values() for l in r.values())} left to torch, "
          f"{suite.refused} refused by eager, {len(suite.failures)} wrong")
    # Coverage must not sink without notice.
    assert suite.fused >= 1000, "too few calls reached a kernel"
    return 1 if suite.failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
