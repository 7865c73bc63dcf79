# SPDX-License-Identifier: GPL-3.0-or-later
"""Random calls of pointwise, comparison and logical ops."""
import operator

import torch
from harness import ANY, REAL

UNARY = """neg abs sign sgn floor ceil round trunc frac square reciprocal sqrt rsqrt exp exp2 expm1 log log2 log10 log1p
sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh erf erfc erfinv lgamma digamma sigmoid logit relu selu celu
hardshrink isnan isinf isfinite logical_not bitwise_not""".split()
UNARY_NN = """log_sigmoid softplus relu6 leaky_relu elu gelu silu mish hardtanh hardsigmoid hardswish softshrink""".split()
BINARY = """add sub mul div floor_divide remainder fmod pow maximum minimum atan2 eq ne lt le gt ge logical_and logical_or
logical_xor bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift rsub""".split()
OPERATORS = """add sub mul truediv floordiv mod pow and_ or_ xor lshift rshift eq ne lt le gt ge iadd isub imul itruediv
ifloordiv imod ipow iand ior ixor ilshift irshift""".split()
REFLECTED = """__rsub__ __rtruediv__ __rpow__ __rmod__ __rfloordiv__ __radd__ __rmul__ __rlshift__ __rand__ __ror__""".split()


def cases(m):
    tensor = torch.Tensor

    def in_place(name, args, kwargs):
        method = getattr(tensor, name + "_", None)
        if method is not None and isinstance(args[0], torch.Tensor):
            yield name + "_", method, args, kwargs

    for n in UNARY:
        dtype = m.rng.choice(ANY)
        yield n, getattr(torch, n), [m.tensor(m.sizes(), dtype)], {}
        yield from in_place(n, [m.tensor(m.sizes(), dtype)], {})
    for n in UNARY_NN:
        dtype = m.rng.choice(ANY)
        yield n, getattr(torch._C._nn, n), [m.tensor(m.sizes(), dtype)], {}
        if hasattr(torch._C._nn, n + "_"):
            yield n + "_", getattr(torch._C._nn, n + "_"), [m.tensor(m.sizes(), dtype)], {}
    for n in BINARY * 3:
        s = m.sizes()
        x = m.tensor(s, m.rng.choice(ANY))
        args = [x, m.tensor(m.broadcastable(s), m.rng.choice(ANY) if m.chance(0.6) else x.dtype)]
        if m.chance(0.25):
            args[1] = m.rng.choice([2, 1.5, True, 0])
        elif m.chance(0.1):
            args[0] = m.rng.choice([2, 1.5, True])
        elif m.chance(0.2):
            args[1] = x
        kwargs = {}
        if n in ("add", "sub", "rsub") and m.chance(0.2):
            kwargs = {"alpha": m.rng.choice([2, 0.5])}
        if n == "div" and m.chance(0.3):
            kwargs = {"rounding_mode": m.rng.choice(["floor", "trunc", None])}
        yield n, getattr(torch, n), args, kwargs
        yield from in_place(n, args, kwargs)
    for n in OPERATORS:
        s = m.sizes()
        args = [m.tensor(s, m.rng.choice(ANY)), m.tensor(m.broadcastable(s), m.rng.choice(ANY))]
        if m.chance(0.4):
            args[1] = m.rng.choice([2, 1.5, True, 0])
        elif m.chance(0.3) and n[0] != "i":
            args[0] = m.rng.choice([2, 1.5, True])
        yield "operator." + n, getattr(operator, n), args, {}
    for n in REFLECTED:
        s = m.sizes()
        other = m.rng.choice([2, 1.5, True, m.tensor(m.broadcastable(s), m.rng.choice(ANY))])
        yield n, getattr(tensor, n), [m.tensor(s, m.rng.choice(ANY)), other], {}
    for _ in range(4):
        yield from several_operands(m)


def several_operands(m):
    s = m.sizes()
    x = m.tensor(s, m.rng.choice(ANY))

    def bound():
        return m.rng.choice([None, 1, 2.5])

    def other():
        return m.tensor(m.broadcastable(s), m.rng.choice(ANY))

    yield "clamp", torch.clamp, [x, bound(), bound()], {}
    yield "clamp_min", torch.clamp_min, [x, m.rng.choice([1, 0.5])], {}
    yield "clamp_max_", torch.clamp_max_, [x, m.rng.choice([1, 0.5])], {}
    yield "clamp_", torch.clamp_, [x], {"min": bound(), "max": bound()}
    yield "clamp", torch.clamp, [x, other(), m.rng.choice([None, other()])], {}
    condition = m.tensor(m.broadcastable(s), torch.bool)

    def branch():
        return m.rng.choice([other(), other(), other(), 1, 2.5, True])

    yield "where", torch.where, [condition, branch(), branch()], {}
    yield "where_method", torch.Tensor.where, [x, condition, branch()], {}
    dtype = m.rng.choice(REAL)
    x, end, weight = (m.tensor(sizes, dtype) for sizes in (s, m.broadcastable(s), m.broadcastable(s)))
    yield "lerp", torch.lerp, [x, end, m.rng.choice([weight, 0.5])], {}
    yield "lerp_", torch.Tensor.lerp_, [x, end, m.rng.choice([weight, 0.5])], {}

    def mixed():
        return m.tensor(m.broadcastable(s), m.rng.choice(ANY) if m.chance(0.4) else dtype)

    yield "addcmul", torch.addcmul, [mixed(), mixed(), mixed()], {"value": 0.5} if m.chance(0.4) else {}
    yield "addcdiv", torch.addcdiv, [mixed(), mixed(), mixed()], {}
    yield "addcmul_", torch.Tensor.addcmul_, [x, mixed(), mixed()], {}
