# SPDX-License-Identifier: GPL-3.0-or-later
"""The arms of a timing: ways to make the same call. Each is opened once, called first from the recorded state, and then timed."""

import contextlib
import functools
import time

import torch

from . import without
from .faults import describe
from .inductor import Unavailable

# id → (name, kind, device)
ARMS = {
    "eager": ("Eager", "eager", None),
    "eager_aa": ("Eager, again", "eager", None),
    "inference": ("Eager, inference_mode", "inference", None),
    "eager_peer": ("Eager, Inductor's process", "peer", None),
    "inductor": ("torch.compile (Inductor)", "peer", None),
    "cpu": ("Compiled, CPU", "breakline", "cpu"),
    "cpu_without": ("Compiled, CPU, without it", "without", "cpu"),
    "vulkan_eager": ("Eager, Vulkan", "breakline", "vulkan_eager"),
    "vulkan": ("Compiled, Vulkan", "breakline", "vulkan"),
}
FULL = tuple(arm for arm in ARMS if arm != "cpu_without")
QUICK = ("eager", "eager_aa", "cpu", "vulkan_eager", "vulkan")
CONTROLS = ("eager", "eager_aa", "eager_peer")  # the same code: they have no verdict

_SETTLING_CALLS = 8  # a plan for the sizes at hand is made at the second call; others settle as late


class Arm:
    """One arm. `entry` is its part of the Timings; `available` there says whether it can be timed."""

    def __init__(self, arm_id, timer):
        self.id, self.timer = arm_id, timer
        name, self.kind, self.device = ARMS[arm_id]
        self.entry = {
            "id": arm_id,
            "name": name,
            "available": True,
            "reason": "",
            "samples_us": [],
            "median_us": None,
            "mean_us": None,
            "iqr_us": None,
            "n": 0,
            "calls": 0,
            "compile_ms": 0.0,
            "compile": None,
            "break_even_calls": None,
            "ratio": None,
            "verdict": None,
            "verdict_note": "",
            "recompiles": 0,
            "equal": True,
            "max_abs_err": None,
            "max_rel_err": None,
            "error_note": "",
            "double_abs_err": None,
            "double_rel_err": None,
            "roof_percent": None,
        }

    def refuse(self, reason):
        self.entry.update(available=False, equal=False, reason=reason)

    def surroundings(self):
        """What the calls run in."""
        return contextlib.nullcontext()

    def open(self):
        """Makes what is called; refuses when it can't."""

    def call(self):
        """One call from the present state."""
        recording = self.timer.recording
        with self.surroundings():
            return self.function(*recording.args, **recording.kwargs)

    def first_call(self):
        """(result, milliseconds) of the first call from the recorded state; (None, None) when it raised."""
        self.timer.recording.restore()
        start = time.perf_counter_ns()
        try:
            result = self.call()
        except Exception as error:
            message = str(error).splitlines()
            self.refuse(f"{describe(error)['type']}: {message[0] if message else ''}")
            return None, None
        return result, (time.perf_counter_ns() - start) / 1e6

    def settle(self):
        """Calls until nothing is compiled any more."""
        for number in range(_SETTLING_CALLS):
            before = self.made()
            self.timer.recording.restore()
            self.call()
            if self.made() == before and number >= 1:
                break
        self._settled = self.made()

    def made(self):
        """Counts that grow when something is compiled, or None where nothing ever is."""
        return None

    def recompiles(self):
        """How much was compiled since the arm settled."""
        now = self.made()
        return 0 if now is None else sum(now) - sum(self._settled)

    def measured(self, prepare):
        """The arm as measure_rounds takes it."""
        args, kwargs, function = self.timer.recording.args, self.timer.recording.kwargs, self.function
        run = (lambda: function(*args, **kwargs)) if kwargs else (lambda: function(*args))
        return self.id, run, prepare

    def close(self):
        pass


class Eager(Arm):
    def open(self):
        self.function = self.timer.target.function


