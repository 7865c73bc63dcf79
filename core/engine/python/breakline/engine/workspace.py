# SPDX-License-Identifier: GPL-3.0-or-later
"""What is open in the engine: the target, its overlays, its recordings and the last report."""

import os
import time

import torch

from .. import _native, api, errors, overlays, report, standin
from . import inputs, parity, profile, targets, timeline, timing
from . import without as leaving_out
from .faults import Cancelled, Fault, TimeUp, bad_input, describe, passes_through
from .recording import Recorder

_CLASS_NAMES = ("_dynamo.exc", "Unsupported", "InternalTorchDynamoError", "FailOnRecompileLimitHit", "TorchDynamoException")


STAGES = ("bytecode", "graph", "passes", "schedule", "kernel-ir", "llvm", "asm", "glsl", "spirv")


class Workspace:
    """One open target. All methods run in the main thread and return a Report or Timings, or raise Fault."""

    def __init__(self, server):
        self.server = server
        self.extension = _native.ready()
        self.session = targets.Session()
        self.opened = None  # Script or Expression
        self.overlays = []
        self.recorder = None  # of the last run that compiled something
        self.last_report = None
        self._text = None
        self._entries = {}
        self._cold = None  # compile times of the process's first run: {target: {arm: ms}}
        standin.install()

    # ---- requests

    def open(self, target, argv=(), inputs=(), overlays=(), device="cpu", train=False, no_grad=False, seed=None, fullgraph=False, text=None):
        started = time.perf_counter()
        if device not in api.DEVICES:
            raise bad_input("bad_input", f"The device must be cpu or vulkan, not '{device}'.")
        opened = targets.parse(target)
        specs = _parse_inputs(opened, inputs)
        states = _check_overlays(overlays)
        self._given = {"target": target, "inputs": list(inputs), "argv": list(argv), "seed": seed, "fullgraph": fullgraph}
        self.opened, self.argv, self.specs, self.seed = opened, list(argv), specs, seed
        self.device, self.train, self.no_grad, self.fullgraph = device, train, no_grad, fullgraph
        self.overlays, self.recorder, self._text = states, None, None
        return self._run(text, started, "run")

    def set_policy(self, overlays):
        started = time.perf_counter()
        self._need_open()
        states = _check_overlays(overlays)
        before = {state["key"]: state["value"] for state in self.overlays}
        if self.recorder is None:
            self.overlays = states
            return self._run(self._text, started, "run")
        lost = {state["key"]: state for state in self.overlays if not state["active"]}
        after = {state["key"]: state["value"] for state in states}
        changed = {key for key in before.keys() | after.keys() if before.get(key, "inherit") != after.get(key, "inherit")}
        self.overlays = [lost.get(state["key"], state) | {"value": state["value"]} for state in states]
        self._apply_overlays()
        return self._again(started, lambda target: any(self._touches(key, target) for key in changed))

    def reload(self, text=None):
        started = time.perf_counter()
        self._need_open()
        return self._run(text, started, "run")

    def set_options(self, device=None, no_grad=None, train=None):
        started = time.perf_counter()
        self._need_open()
        if device is not None and device not in api.DEVICES:
            raise bad_input("bad_input", f"The device must be cpu or vulkan, not '{device}'.")
        if train is not None and train != self.train:
            self.train = train
            if isinstance(self.opened, targets.Expression):
                self.device = device or self.device
                self.no_grad = self.no_grad if no_grad is None else no_grad
                return self._run(self._text, started, "recompile")
        self.device = device or self.device
        self.no_grad = self.no_grad if no_grad is None else no_grad
        if self.recorder is None:
            return self._run(self._text, started, "run")
        for target in self.recorder.recordings:
            target.options["device"] = self.device
            target.compiled.configure(device=self.device, plan=target.options["plan"])
        return self._again(started, lambda target: True)

    def time(self, target=None, arms=None, rounds=None, budget_s=10.0, full=False, threads=None, block_ms=1.0, without=None):
        self._need_open()
        if self.recorder is None:
            raise bad_input("no_compiled_call", f"{self.opened.name} has not run through yet: there is nothing to time.")
        chosen = self._choose(target)
        unknown = [arm for arm in arms or () if arm not in timing.ARMS]
        if unknown:
            raise bad_input("bad_input", f"There is no arm '{unknown[0]}': choose from {', '.join(timing.ARMS)}.")
        recording = self.recorder.recordings[chosen][0]
        item = replaced = forecast = None
        if without:
            try:
                item = leaving_out.find(self._entries[chosen]["breaks"], without)
                replaced = leaving_out.replacement(item, targets.read_source(item["file"]) if item["file"] != self.opened.file else self._text)
            except leaving_out.NotPossible as why:
                raise bad_input("bad_input", f"What {without} costs can't be tried: {why}.") from None
            arms = [*(arms or ("cpu",)), "cpu_without"]
            forecast = self._forecast(chosen, item)
        timer = timing.Timer(
            chosen,
            recording,
            self.extension.devices(),
            no_grad=self.no_grad,
            progress=lambda text: self.server.progress("measure", text),
            cancelled=self.server.requests.interrupted,
            peer={"open": self._given | {"train": self.train, "no_grad": self.no_grad, "text": self._text}, "index": list(self.recorder.recordings).index(chosen)},
            cold_ms=self._cold.get(chosen),
            without=replaced,
        )
        self.recorder.paused = True
        self.server.capture.begin("recompile", muted=True)
        try:
            result = timer.run(
                list(arms or (timing.FULL if full else timing.QUICK)),
                max(1, int(rounds)) if rounds else None,
                float(budget_s),
                full=bool(full),
                threads=max(1, int(threads)) if threads else None,
                block_ms=max(0.01, float(block_ms)),
            )
        finally:
            self.recorder.paused = False
            self.server.capture.flush()
            printed = self.server.capture.muted_bytes
            self.server.capture.begin("recompile")
        if printed:
            result["warnings"].append("the target prints: that is part of every arm's time")
        if recording.uncloneable:
            result["warnings"].append("not restored between runs: " + ", ".join(recording.uncloneable))
        if item is not None:
            saved, verdict = timer.saved()
            result["what_if"] = {"break": item["id"], "place": f"{item['file']}:{item['line']}", "predicted": forecast, "measured": saved, "verdict": verdict, "note": replaced[2]}
        taken = self._profile(chosen, calls=30, budget_s=min(1.0, float(budget_s)))
        result.update({name: taken[name] for name in ("breaks", "segments", "lines")}, profile_note=taken["note"])
        return result

    def _forecast(self, target, item):
        self.recorder.paused = True
        self.server.capture.begin("recompile", muted=True)
        try:
            return leaving_out.predicted(self.extension, target, self.recorder.recordings[target][0], item, no_grad=self.no_grad)
        finally:
            self.recorder.paused = False
            self.server.capture.begin("recompile")

    def profile(self, target=None, calls=7, budget_s=0.25):
        """A Profile of a target, unless its calls had better not be made again without being asked for."""
        self._need_open()
        if self.recorder is None:
            raise bad_input("no_compiled_call", f"{self.opened.name} has not run through yet: there is nothing to profile.")
        chosen = self._choose(target)
        note = profile.why_not(self._entries.get(chosen), self.recorder.recordings[chosen][0])
        if note:
            return profile.empty(chosen.name, note)
        try:
            with self.server.requests.deadline(profile.MOST_S):
                return self._profile(chosen, calls=max(1, int(calls)), budget_s=float(budget_s))
        except TimeUp:
            return profile.empty(chosen.name, "the calls take long: press Measure to time them all the same")

    def dump(self, stage, target=None):
        """A Dump: the text of one stage of every graph (or code object) of a target, or of all."""
        self._need_open()
        if stage not in STAGES:
            raise bad_input("bad_input", f"There is no stage '{stage}': choose from {', '.join(STAGES)}.")
        if self.recorder is None:
            raise bad_input("no_compiled_call", f"{self.opened.name} has not run through yet: there is nothing to print.")
        chosen = [self._choose(target)] if target else list(self.recorder.recordings)
        entries = [{"target": one.name, **entry} for one in chosen for entry in self.extension.dump(one.compiled, stage)]
        return {"schema": report.SCHEMA, "stage": stage, "entries": entries}

    def timeline(self, target=None, calls=20, budget_s=2.0):
        """A Timeline of real calls of a target."""
        self._need_open()
        if self.recorder is None:
            raise bad_input("no_compiled_call", f"{self.opened.name} has not run through yet: there is nothing to record.")
        chosen = self._choose(target)
        if chosen.error_in_call or self._entries.get(chosen) is None:
            raise bad_input("bad_input", f"{chosen.name} ends with an error, so there is no timeline of its calls.")
        self.server.progress("measure", f"recording calls of {chosen.name}")
        self.recorder.paused = True
        self.server.capture.begin("recompile", muted=True)
        try:
            return timeline.take(
                self.extension, chosen, self.recorder.recordings[chosen][0], self._entries[chosen], no_grad=self.no_grad, calls=max(1, int(calls)), budget_s=float(budget_s)
            )
        finally:
            self.recorder.paused = False
            self.server.capture.begin("recompile")

    def parity(self):
        """A Parity of the last report: the same target under the user's own torch.compile, in a process of its own."""
        self._need_open()
        if self.last_report is None:
            raise bad_input("no_compiled_call", f"{self.opened.name} has not run through yet: there is nothing to compare.")
        self.server.progress("run", f"running {self.opened.name} under torch.compile")
        return parity.compare(self.last_report, parity.ask_peer(self._given | {"train": self.train, "no_grad": self.no_grad}))

    def _profile(self, target, *, calls, budget_s):
        entry = self._entries.get(target)
        ended = profile.empty(target.name, "the call ends with an error, so its parts are not timed")
        if target.error_in_call or entry is None:
            return ended
        self.recorder.paused = True
        self.server.capture.begin("recompile", muted=True)
        try:
            return profile.take(
                self.extension, target, self.recorder.recordings[target][0], entry, no_grad=self.no_grad, calls=calls, budget_s=budget_s
            )
        except Exception:
            if target.error is None:
                raise
            return ended  # it was the call's own error after all, one that names no line of it
        finally:
            self.recorder.paused = False
            self.server.capture.begin("recompile")

    # ---- running

    def _need_open(self):
        if self.opened is None:
            raise bad_input("missing_target", "Nothing is open: send open first.")

    def _choose(self, name):
        candidates = list(self.recorder.recordings)
        for number, target in enumerate(candidates):
            if name in (None, "", target.name, f"t{number}"):
                return target
        names = ", ".join(target.name for target in candidates)
        raise bad_input("missing_target", f"There is no target '{name}' in {self.opened.name}; it has {names}.")

    def _run(self, text, started, label):
        """Runs the user's program from its beginning."""
        self.server.capture.begin(label)
        self.server.capture.take()
        self.server.progress("run", f"running {self.opened.name}")
        self.session.forget_modules()
        previous_text = self._text
        recorder = Recorder()
        api.on_new_target(recorder_hook(recorder))
        api.set_defaults(device=self.device, fullgraph=self.fullgraph)
        self._apply_overlays()
        if self.seed is not None:
            torch.manual_seed(self.seed)
        grad, dtype = torch.is_grad_enabled(), torch.get_default_dtype()
        error = None
        try:
            self._read_text(text, previous_text)
            run_started = time.perf_counter()
            self._execute(text, recorder)
        except targets.Ended as ended:
            error = ended.error
        finally:
            api.on_new_target(None)
            torch.set_grad_enabled(grad)
            torch.set_default_dtype(dtype)
        run_ms = (time.perf_counter() - run_started) * 1e3
        if error is not None and recorder.last is None:
            raise targets.fault_of(error, self.opened.name)
        if recorder.last is None:
            raise bad_input("no_compiled_call", self._nothing_compiled(recorder))
        recorder.finish()
        self.recorder = recorder
        for target in recorder.recordings:
            target.error, target.calls, target.error_in_call = None, recorder.calls.get(target, 0), False
            target.script_error = None  # what the code around its calls raised: no call made again can mend that
        if error is not None:
            last = recorder.last
            last.error, last.error_in_call = describe(error), passes_through(error, last.function)
            last.script_error = None if last.error_in_call else last.error
        self._entries = {}
        return self._report(started, run_ms)

    def _nothing_compiled(self, recorder):
        # of this run only: what an earlier text compiled is still alive in the last good report
        made = [compiled._breakline_target for compiled in recorder.made]
        names = list(dict.fromkeys(target.name for target in made if target.file == self.opened.file))
        if names:
            them = "it" if len(names) == 1 else "them"
            named = [name for name in names if name.replace(".", "a").isidentifier()]
            way = f", or name one with inputs, as in {self.opened.name}:{named[0]} --input f32[8,16]" if named else ""
            return f"{self.opened.name} compiles {', '.join(names)} but never calls {them}: call {them}{way}."
        return (
            f"{self.opened.name} ran but never called a compiled function: decorate one with @torch.compile, "
            f"or name a target, as in {self.opened.name}:Net --input f32[8,16]."
        )

    def _read_text(self, text, previous):
        """Keeps the file's text for the next edit; line overlays follow the change."""
        if not self.opened.file:
            return
        if text is None and previous is None and not os.path.exists(self.opened.file):
            raise targets.no_file(getattr(self.opened, "place", self.opened.file))
        current = targets.read_source(self.opened.file) if text is None else text
        if previous is not None:
            overlays.follow_text(self.overlays, self.opened.file, self._folder(), previous, current)
            self._apply_overlays()
        self._text = current
        errors.light(not any(name in current for name in _CLASS_NAMES))

    def _execute(self, text, recorder):
        if isinstance(self.opened, targets.Script):
            self.session.run_script(self.opened, self.argv, text)
            return
        module = self.session.load_module(self.opened, self.argv, text)
        with targets.running_user_code():
            value = targets.resolve(self.opened, module)
            options = {"fullgraph": self.fullgraph, "device": self.device}
            is_module = isinstance(value, torch.nn.Module)
            if is_module:
                value.train(self.train)
            compiled = targets.compiled_of(self.opened, value, options)
            args, kwargs = targets.bind(self.opened, value, self.specs, self.seed or 0)
            grad = not (self.no_grad or (is_module and not self.train))
            with torch.set_grad_enabled(grad):
                compiled(*args, **kwargs)

    def _again(self, started, affected):
        """Makes the recorded calls of the affected targets again."""
        self.server.capture.begin("recompile")
        self.server.capture.take()
        rerun = [target for target in self.recorder.recordings if affected(target)]
        if any(recording.uncloneable for target in rerun for recording in self.recorder.recordings[target]):
            self.server.progress("run", "running the script again: a target has state that can't be put back")
            return self._run(None if self._text is None else self._text, started, "recompile")
        run_started = time.perf_counter()
        for target in rerun:
            self.server.progress("trace", f"recompiling {target.name}")
            self._replay(target)
            self._entries.pop(target, None)
        return self._report(started, (time.perf_counter() - run_started) * 1e3)

    def _replay(self, target):
        self.recorder.paused = True
        compiled = target.compiled
        compiled.reset()
        target.error, target.calls, target.error_in_call = target.script_error, 0, False
        try:
            for recording in self.recorder.recordings[target]:
                target.calls += 1
                with recording.staged(no_grad=self.no_grad):
                    try:
                        compiled(*recording.args, **recording.kwargs)
                    except Cancelled:
                        raise
                    except BaseException as error:
                        target.error, target.error_in_call = describe(error), True
                        break
        finally:
            self.recorder.paused = False

    # ---- reports

    def _folder(self):
        return os.path.dirname(self.opened.file) if self.opened.file else os.getcwd()

    def _apply_overlays(self):
        active = [(state["key"], state["value"]) for state in self.overlays if state["active"] and state["value"] != "inherit"]
        self.extension.set_overlays(active, self._folder())

    def _touches(self, key_text, target):
        """Whether an overlay can rule a break of this target, going by its last report."""
        key = overlays.parse(key_text)
        if key.kind == "module":
            return key.file == target.name
        entry = self._entries.get(target)
        if entry is None:
            return True
        files = {entry["file"]} | {op.get("file") for segment in entry["segments"] for op in segment["ops"]}
        files |= {segment["file"] for segment in entry["segments"]}
        files |= {frame["file"] for item in entry["breaks"] for frame in item["chain"]}
        return any(file and overlays.same_file(key.file, file, self._folder()) for file in files)

    def _report(self, started, run_ms):
        called = list(self.recorder.recordings)
        warnings = []
        result = report.of_targets(
            called,
            file=self.opened.file or self.opened.name,
            argv=self.argv,
            device=self.device,
            overlays=self.overlays,
            warnings=warnings,
            cache=self._entries,
        )
        output = self.server.capture.take()
        for target, entry in zip(called, result["targets"]):
            lost = [name for recording in self.recorder.recordings[target] for name in recording.uncloneable]
            entry["uncloneable"] = list(dict.fromkeys(lost))
        spent = {"trace": 0.0, "compile": 0.0}
        for entry in result["targets"]:
            for segment in entry["segments"]:
                spent["trace"] += segment["trace_us"] / 1e3
                spent["compile"] += segment["compile_us"] / 1e3
        if self._cold is None:
            self._cold = {
                target: {self.device: sum(s["trace_us"] + s["compile_us"] for s in entry["segments"]) / 1e3}
                for target, entry in zip(called[:1], result["targets"])
            }
        total = (time.perf_counter() - started) * 1e3
        result["output"] = output
        result["timing_ms"] = {"run": run_ms, "trace": spent["trace"], "compile": spent["compile"], "total": total}
        self.last_report = result
        return result


def recorder_hook(recorder):
    """What api calls for each new target of a run."""

    def hook(target):
        recorder.watch(target)
        recorder.made.append(target.compiled)

    recorder.made = []  # keeps targets alive that the user's code drops
    return hook


def _parse_inputs(opened, texts):
    if isinstance(opened, targets.Script) and texts:
        raise bad_input(
            "bad_input",
            f"--input is for a target with a name, as in {opened.name}:Net; {opened.name} alone is run as a script and makes its own inputs.",
        )
    return inputs.parse(texts)


def _check_overlays(items):
    states = []
    for item in items:
        if not isinstance(item, dict) or not isinstance(item.get("key"), str) or not isinstance(item.get("value"), str):
            raise bad_input("bad_input", "An overlay is an object with key and value.")
        try:
            overlays.check(item["key"], item["value"])
        except overlays.BadOverlay as error:
            raise bad_input("bad_input", str(error)) from None
        states.append({"key": item["key"], "value": item["value"], "active": item.get("active", True) is not False, "effect": False, "note": ""})
    return states
