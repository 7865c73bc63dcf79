# SPDX-License-Identifier: GPL-3.0-or-later
"""Times the arms of one target from one recording. Rounds, statistics and verdicts are C++ (core/measure), the arms are in arms.py;
this file is the order of a measurement: open every arm, compare its outputs, compile, settle, and only then time."""

import contextlib

import torch

from .. import _native, report
from . import arms as arm_kinds
from . import compile_cost, double, machine, outputs, roofline
from .inductor import Inductor, Unavailable

ARMS, FULL, QUICK = arm_kinds.ARMS, arm_kinds.FULL, arm_kinds.QUICK
# Rounds end when every ratio is known within this share, at the latest after so many: `bench`, and `time` where nothing is given.
FULL_ROUNDS, FULL_PRECISION = 2000, 0.007
QUICK_ROUNDS, QUICK_PRECISION = 300, 0.02


@contextlib.contextmanager
def _threads(count):
    before = torch.get_num_threads()
    if count:
        torch.set_num_threads(count)
    try:
        yield
    finally:
        if count:
            torch.set_num_threads(before)


class Timer:
    """One `time` request. `peer`: what Inductor's process is asked to open; `cold_ms`: {arm id: compile time in a fresh process};
    `without`: what the arm `cpu_without` runs."""

    def __init__(self, target, recording, devices, *, no_grad, progress, cancelled, peer=None, cold_ms=None, without=None):
        self.target, self.recording, self.no_grad = target, recording, no_grad
        self.devices = {device["id"]: device for device in devices}
        self.progress, self.cancelled = progress, cancelled
        self.extension = _native.ready()
        self.peer, self.cold_ms = peer, cold_ms or {}
        self.without = without  # (functions, code, note) of without.replacement
        self._inductor = None

    def inductor(self):
        """Inductor's process, started at first; raises Unavailable."""
        if self._inductor is None:
            try:
                if self.peer is None:
                    raise Unavailable("the target can't be opened again")
                self._inductor = Inductor(self.peer | {"no_grad": self.no_grad, "threads": torch.get_num_threads()})
            except Unavailable as why:
                self._inductor = why
        if isinstance(self._inductor, Unavailable):
            raise self._inductor
        return self._inductor

    def run(self, wanted, rounds, budget_s, *, full=False, threads=None, block_ms=1.0):
        """The `Timings` of core/protocol/README.md. `full`: with the double-precision reference, compile costs and the roofline."""
        wanted = ["eager", "eager_aa", *[arm for arm in wanted if arm not in ("eager", "eager_aa")]]
        self.arms = [arm_kinds.make(arm_id, self) for arm_id in wanted]
        self.reference, self.double_note, self.roofline = None, "", None
        self.warnings = []
        try:
            with _threads(threads), self.recording.staged(no_grad=self.no_grad):
                self._first_calls(full)
                outcome = self._measure(rounds, budget_s, full, block_ms)
                return self._result(outcome, block_ms)
        finally:
            if isinstance(self._inductor, Inductor):
                self._inductor.close()

    # ---- before the clock

    def _first_calls(self, full):
        eager = None
        taken = {}
        for arm in self.arms:
            self.progress(f"first run: {arm.entry['name']}")
            arm.open()
            if not arm.entry["available"]:
                continue
            result, elapsed = arm.first_call()
            if elapsed is None or arm.kind == "peer":
                continue
            recording = self.recording
            taken[arm.id] = outputs.flatten(result) + outputs.flatten(recording.args) + outputs.flatten(recording.kwargs)
            if arm.id == "eager":
                eager = taken[arm.id]
                arm.entry.update(error_note="the reference", max_abs_err=0.0, max_rel_err=0.0)
            elif eager is not None:
                arm.entry.update(outputs.compare(eager, taken[arm.id]))
        if full and eager is not None:
            self._double(eager, taken)
        self.prepare = self.recording.restore if self._changes_state() else None
        for arm in self.arms:
            if arm.entry["available"]:
                if full and arm.kind == "breakline":
                    self.progress(f"compiling again: {arm.entry['name']}")
                    arm.entry["compile"] = compile_cost.of(arm, self.recording, self.extension, self.cold_ms.get(arm.id))
                arm.settle()

    def _double(self, eager, taken):
        """Errors of all arms against the same call in double precision."""
        self.progress("the same call in double precision")
        recording = self.recording
        recording.restore()
        try:
            with double.DoublePrecision():
                result = self.target.function(*recording.args, **recording.kwargs)
            reference = outputs.flatten(result) + outputs.flatten(recording.args) + outputs.flatten(recording.kwargs)
        except Exception as error:
            lines = str(error).splitlines()
            self.double_note = f"the call can't be made in double precision: {type(error).__name__}{': ' + lines[0] if lines else ''}"
            return
        share = outputs.errors_against(reference, eager)[1]
        self.double_note = double.check(eager, reference, share)
        if self.double_note:
            return
        for arm in self.arms:
            if arm.id in taken:
                worst, share = outputs.errors_against(reference, taken[arm.id])
                arm.entry.update(double_abs_err=worst, double_rel_err=share)

    def _changes_state(self):
        """Whether a call changes what it can see, so that each timed call has to start from the recorded state."""
        first = self.arms[0]
        if not first.entry["available"]:
            return True
        self.recording.restore()
        first.call()
        return self.recording.changed()

    # ---- the clock

    def _measure(self, rounds, budget_s, full, block_ms):
        ready = [arm for arm in self.arms if arm.entry["available"]]
        self.recording.restore()
        if not ready or ready[0].id != "eager":
            return {"arms": [], "rounds": 0, "warmup": 0}
        compiled = next((arm for arm in ready if arm.id == "cpu"), None)
        if full and compiled is not None:
            self.progress("what the machine can do")
            self.roofline = roofline.of(self.extension, compiled)
            self.recording.restore()
        self.progress(f"timing {len(ready)} arms")
        outcome = self.extension.measure_rounds(
            [arm.measured(self.prepare) for arm in ready],
            rounds=rounds or (FULL_ROUNDS if full else QUICK_ROUNDS),
            least_rounds=min(5, rounds or 5),
            budget_s=budget_s,
            seed=0,
            cancelled=self.cancelled,
            block_ms=block_ms,
            precision=0.0 if rounds else FULL_PRECISION if full else QUICK_PRECISION,
        )
        for arm in ready:
            arm.entry["recompiles"] = arm.recompiles()
        return outcome

    # ---- the answer

    def _result(self, outcome, block_ms):
        samples = {arm["id"]: arm for arm in outcome["arms"]}
        baseline, again = (samples.get(name, {}).get("samples_us") for name in ("eager", "eager_aa"))
        load = machine.load(outcome)
        noise = None
        if baseline:
            pair = self.extension.measure_compare(baseline, [], again)["ratio"]
            noise = {"ratio": pair["value"], "low": pair["low"], "high": pair["high"]}
        else:
            self.warnings.append(f"eager can't be timed: {self.arms[0].entry['reason'] or 'no samples'}")
        for arm in self.arms:
            if samples.get(arm.id, {}).get("samples_us"):
                self._fill(arm, samples[arm.id], baseline, again)
        self._warn(load, noise)
        return {
            "schema": report.SCHEMA,
            "target": self.target.name,
            "device_notes": {name: device.get("name") or device.get("reason", "") for name, device in self.devices.items()},
            "threads": torch.get_num_threads(),
            "blas": machine.blas(),
            "allocator": machine.allocator(),
            "rounds": outcome["rounds"],
            "warmup": outcome["warmup"],
            "block_ms": block_ms,
            "load": load,
            "load_note": machine.load_note(load),
            "arms": [arm.entry for arm in self.arms],
            "noise": noise,
            "roofline": self.roofline,
            "double_note": self.double_note,
            "warnings": self.warnings,
        }

    def _fill(self, arm, taken, baseline, again):
        """An arm's numbers."""
        entry, name = arm.entry, arm.entry["name"]
        result = self.extension.measure_compare(baseline, again, taken["samples_us"])
        summary, means = result["summary"], taken["means_us"]
        entry.update(
            samples_us=taken["samples_us"],
            median_us=summary["median"],
            mean_us=sum(means) / len(means),
            iqr_us=[summary["q1"], summary["q3"]],
            n=summary["count"],
            calls=taken["calls"],
        )
        if self.roofline and (arm.device in (None, "cpu")):
            entry["roof_percent"] = 100 * self.roofline["floor_us"] / entry["median_us"]
            if entry["roof_percent"] > 100:
                self.warnings.append(f"{name}: faster than the machine's floor, so the count of work or the measured peak is wrong")
        if arm.id in ("eager", "eager_aa"):
            return
        entry["ratio"] = result["ratio"]
        if not entry["equal"]:
            self.warnings.append(f"{name}: the output {entry['error_note']} from eager's")
        if entry["recompiles"]:
            entry["verdict_note"] = f"{entry['recompiles']} graphs were compiled while it was timed"
            self.warnings.append(f"{name}: {entry['verdict_note']}, so it has no verdict")
            return
        entry["verdict"] = result["verdict"]
        if arm.id in arm_kinds.CONTROLS and entry["verdict"] != "cannot tell":
            self.warnings.append(f"eager itself is {entry['verdict']} in Inductor's process: compare Inductor with that row")
        saved = self.arms[0].entry["median_us"] - entry["median_us"]
        cost = (entry["compile"] or {}).get("cold_ms") or entry["compile_ms"]
        if saved > 0 and cost and entry["verdict"] == "faster":
            entry["break_even_calls"] = int(cost * 1e3 / saved) + 1

    def saved(self):
        """{us, low, high} that a call saves without the break, and the verdict; (None, None) when an arm has no samples."""
        entries = {arm.id: arm.entry for arm in self.arms}
        whole, less = entries.get("cpu"), entries.get("cpu_without")
        if not whole or not less or not whole["samples_us"] or not less["samples_us"]:
            return None, None
        result = self.extension.measure_compare(whole["samples_us"], [], less["samples_us"])
        share = {name: whole["median_us"] * (1 - 1 / result["ratio"][name]) for name in ("value", "low", "high")}
        return {"us": share["value"], "low": share["low"], "high": share["high"]}, result["verdict"]

    def _warn(self, load, noise):
        if load["kept_loaded"]:
            self.warnings.append(
                f"other programs used {load['others']:.2f} CPUs nearly all the time: too few undisturbed rounds, so these are times of a busy machine"
            )
        if noise and not 0.9 <= noise["ratio"] <= 1.11:
            self.warnings.append(f"two runs of the same eager code differ by a factor of {noise['ratio']:.2f}: the machine is busy")
