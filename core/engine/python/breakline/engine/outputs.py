# SPDX-License-Identifier: GPL-3.0-or-later
"""What a call gave back, and how two such results differ."""

import torch

_TOLERANCE = {
    torch.float64: (1e-7, 1e-7),
    torch.float32: (1.3e-6, 1e-5),
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
}


def flatten(value, out=None, depth=0):
    """The tensors and plain values in a result, in order."""
    out = [] if out is None else out
    if isinstance(value, torch.Tensor):
        out.append(value.detach().clone())
    elif isinstance(value, dict) and depth < 8:
        for key in value:
            out.append(str(key))
            flatten(value[key], out, depth + 1)
    elif isinstance(value, (list, tuple)) and depth < 8:
        for item in value:
            flatten(item, out, depth + 1)
    elif isinstance(value, (type(None), bool, int, float, complex, str, bytes)):
        out.append(value)
    else:
        out.append(type(value).__qualname__)
    return out


def _compare_tensor(expected, got):
    """(equal bit for bit, within tolerance, largest absolute and relative error)."""
    if expected.shape != got.shape or expected.dtype != got.dtype:
        return False, False, None, None
    if not expected.is_floating_point() and not expected.is_complex():
        same = bool(torch.equal(expected, got))
        return same, same, 0.0 if same else None, 0.0 if same else None
    if expected.is_complex():
        expected, got = torch.view_as_real(expected), torch.view_as_real(got)
    if expected.numel() == 0:
        return True, True, 0.0, 0.0
    a, b = expected.double(), got.double()
    both_nan = a.isnan() & b.isnan()
    identical = both_nan | ((a == b) & (a.signbit() == b.signbit()))
    if bool(identical.all()):
        return True, True, 0.0, 0.0
    relative, absolute = _TOLERANCE.get(expected.dtype, (1.3e-6, 1e-5))
    close = bool(torch.isclose(b, a, rtol=relative, atol=absolute, equal_nan=True).all())
    finite = a.isfinite() & b.isfinite()
    if not bool(finite.any()):
        return False, close, None, None
    difference = (a - b).abs()[finite]
    scale = a.abs()[finite].clamp_min(torch.finfo(torch.float64).tiny)
    return False, close, float(difference.max()), float((difference / scale).max())


def compare(expected, got):
    """How one arm's outputs differ from eager's, as fields of an arm's entry."""
    if len(expected) != len(got):
        return {"equal": False, "max_abs_err": None, "max_rel_err": None, "error_note": "differs: another number of outputs"}
    exact, close, worst_abs, worst_rel, where = True, True, 0.0, 0.0, None
    for number, (a, b) in enumerate(zip(expected, got)):
        if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
            same, near, absolute, relative = _compare_tensor(a, b)
        else:
            same = type(a) is type(b) and (a == b or (a != a and b != b))
            near, absolute, relative = same, 0.0 if same else None, 0.0 if same else None
        exact, close = exact and same, close and near
        if not near and where is None:
            where = number
        worst_abs = None if absolute is None or worst_abs is None else max(worst_abs, absolute)
        worst_rel = None if relative is None or worst_rel is None else max(worst_rel, relative)
    note = "bit for bit" if exact else "within tolerance" if close else f"differs in output {where}"
    return {"equal": close, "max_abs_err": worst_abs, "max_rel_err": worst_rel, "error_note": note}


def errors_against(reference, outputs):
    """(largest absolute error, the same as a share of the largest value) of floating outputs against a run in double precision;
    (None, None) when the two are not alike."""
    if len(reference) != len(outputs):
        return None, None
    worst, share = 0.0, 0.0
    for a, b in zip(reference, outputs):
        if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
            continue
        if a.shape != b.shape:
            return None, None
        if not b.is_floating_point() or not a.numel():
            continue
        a, b = a.double(), b.double()
        finite = a.isfinite() & b.isfinite()
        if not bool(finite.any()):
            continue
        off = float((a - b).abs()[finite].max())
        worst = max(worst, off)
        largest = float(a.abs()[finite].max())
        share = max(share, off / largest if largest else (0.0 if off == 0 else float("inf")))
    return worst, share
