# SPDX-License-Identifier: GPL-3.0-or-later
"""Graphs from explicit calls on real tensors, and the comparison that the design asks of float results."""
import copy
import sys

import torch

sys.path.insert(0, sys.argv[1])
import _bl_vulkan_test as bl  # noqa: E402

assert bl.initialize(), "the C interface of torch did not load"

linear = torch._C._nn.linear


class Recorder:
    """Calls made through it become graph nodes. `inputs` are the graph's inputs."""

    def __init__(self, *inputs):
        self.inputs = list(inputs)
        self.calls = []

    def __call__(self, function, *args, row=None, mutates=False, **kwargs):
        with torch.no_grad():
            result = function(*args, **kwargs)
        self.calls.append((function, args, kwargs, result, mutates, row))
        return result

    def plan(self, name, *outputs, needs_grad=False):
        return Plan(bl.make_plan(self.inputs, self.calls, list(outputs), name, needs_grad))


class Plan:
    def __init__(self, handle):
        self.handle = handle

    def __call__(self, *inputs):
        return bl.run(self.handle, list(inputs))

    @property
    def info(self):
        return bl.info(self.handle)

    @property
    def devices(self):
        return [kernel[1] for kernel in self.info["kernels"]]


def clone_all(tensors):
    """Deep copies that keep aliasing among them."""
    return copy.deepcopy(tensors, {})


def eager_error(reference, eager):
    finite = torch.isfinite(reference)
    if not finite.any():
        return 0.0
    return float((eager.double()[finite] - reference[finite]).abs().max())


def difference(got, eager, reference=None, steps=1):
    """'' when `got` counts as equal to `eager`, else what differs. `reference`: the same in float64, when there is one.
    `steps`: ops in a row; each may add an error of its own, and eager's can cancel by luck."""
    if type(got) is not type(eager):
        return f"type {type(got)} for {type(eager)}"
    if got.dtype != eager.dtype or got.shape != eager.shape or got.stride() != eager.stride():
        return f"{got.dtype}{tuple(got.shape)}{got.stride()} for {eager.dtype}{tuple(eager.shape)}{eager.stride()}"
    if not eager.dtype.is_floating_point:
        return "" if torch.equal(got, eager) else f"{got} for {eager}"
    if eager.numel() == 0:
        return ""
    if not torch.equal(torch.isnan(got), torch.isnan(eager)):
        return f"NaN at other places: {got} for {eager}"
    infinite = torch.isinf(got) | torch.isinf(eager)
    if not torch.equal(got[infinite], eager[infinite]):
        return f"infinities at other places: {got[infinite]} for {eager[infinite]}"
    finite = torch.isfinite(eager)
    if not finite.any():
        return ""
    if reference is not None:
        scale = float(reference[torch.isfinite(reference)].abs().max()) if torch.isfinite(reference).any() else 0.0
        ulp = float(torch.finfo(eager.dtype).eps) * max(scale, float(torch.finfo(eager.dtype).tiny))
        allowed = max(2 * eager_error(reference, eager), 4 * ulp * steps)
        both = torch.isfinite(reference) & finite
        error = float((got.double()[both] - reference[both]).abs().max()) if both.any() else 0.0
        if error > allowed:
            return f"error {error:.3g} where {allowed:.3g} is allowed (eager's own {eager_error(reference, eager):.3g})"
        return ""
    try:
        torch.testing.assert_close(got, eager, equal_nan=True)
    except AssertionError as error:
        return str(error)
    return ""


def check(name, got, eager, reference=None, steps=1):
    why = difference(got, eager, reference, steps)
    assert not why, f"{name}: {why}"


def main(namespace):
    """Runs the test_* functions of a script under the validation layer; its messages and leaks are failures."""
    failures = 0
    torch.set_num_threads(1)
    options = dict(argument.split("=") for argument in sys.argv[2:])
    bl.options(validation=True, **{key: value == "1" for key, value in options.items()})
    device = bl.device()
    if not device["available"]:
        print("skipped:", device["reason"])
        sys.exit(77)
    assert device["validation"]
    count = 0
    for name, function in list(namespace.items()):
        if not name.startswith("test_"):
            continue
        torch.manual_seed(0)
        count += 1
        try:
            function()
        except Exception as error:  # every test is run and named
            failures += 1
            print(f"FAILED {name}: {type(error).__name__}: {str(error)[:2000]}")
    bl.shutdown()  # objects still alive are reported here
    for message in bl.messages()[:5]:
        failures += 1
        print("validation:", message)
    print(f"{device['name']}: {count} tests, {failures} failures")
    sys.exit(1 if failures else 0)