class InferenceMode(Eager):
    def surroundings(self):
        return torch.inference_mode()

    def measured(self, prepare):
        _, run, _ = super().measured(prepare)
        if prepare is not None:

            def run_inside():
                with torch.inference_mode():
                    run()

            return self.id, run_inside, prepare

        def block(calls, group, settle):  # entered once a block, as a user would around a loop
            with torch.inference_mode():
                return self.timer.extension.measure_block(run, None, calls, group, settle)

        return self.id, block


class Breakline(Arm):
    def open(self):
        timer = self.timer
        device = timer.devices.get(self.device.partition("_")[0], {"available": False, "reason": "this build has no such device"})
        if not device["available"]:
            self.refuse(device.get("reason") or "the device is not available")
            return
        options = {"device": self.device, "fullgraph": timer.target.options["fullgraph"]}
        if self.id == "cpu" and timer.target.options["plan"]:
            options["plan"] = timer.target.options["plan"]
        try:
            self.function = timer.extension.compile(timer.target.function, name=timer.target.name, target_id=timer.target.name, **options)
        except (ValueError, RuntimeError) as error:
            self.refuse(str(error))

    def first_call(self):
        result, elapsed = super().first_call()
        if elapsed is not None:
            segments = self.function.target_report()["segments"]
            self.entry["compile_ms"] = sum(s["trace_us"] + s["compile_us"] for s in segments) / 1e3 or elapsed
            self._note_other_plans(segments)
        return result, elapsed

    def _note_other_plans(self, segments):
        """Which graphs did not run on the arm's device and why."""
        graphs = [s for s in segments if s["ops"]]
        others = [s for s in graphs if s["plan"] not in (self.device, self.device.partition("_")[0])]
        if others:
            why = others[0]["plan_reason"] or f"plan {others[0]['plan']}"
            self.entry["reason"] = f"{len(others)} of {len(graphs)} graphs ran as {others[0]['plan']}: {why}"

    def settle(self):
        super().settle()
        self.timer.extension.settle_kernels()

    def made(self):
        stats = self.function.stats
        return tuple(stats[name] for name in ("graphs", "recompiles", "skipped"))


class Without(Breakline):
    """The compiled program without a statement that breaks: its functions have other code while this arm runs."""

    def surroundings(self):
        functions, code, _ = self.timer.without
        return without.in_force(functions, code)

    def measured(self, prepare):
        _, run, _ = super().measured(prepare)

        def block(calls, group, settle):
            with self.surroundings():
                return self.timer.extension.measure_block(run, prepare, calls, 1 if prepare else group, settle)

        return self.id, block


class Peer(Arm):
    """An arm in Inductor's process."""

    def open(self):
        try:
            self.process = self.timer.inductor()
        except Unavailable as why:
            self.refuse(str(why))

    def first_call(self):
        facts = self.process.facts
        if self.id == "inductor":
            self.entry.update(
                compile_ms=facts["compile_ms"],
                compile={"cold_ms": facts["compile_ms"], "warm_ms": None, "incremental_ms": None, "note": "cold: an empty cache of Inductor; the others are not known"},
                **{name: facts[name] for name in ("equal", "max_abs_err", "max_rel_err", "error_note")},
            )
            self.entry["error_note"] += " (against eager in its own process)"
        else:
            self.entry.update(error_note="the reference there", max_abs_err=0.0, max_rel_err=0.0)
        self.entry.update(facts["double"][self.id])
        return None, 0.0

    def settle(self):
        pass

    def recompiles(self):
        return self.process.recompiles() if self.id == "inductor" else 0

    def measured(self, prepare):
        return self.id, functools.partial(self.process.block, self.id)


_KINDS = {"eager": Eager, "inference": InferenceMode, "breakline": Breakline, "without": Without, "peer": Peer}


def make(arm_id, timer):
    return _KINDS[ARMS[arm_id][1]](arm_id, timer)


