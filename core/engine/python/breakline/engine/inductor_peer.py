# SPDX-License-Identifier: GPL-3.0-or-later
"""The process of the arm `inductor`: opens the target as the engine does, takes the same call of it, compiles that with the user's
own torch.compile and answers requests, one JSON object a line. The user's own output is dropped.

The first request is `{open: parameters, index, no_grad, threads}`; the answer `{compile_ms, equal, max_abs_err, max_rel_err, error_note,
double: {eager_peer, inductor}}`. Then `{block: arm, calls, group, settle}` → `{median_us, mean_us, waiting}` and `{recompiles: true}` → `{recompiles}`.
An answer `{fault}` is one sentence."""

import contextlib
import json
import os
import sys
import time


def _capture(params, index):
    """(the call's recording, the target) of the target with that index, run by Breakline's tracer as the engine does."""
    import torch

    import breakline

    from .. import api, standin
    from . import inputs, targets
    from .recording import Recorder
    from .workspace import recorder_hook

    opened = targets.parse(params["target"])
    specs = inputs.parse(params.get("inputs") or ())
    seed = params.get("seed")
    session, recorder = targets.Session(), Recorder()
    theirs = torch.compile
    torch.compile = breakline.compile = standin.torch_compile
    api.on_new_target(recorder_hook(recorder))
    api.set_defaults(device="cpu", fullgraph=False)
    if seed is not None:
        torch.manual_seed(seed)
    grad, dtype = torch.is_grad_enabled(), torch.get_default_dtype()
    try:
        if isinstance(opened, targets.Script):
            session.run_script(opened, params.get("argv") or (), params.get("text"))
        else:
            module = session.load_module(opened, params.get("argv") or (), params.get("text"))
            with targets.running_user_code():
                value = targets.resolve(opened, module)
                is_module = isinstance(value, torch.nn.Module)
                if is_module:
                    value.train(bool(params.get("train")))
                compiled = targets.compiled_of(opened, value, {"plan": "replay"})
                args, kwargs = targets.bind(opened, value, specs, seed or 0)
                with torch.set_grad_enabled(not (params.get("no_grad") or (is_module and not params.get("train")))):
                    compiled(*args, **kwargs)
    finally:
        torch.compile = theirs
        api.on_new_target(None)
        torch.set_grad_enabled(grad)
        torch.set_default_dtype(dtype)
    recorder.finish()
    recorder.paused = True
    target = list(recorder.recordings)[index]
    return recorder.recordings[target][0], target


class Peer:
    """The opened target with its two arms."""

    def __init__(self, request):
        import torch

        from .. import _native

        self.torch, self.extension = torch, _native.ready()
        torch.set_num_threads(request["threads"])
        self.recording, self.target = _capture(request["open"], request["index"])
        self.no_grad = request["no_grad"]
        self.functions = {"eager_peer": self.target.function, "inductor": self._compiled()}

    def _compiled(self):
        function, args = self.target.function, self.recording.args
        options = {"fullgraph": bool(self.target.options["fullgraph"])}
        self.stripped = self.target.kind == "module" and args and isinstance(args[0], self.torch.nn.Module)
        return self.torch.compile(args[0] if self.stripped else function, **options)

    def runner(self, arm):
        function, args, kwargs = self.functions[arm], self.recording.args, self.recording.kwargs
        if arm == "inductor" and self.stripped:
            args = args[1:]
        return (lambda: function(*args, **kwargs)) if kwargs else (lambda: function(*args))

    def facts(self):
        """First calls of both arms: outputs, errors, compile time."""
        from . import double, outputs

        recording = self.recording

        def once(run):
            recording.restore()
            result = run()
            return outputs.flatten(result) + outputs.flatten(recording.args) + outputs.flatten(recording.kwargs)

        with recording.staged(no_grad=self.no_grad):
            eager = once(self.runner("eager_peer"))
            changed = recording.changed()
            run = self.runner("inductor")
            start = time.perf_counter()
            compiled = once(run)
            first = time.perf_counter() - start
            steady = []
            for _ in range(3):
                start = time.perf_counter()
                once(run)
                steady.append(time.perf_counter() - start)
            reference = None
            with contextlib.suppress(Exception):
                with double.DoublePrecision():
                    reference = once(self.runner("eager_peer"))
        self.prepare = recording.restore if changed else None
        self.settled = self.graphs()
        answer = outputs.compare(eager, compiled) | {"compile_ms": max(0.0, first - min(steady)) * 1e3, "double": {}}
        usable = reference is not None and not double.check(eager, reference, outputs.errors_against(reference, eager)[1])
        for arm, taken in (("eager_peer", eager), ("inductor", compiled)):
            worst, share = outputs.errors_against(reference, taken) if usable else (None, None)
            answer["double"][arm] = {"double_abs_err": worst, "double_rel_err": share}
        return answer

    def graphs(self):
        from torch._dynamo import utils

        return utils.counters["stats"]["unique_graphs"]

    def block(self, arm, calls, group, settle):
        if self.prepare is not None:
            group = 1
        median_us, mean_us, waiting = self.extension.measure_block(self.runner(arm), self.prepare, calls, group, settle)
        return {"median_us": median_us, "mean_us": mean_us, "waiting": waiting}

    def serve(self, read, answer):
        with self.recording.staged(no_grad=self.no_grad):
            while (request := read()) is not None:
                if "block" in request:
                    answer(self.block(request["block"], request["calls"], request["group"], request["settle"]))
                else:
                    answer({"recompiles": self.graphs() - self.settled})


def main():
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)
    stream = os.fdopen(os.dup(0), "r", encoding="utf-8")
    os.dup2(null, 0)
    with contextlib.suppress(ValueError):
        sys.path.remove(os.getcwd())  # `-m` put it there; the target's own folder takes its place

    def read():
        line = stream.readline()
        return json.loads(line) if line else None

    def answer(facts):
        out.write(json.dumps(facts) + "\n")
        out.flush()

    try:
        peer = Peer(read())
        answer(peer.facts())
        peer.serve(read, answer)
    except BaseException as error:
        lines = str(error).strip().splitlines()
        answer({"fault": f"under torch.compile: {type(error).__name__}{': ' + lines[0] if lines else ''}"})
    os._exit(0)


if __name__ == "__main__":
    main()
