# SPDX-License-Identifier: GPL-3.0-or-later
"""Input specifications: `[NAME=]SPEC`, where SPEC is `DTYPE[dims]`, `DTYPE[dims]<BOUND`, either with a trailing `!` for
requires-grad, or a Python literal."""

import ast
import re
from dataclasses import dataclass

from .faults import bad_input

DTYPES = {
    "f64": "float64",
    "f32": "float32",
    "f16": "float16",
    "bf16": "bfloat16",
    "i64": "int64",
    "i32": "int32",
    "i16": "int16",
    "i8": "int8",
    "u8": "uint8",
    "bool": "bool",
}
_LARGEST = {"i64": 2**63 - 1, "i32": 2**31 - 1, "i16": 2**15 - 1, "i8": 127, "u8": 255}
_TENSOR = re.compile(r"\s*(?P<dtype>[A-Za-z]\w*)\s*\[(?P<dims>[^\]]*)\]\s*(?:<\s*(?P<bound>[^!\s]+))?\s*(?P<grad>!?)\s*")
_NAMED = re.compile(r"\s*([A-Za-z_]\w*)\s*=(?!=)(.*)", re.DOTALL)
_FORM = "write DTYPE[dims] as in f32[8,16], i64[2,8]<1000 or f32[4]!, or a Python literal"


@dataclass(frozen=True)
class TensorSpec:
    dtype: str
    dims: tuple
    bound: int | None = None
    requires_grad: bool = False


@dataclass(frozen=True)
class LiteralSpec:
    value: object


def _wrong(text, why):
    return bad_input("bad_input", f"'{text}' is no input: {why}.")


def parse_spec(text):
    """A TensorSpec or LiteralSpec. Raises a Fault with one sentence."""
    match = _TENSOR.fullmatch(text)
    if match:
        return _tensor_spec(text, match)
    if text.strip().rstrip("!") in DTYPES:
        raise _wrong(text, f"the dimensions are missing, as in {text.strip().rstrip('!')}[8,16] ({text.strip().rstrip('!')}[] is a scalar)")
    try:
        return LiteralSpec(ast.literal_eval(text.strip()))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise _wrong(text, _FORM) from None


def _tensor_spec(text, match):
    dtype, bound = match["dtype"], match["bound"]
    if dtype not in DTYPES:
        raise _wrong(text, f"{dtype} is none of the types {' '.join(DTYPES)}")
    dims = []
    for part in match["dims"].split(",") if match["dims"].strip() else []:
        if not part.strip().isdigit():
            raise _wrong(text, f"the dimension '{part.strip()}' is not a whole number")
        dims.append(int(part))
    if match["grad"] and dtype not in ("f64", "f32", "f16", "bf16"):
        raise _wrong(text, f"only floating-point tensors can require grad (!), not {dtype}")
    if bound is not None:
        if dtype not in _LARGEST:
            raise _wrong(text, f"a bound (<{bound}) is for integers only, not for {dtype}")
        if not bound.isdigit() or int(bound) < 1:
            raise _wrong(text, f"the bound '{bound}' is not a whole number above 0")
        if int(bound) - 1 > _LARGEST[dtype]:
            raise _wrong(text, f"the bound {bound} is beyond {dtype}")
        bound = int(bound)
    return TensorSpec(dtype, tuple(dims), bound, bool(match["grad"]))


def parse(texts):
    """(positional specs, {name: spec}) of `--input` texts. Raises a Fault."""
    positional, named = [], {}
    for text in texts:
        match = _NAMED.fullmatch(text)
        if match is None:
            if named:
                raise _wrong(text, "inputs without a name must stand before those with one")
            positional.append(parse_spec(text))
        elif match[1] in named:
            raise _wrong(text, f"the input {match[1]} is given twice")
        else:
            named[match[1]] = parse_spec(match[2])
    return positional, named


def build(specs, seed):
    """(args, kwargs) for what `parse` returned: floats are randn, integers 0..9 unless bounded, from one generator."""
    import torch

    generator = torch.Generator().manual_seed(seed)

    def make(spec):
        if isinstance(spec, LiteralSpec):
            return spec.value
        dtype = getattr(torch, DTYPES[spec.dtype])
        try:
            if spec.dtype == "bool":
                return torch.randint(0, 2, spec.dims, generator=generator).to(dtype)
            if spec.dtype in _LARGEST:
                return torch.randint(0, spec.bound or 10, spec.dims, generator=generator, dtype=torch.int64).to(dtype)
            value = torch.randn(spec.dims, generator=generator, dtype=dtype)
        except (RuntimeError, MemoryError) as error:
            shape = ",".join(map(str, spec.dims))
            reason = str(error).splitlines()[0]
            raise bad_input("bad_input", f"The input {spec.dtype}[{shape}] can't be made: {reason}") from None
        return value.requires_grad_() if spec.requires_grad else value

    positional, named = specs
    return [make(spec) for spec in positional], {name: make(spec) for name, spec in named.items()}
