# SPDX-License-Identifier: GPL-3.0-or-later
"""Times the arms of one target from one recording. The rounds, the statistics and the verdicts are C++ (core/measure);
this file says what an arm runs and compares outputs."""

import os
import time

import torch

from .. import _native, report
from .faults import describe

_TOLERANCE = {
    torch.float64: (1e-7, 1e-7),
    torch.float32: (1.3e-6, 1e-5),
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
}

# id → (name, how the callable is made: None is the plain function, else options of the engine's compile)
ARMS = {
    "eager": ("Eager", None),
    "eager_aa": ("Eager, again", None),
    "cpu": ("Compiled, CPU", {"device": "cpu"}),
    "vulkan_eager": ("Eager, Vulkan", {"device": "vulkan_eager"}),
    "vulkan": ("Compiled, Vulkan", {"device": "vulkan"}),
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


def _blas():
    text = torch.__config__.show()
    for name, mark in (("MKL", "BLAS_INFO=mkl"), ("OpenBLAS", "BLAS_INFO=open"), ("BLIS", "BLAS_INFO=flame"), ("Accelerate", "BLAS_INFO=accelerate")):
        if mark in text:
            return name
    return "generic"


def _allocator():
    preload = os.environ.get("LD_PRELOAD", "")
    for name in ("jemalloc", "tcmalloc", "mimalloc"):
        if name in preload:
            return name
    tuned = [name for name in ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_ARENA_MAX") if name in os.environ]
    return "malloc" + (f" ({', '.join(tuned)} set)" if tuned else "")


def _load_note(cpus):
    load = os.getloadavg()[0]
    return f"load {load:.1f} on {cpus} CPUs" + (": other programs are running, expect noise" if load > 0.7 * cpus else "")


class Timer:
    """One `time` request."""

    def __init__(self, target, recording, devices, *, no_grad, progress, cancelled):
        self.target, self.recording, self.no_grad = target, recording, no_grad
        self.devices = {device["id"]: device for device in devices}
        self.progress, self.cancelled = progress, cancelled
        self.extension = _native.ready()
        self.plain_results = None

    def _arm(self, arm_id):
        """(entry of the report, callable or None)."""
        name, options = ARMS[arm_id]
        entry = {
            "id": arm_id,
            "name": name,
            "available": True,
            "reason": "",
            "samples_us": [],
            "median_us": None,
            "iqr_us": None,
            "n": 0,
            "compile_ms": 0.0,
            "break_even_calls": None,
            "ratio": None,
            "verdict": None,
            "equal": True,
            "max_abs_err": None,
            "max_rel_err": None,
            "error_note": "",
        }
        if options is None:
            return entry, self.target.function
        device = self.devices.get(options["device"].partition("_")[0], {"available": False, "reason": "this build has no such device"})
        if not device["available"]:
            entry.update(available=False, reason=device.get("reason") or "the device is not available", equal=False)
            return entry, None
        settings = dict(options, fullgraph=self.target.options["fullgraph"])
        if arm_id == "cpu" and self.target.options["plan"]:
            settings["plan"] = self.target.options["plan"]
        try:
            compiled = self.extension.compile(self.target.function, name=self.target.name, target_id=self.target.name, **settings)
        except (ValueError, RuntimeError) as error:
            entry.update(available=False, reason=str(error), equal=False)
            return entry, None
        return entry, compiled

    def _first_run(self, entry, function):
        """Runs an arm once from the recorded state: outputs, error, compile time."""
        recording = self.recording
        recording.restore()
        start = time.perf_counter_ns()
        try:
            result = function(*recording.args, **recording.kwargs)
        except Exception as error:
            entry.update(available=False, equal=False, reason=f"{describe(error)['type']}: {str(error).splitlines()[0] if str(error) else ''}")
            return False
        elapsed = (time.perf_counter_ns() - start) / 1e6
        outputs = flatten(result) + flatten(recording.args) + flatten(recording.kwargs)
        if entry["id"] == "eager":
            self.plain_results = outputs
            entry.update(error_note="the reference", max_abs_err=0.0, max_rel_err=0.0)
        elif self.plain_results is not None:
            entry.update(compare(self.plain_results, outputs))
        if function is not self.target.function:
            self._note_compilation(entry, function, elapsed)
        return True

    @staticmethod
    def _note_compilation(entry, compiled, elapsed):
        """Compile time of an arm, and which of its graphs did not run on its device and why."""
        segments = compiled.target_report()["segments"]
        entry["compile_ms"] = sum(s["trace_us"] + s["compile_us"] for s in segments) / 1e3 or elapsed
        wanted = ARMS[entry["id"]][1]["device"]
        graphs = [s for s in segments if s["ops"]]
        others = [s for s in graphs if s["plan"] not in (wanted, wanted.partition("_")[0])]
        if others:
            why = others[0]["plan_reason"] or f"plan {others[0]['plan']}"
            entry["reason"] = f"{len(others)} of {len(graphs)} graphs ran as {others[0]['plan']}: {why}"

    def run(self, arms, rounds, budget_s):
        """The `Timings` of core/protocol/README.md."""
        wanted = ["eager", "eager_aa", *[arm for arm in arms if arm not in ("eager", "eager_aa")]]
        recording = self.recording
        entries, runs = [], []
        with recording.staged(no_grad=self.no_grad):
            for arm_id in wanted:
                entry, function = self._arm(arm_id)
                self.progress(f"first run: {entry['name']}")
                entries.append(entry)
                if function is not None and self._first_run(entry, function):
                    runs.append((arm_id, self._runner(function), recording.restore))
            outcome = {"arms": [], "rounds": 0, "warmup": 0}
            if runs and runs[0][0] == "eager":
                self.progress(f"timing {len(runs)} arms")
                outcome = self.extension.measure_rounds(
                    runs, rounds=rounds, least_rounds=min(5, rounds), budget_s=budget_s, seed=0, cancelled=self.cancelled
                )
        return self._result(entries, outcome)

    def _runner(self, function):
        args, kwargs = self.recording.args, self.recording.kwargs
        if kwargs:
            return lambda: function(*args, **kwargs)
        return lambda: function(*args)

    def _result(self, entries, outcome):
        samples = {arm["id"]: arm["samples_us"] for arm in outcome["arms"]}
        baseline, again = samples.get("eager"), samples.get("eager_aa")
        warnings, noise = [], None
        if baseline:
            noise_pair = self.extension.measure_compare(baseline, again, baseline, again)["ratio"]
            noise = {"ratio": noise_pair["value"], "low": noise_pair["low"], "high": noise_pair["high"]}
            if not 0.9 <= noise["ratio"] <= 1.11:
                warnings.append(f"two runs of the same eager code differ by a factor of {noise['ratio']:.2f}: the machine is busy")
        for entry in entries:
            taken = samples.get(entry["id"])
            if not taken:
                continue
            result = self.extension.measure_compare(baseline, taken, baseline, again)
            summary = result["summary"]
            entry.update(samples_us=taken, median_us=summary["median"], iqr_us=[summary["q1"], summary["q3"]], n=summary["count"])
            if entry["id"] in ("eager", "eager_aa"):
                continue
            entry.update(ratio=result["ratio"], verdict=result["verdict"])
            saved = entries[0]["median_us"] - entry["median_us"]
            if saved > 0:
                entry["break_even_calls"] = int(entry["compile_ms"] * 1e3 / saved) + 1
            if not entry["equal"]:
                warnings.append(f"{entry['name']}: the output {entry['error_note']} from eager's")
        if not baseline:
            warnings.append(f"eager can't be timed: {entries[0]['reason'] or 'no samples'}")
        cpus = len(os.sched_getaffinity(0))
        return {
            "schema": report.SCHEMA,
            "target": self.target.name,
            "device_notes": {name: self.devices[name].get("name") or self.devices[name].get("reason", "") for name in self.devices},
            "threads": torch.get_num_threads(),
            "blas": _blas(),
            "allocator": _allocator(),
            "rounds": outcome["rounds"],
            "warmup": outcome["warmup"],
            "load_note": _load_note(cpus),
            "arms": entries,
            "noise": noise,
            "warnings": warnings,
        }
