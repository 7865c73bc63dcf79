# SPDX-License-Identifier: GPL-3.0-or-later
"""The peer: the same target under the user's real torch.compile, with a backend that only counts, in a process of its own.

Reads one JSON object (parameters of `open`) from standard input, writes one to standard output and ends when its reader goes away.
The user's own output is dropped: it was shown by the run it is compared with."""

import contextlib
import json
import os
import sys
import threading

from .faults import Fault


class Counts:
    """What Dynamo made of the program."""

    def __init__(self):
        self.graphs = self.ops = 0

    def backend(self, graph, example_inputs):
        self.graphs += 1
        self.ops += sum(node.op.startswith("call_") for node in graph.graph.nodes)
        return graph.forward

    def facts(self):
        from torch._dynamo import utils

        places = {}
        for reason in utils.graph_break_reasons:
            if reason.user_stack:
                frame = reason.user_stack[-1]
                lines = [line for line in str(reason.reason).splitlines() if line.strip()]
                places.setdefault((os.path.realpath(frame.filename), frame.lineno), lines[0].strip() if lines else "")
        frames = utils.counters["frames"]
        spent = sum(getattr(utils, "compilation_time_metrics", {}).get("_compile.compile_inner", ()))
        return {
            "graphs": self.graphs,
            "ops": self.ops,
            "given_up": frames["total"] - frames["ok"],
            "trace_ms": spent * 1e3,
            "breaks": [{"file": file, "line": line, "reason": reason} for (file, line), reason in sorted(places.items())],
        }


def install(counts, fullgraph):
    """Makes torch.compile count, and lets Breakline's own names mean PyTorch's. Returns the compile function."""
    import torch
    import torch._dynamo as dynamo

    import breakline

    original = torch.compile

    def compile(model=None, *, fullgraph=fullgraph, dynamic=None, **other):
        del other  # backend, mode and options choose the code generator; a device and a plan are ours
        if model is None:
            return lambda fn: compile(fn, fullgraph=fullgraph, dynamic=dynamic)
        return original(model, fullgraph=fullgraph, dynamic=dynamic, backend=counts.backend)

    torch.compile = compile
    breakline.compile = compile
    for name, theirs in (
        ("graph_break", dynamo.graph_break),
        ("error_on_graph_break", dynamo.error_on_graph_break),
        ("disable", torch.compiler.disable),
        ("allow_in_graph", torch.compiler.allow_in_graph),
        ("is_compiling", torch.compiler.is_compiling),
        ("nonstrict_trace", getattr(dynamo, "nonstrict_trace", None)),
        ("skip_frame", getattr(dynamo, "skip_frame", None)),
        ("step_unsupported", getattr(dynamo, "step_unsupported", None)),
    ):
        if theirs is not None:
            setattr(breakline, name, theirs)
    return compile


def run(params):
    """Runs the target; returns the facts, with `error` when the user's code or Dynamo raised."""
    import torch

    from . import inputs, targets

    opened = targets.parse(params["target"])
    specs = inputs.parse(params.get("inputs") or ())
    seed = params.get("seed")
    counts = Counts()
    compile = install(counts, bool(params.get("fullgraph")))
    if seed is not None:
        torch.manual_seed(seed)
    session = targets.Session()
    error = ""
    try:
        if isinstance(opened, targets.Script):
            session.run_script(opened, params.get("argv") or ())
        else:
            module = session.load_module(opened, params.get("argv") or ())
            with targets.running_user_code():
                value = targets.resolve(opened, module)
                is_module = isinstance(value, torch.nn.Module)
                if is_module:
                    value.train(bool(params.get("train")))
                args, kwargs = targets.bind(opened, value, specs, seed or 0)
                grad = not (params.get("no_grad") or (is_module and not params.get("train")))
                with torch.set_grad_enabled(grad):
                    compile(value)(*args, **kwargs)
    except targets.Ended as ended:
        first = str(ended.error).strip().splitlines()
        error = type(ended.error).__name__ + (": " + first[0] if first else "")
    return counts.facts() | {"torch": torch.__version__, "error": error}


def _end_with_the_reader(stream):
    stream.read()
    os._exit(1)


def main():
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)
    stream = os.fdopen(os.dup(0), "r", encoding="utf-8")
    os.dup2(null, 0)
    params = json.loads(stream.readline())
    threading.Thread(target=_end_with_the_reader, args=(stream,), daemon=True).start()
    with contextlib.suppress(ValueError):
        sys.path.remove(os.getcwd())  # `-m` put it there; the target's own folder takes its place
    try:
        facts = run(params)
    except Fault as fault:
        facts = {"fault": fault.sentence}
    json.dump(facts, answer)
    answer.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
