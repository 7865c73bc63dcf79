# SPDX-License-Identifier: GPL-3.0-or-later
"""A scripted engine for the window's tests: speaks the protocol, compiles nothing.

usage: fake_engine.py [scenario]

It answers about demo_model.py only. Policies are really resolved over its small table of regions, so that a
toggle changes breaks, segments and errors as the real engine would. Scenarios make it fail in one way each.
"""
import json
import os
import random
import sys
import threading

SCENARIO = sys.argv[1] if len(sys.argv) > 1 else "normal"
FILE = "demo_model.py"
LOCK = threading.Lock()

# key, kind, first line, last line, qualified name, parent, declared
REGIONS = [
    ("fn:demo_model.py:Net.forward", "function", 26, 32, "Net.forward", "", "inherit"),
    ("fn:demo_model.py:Block.forward", "function", 14, 17, "Block.forward", "", "inherit"),
    ("fn:demo_model.py:step", "function", 35, 40, "step", "", "inherit"),
    ("with:demo_model.py:37", "with", 37, 39, "step", "fn:demo_model.py:step", "allow"),
]
# target, reason, line, columns, regions innermost first, explanation, hints, events
BREAKS = [
    ("Net", "Data-dependent branching", 28, (11, 22), ["fn:demo_model.py:Net.forward"],
     "The branch depends on the value of a tensor, which is known only when the graph has run.",
     ["Use torch.where or torch.cond.", "Move the test out of the compiled function."], 1),
    ("Net", "Tensor.item() call", 31, (22, 37), ["fn:demo_model.py:Net.forward"],
     "item() needs the value of a tensor in Python.", ["Keep the value as a tensor."], 1),
    ("Net", "print() needs the value", 31, (8, 38), ["fn:demo_model.py:Net.forward"],
     "print() shows its arguments at once, so the graph before it has to end.", ["Print after the call."], 1),
    ("step", "Call to torch._dynamo.graph_break()", 39, (8, 35),
     ["with:demo_model.py:37", "fn:demo_model.py:step"], "The program asks for a graph break here.", [], 2),
]
OPS = {
    ("Net", 0): [("layer_norm", 15, "blocks.0.norm"), ("linear", 16, "blocks.0.up"), ("gelu", 16, "blocks.0"),
                 ("linear", 17, "blocks.0.down"), ("add", 17, "blocks.0"), ("sum", 28, ""), ("gt", 28, "")],
    ("Net", 1): [("relu", 29, ""), ("mul", 29, ""), ("layer_norm", 15, "blocks.1.norm"), ("linear", 16, "blocks.1.up"),
                 ("gelu", 16, "blocks.1"), ("linear", 17, "blocks.1.down"), ("add", 17, "blocks.1"),
                 ("norm", 31, "")],
    ("Net", 2): [],
    ("Net", 3): [("linear", 32, "head"), ("softmax", 32, "")],
    ("step", 0): [("sin", 38, ""), ("cos", 38, ""), ("add", 38, "")],
    ("step", 1): [("mul", 40, "")],
}
POINTWISE = {"gelu", "add", "gt", "relu", "mul", "sin", "cos", "softmax"}


class State:
    overlays = {}
    options = {"no_grad": True, "device": "cpu"}
    opened = False
    cancelled = set()
    toggles = 0


def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    with LOCK:
        sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        sys.stdout.buffer.flush()


def break_id(row):
    return "b:%s:%d:%d:%s" % (FILE, row[2], row[3][0], row[1])


OVERLAY_KEYS = {"with:demo_model.py:37": "lines:demo_model.py:37-39"}  # others are overlay keys themselves


def resolve(keys):
    for key in keys:
        overlay = OVERLAY_KEYS.get(key, key)
        value = State.overlays.get(overlay, "inherit")
        if value != "inherit":
            return value, overlay
        declared = next(r[6] for r in REGIONS if r[0] == key)
        if declared != "inherit":
            return declared, key
    return "allow", "default"


def segment(target, index, path, end):
    ops = OPS[(target, index)]
    kernel, out, kernels = -1, [], []
    for i, (name, line, module) in enumerate(ops):
        if name in POINTWISE:
            if kernel < 0 or ops[i - 1][0] not in POINTWISE:
                kernel = len(kernels)
                kernels.append({"id": kernel, "name": "fused_%d" % kernel, "ops": [], "device": "cpu",
                                "source": "define void @fused_%d(ptr %%out, ptr %%in, i64 %%n) {\n  ...\n}" % kernel})
            kernels[kernel]["ops"].append(i)
        out.append({"name": name, "file": path, "line": line, "column": 8, "shape": [4, 64], "dtype": "f32",
                    "kernel": kernel if name in POINTWISE else None, "module": module})
    replay = not State.options["no_grad"] and target == "Net"
    return {"id": "%s/%d" % (target, index), "site": target, "plan": "replay" if replay else "cpu",
            "plan_reason": "parameters need grad" if replay else "", "kernels": len(kernels), "runs": 1,
            "file": path, "line": min([o[1] for o in ops] or [31]), "end_line": max([o[1] for o in ops] or [31]),
            "function": "Net.forward" if target == "Net" else "step", "ops": out, "kernel_list": kernels,
            "source_ranges": [], "guards": 3, "trace_us": 120.0, "compile_us": 900.0, "exit": end}


def report(path):
    targets, regions = [], []
    for target, line in (("Net", 20), ("step", 36)):
        rows = [b for b in BREAKS if b[0] == target]
        segments, edges, breaks, error = [segment(target, 0, path, "break")], [], [], None
        for i, row in enumerate(rows):
            effective, source = resolve(row[4])
            b = {"id": break_id(row), "target": target, "reason": "kind-%d" % i, "gb_id": None, "type": row[1],
                 "file": path, "line": row[2], "column": row[3][0], "end_line": row[2], "end_column": row[3][1],
                 "chain": [{"file": path, "line": row[2], "function": "Net.forward" if target == "Net" else "step"}],
                 "explanation": row[5], "hints": row[6], "context": "", "events": row[7],
                 "policy": {"effective": effective, "source": source}, "before": "%s/%d" % (target, i),
                 "after": None, "knowledge": "breakline/data-dependent"}
            breaks.append(b)
            if effective == "error":
                error = {"type": "torch._dynamo.exc.Unsupported", "message": row[1] + "\n  Explanation: " + row[5],
                         "traceback": "Traceback (most recent call last):\n  File \"%s\", line %d\n"
                                      "torch._dynamo.exc.Unsupported: %s\n  Explanation: %s"
                                      % (path, row[2], row[1], row[5]), "break": b["id"]}
                break
            b["after"] = "%s/%d" % (target, i + 1)
            segments.append(segment(target, i + 1, path, "return" if i + 1 == len(rows) else "break"))
            edges.append({"from": b["before"], "to": b["after"], "break": b["id"], "kind": "break"})
        skipped = []
        if SCENARIO == "skipped":
            skipped = [{"name": target + ".f", "file": path, "line": 35, "reason": "recompile limit"}]
            breaks, edges, segments = [], [], []
        if SCENARIO == "exits" and target == "step":
            error = {"type": "SystemExit", "message": "7", "break": None,
                     "traceback": "Traceback (most recent call last):\n  File \"%s\", line 46, in <module>\n"
                                  "SystemExit: 7" % path}
        targets.append({"id": target, "name": target, "kind": "module" if target == "Net" else "function", "file": path,
                        "line": line, "fullgraph": False, "graphs": sum(1 for s in segments if s["ops"]),
                        "ops": sum(len(s["ops"]) for s in segments), "breaks_traced": len(breaks),
                        "places": len(breaks), "recompiles": 0, "calls": 1, "skipped": len(skipped), "skipped_frames": skipped,
                        "segments": segments, "edges": edges, "breaks": breaks, "side_effects": target == "Net",
                        "uncloneable": [], "error": error})
    for key, kind, first, last, name, parent, declared in REGIONS:
        chain, at = [], key
        while at:
            chain.append(at)
            at = next(r[5] for r in REGIONS if r[0] == at)
        effective, source = resolve(chain)
        regions.append({"key": key, "kind": kind, "file": path, "line": first, "end_line": last, "qualname": name,
                        "depth": len(chain) - 1, "parent": parent or None, "declared": declared,
                        "overlay": State.overlays.get(OVERLAY_KEYS.get(key, key), "inherit"),
                        "effective": effective, "source": source,
                        "breaks": sum(1 for b in BREAKS if key in b[4])})
    known = {OVERLAY_KEYS.get(r[0], r[0]) for r in REGIONS}
    rejects = [break_id(b) for b in BREAKS]
    return {"schema": 1, "breakline": "0.1.0", "python": "3.11.7", "torch": "2.13.0", "file": path, "argv": [],
            "device": State.options["device"], "threads": 2, "targets": targets,
            "breaks": [b for t in targets for b in t["breaks"]], "regions": regions,
            "overlays": [{"key": k, "value": v, "active": True, "effect": k in known,
                          "note": "" if k in known else "nothing breaks there"} for k, v in State.overlays.items()],
            "preview": {"strict_rejects": rejects, "first": rejects[0]},
            "output": [], "warnings": [], "timing_ms": {"run": 40, "trace": 3, "compile": 6, "total": 49}}


def samples(rng, middle, spread, n=60):
    return [max(middle * 0.9, rng.gauss(middle, spread) + (rng.random() < 0.06) * spread * 6) for _ in range(n)]


def timings(target):
    rng = random.Random(7)
    slow = sum(1 for b in BREAKS if b[0] == target)
    arms = []
    for arm, name, middle, spread in (("eager", "eager", 1920, 40), ("eager_aa", "eager again", 1924, 41),
                                      ("cpu", "compiled cpu", 1250 + 30 * slow, 28),
                                      ("vulkan_eager", "eager Vulkan", 2650, 70), ("vulkan", "compiled Vulkan", 0, 0)):
        if not middle:
            arms.append({"id": arm, "name": name, "available": False, "reason": "layer_norm has no shader yet",
                         "samples_us": [], "median_us": 0, "iqr_us": [0, 0], "n": 0, "compile_ms": 0, "ratio": None,
                         "verdict": None, "equal": None, "max_abs_err": 0, "max_rel_err": 0, "error_note": ""})
            continue
        s = sorted(samples(rng, middle, spread))
        mid = s[len(s) // 2]
        ratio = 1922 / mid
        arms.append({"id": arm, "name": name, "available": True, "reason": "", "samples_us": s, "median_us": mid,
                     "iqr_us": [s[len(s) // 4], s[3 * len(s) // 4]], "n": len(s), "compile_ms": 6.5,
                     "ratio": None if arm == "eager" else {"value": ratio, "low": ratio * 0.97, "high": ratio * 1.03},
                     "verdict": None if arm == "eager" else "cannot tell" if arm == "eager_aa"
                     else "faster" if ratio > 1 else "slower", "equal": True,
                     "max_abs_err": 0 if "eager" == arm[:5] else 2.4e-7, "max_rel_err": 1e-6, "error_note": ""})
    return {"target": target, "device_notes": {"cpu": "AVX-512", "vulkan": "llvmpipe (software)"}, "threads": 2,
            "blas": "MKL", "allocator": "default", "rounds": 60, "warmup": 5, "load_note": "", "arms": arms,
            "noise": {"ratio": 1.0, "low": 0.98, "high": 1.02}, "warnings": [],
            "breaks": [{"id": break_id(b), "cost_us": 9.1 + i} for i, b in enumerate(BREAKS) if b[0] == target],
            "segments": []}


RECORD = {
    "id": "breakline/data-dependent", "signature": "Data-dependent branching", "signature_zh": "数据依赖的分支",
    "root_cause": "Python needs the value of a tensor to go on, and the value is known only after the graph has run.",
    "root_cause_zh": "Python 需要张量的值才能继续，而这个值只有在图运行之后才知道。",
    "dead_ends": [{"action": "Wrap the test in bool()", "why_fails": "bool() asks for the same value.",
                   "fail_rate": None, "condition": ""}],
    "workarounds": [{"action": "Use torch.where", "success_rate": None, "how": "y = torch.where(c, a, b)"},
                    {"action": "Move the test out of the compiled function", "success_rate": 0.8, "how": ""}],
    "workarounds_zh": ["使用 torch.where", "Move the test out of the compiled function"],
    "official_doc_url": "https://pytorch.org/docs/stable/torch.compiler.html", "verification_tier": "own",
    "confidence": 0.84, "evidence_count": 1, "last_confirmed": "2026-11-01"}


def handle(message):
    method, params, ident = message.get("method"), message.get("params", {}), message.get("id")

    def reply(result):
        send({"id": ident, "result": result})

    def fail(code, text, kind="", traceback="", **place):
        send({"id": ident, "error": {"code": code, "message": text, "data": {"kind": kind, "traceback": traceback, **place}}})

    if method == "hello":
        return reply({"protocol": 99 if SCENARIO == "protocol" else 1, "engine": "fake 0.1", "python": "3.11.7",
                      "python_path": sys.executable, "torch": "2.13.0", "torch_note": "", "threads": 2,
                      "pid": os.getpid(),
                      "devices": [{"id": "cpu", "name": "AVX-512", "available": True, "reason": ""},
                                  {"id": "vulkan", "name": "llvmpipe (software)", "available": True, "reason": ""}]})
    if method in ("open", "policy.set", "reload", "option.set"):
        if method == "open":
            State.path = params["target"]
            State.options = {"no_grad": SCENARIO != "grad" or params["no_grad"], "device": params["device"]}
        if method in ("open", "policy.set"):
            State.overlays = {o["key"]: o["value"] for o in params["overlays"] if o["value"] != "inherit"}
        if method == "option.set":
            State.options.update(params)
        with open(State.path, encoding="utf-8", errors="replace") as f:
            text = f.read()
        if method == "policy.set":
            State.toggles += 1
            if SCENARIO == "die_on_toggle" and State.toggles == 1 and not os.path.exists(State.path + ".died"):
                open(State.path + ".died", "w").close()
                sys.stderr.write("Fatal: the fake engine was told to die\n")
                sys.stderr.flush()
                os._exit(139)
        if method == "open" and SCENARIO in ("hang", "hang_deaf"):
            send({"method": "progress", "params": {"request": ident, "phase": "run", "text": "running demo_model.py"}})
            wait = threading.Event()
            State.waiting = (ident, wait)
            if SCENARIO == "hang":
                wait.wait()
                return fail(-32800, "cancelled")
            threading.Event().wait()
        if method != "policy.set" and "CRASH" in text:
            os._exit(139)
        if method != "policy.set" and "SYNTAX" in text:
            line = text[:text.index("SYNTAX")].count("\n") + 1
            return fail(1, "demo_model.py has a syntax error in line 3: fix it and save again.", "syntax",
                        "  File \"demo_model.py\", line 3\n    SYNTAX\nSyntaxError: invalid syntax",
                        file=State.path, line=line, column=2)
        if SCENARIO in ("missing_import", "missing_target", "bad_input", "no_compiled_call", "no_torch", "wrong_python"):
            return fail(1, "Bad input of kind %s: do something about it." % SCENARIO, SCENARIO)
        if SCENARIO == "raises":
            return fail(2, "The script raised ZeroDivisionError before anything was compiled.", "",
                        "Traceback (most recent call last):\nZeroDivisionError: division by zero")
        send({"method": "output", "params": {"stream": "stdout", "text": "norm 8.25\n",
                                             "label": "run" if method == "open" else "recompile"}})
        State.opened = True
        return reply(report(State.path))
    if method == "time":
        send({"method": "progress", "params": {"request": ident, "phase": "measure", "text": "measuring", "fraction": .5}})
        return reply(timings(params["target"]))
    if method == "diagnose":
        return reply({"records": [{"record": RECORD, "score": 1.0}]})
    if method == "shutdown":
        reply({})
        os._exit(0)
    fail(-32601, "no such method: %s" % method)


def main():
    if SCENARIO == "cannot_start":
        sys.stderr.write("No module named breakline: set PYTHONPATH or install the package.\n")
        return 1
    if SCENARIO == "garbage":
        sys.stdout.write("hello, I am no engine\n" * 400)
        sys.stdout.flush()
        sys.stdin.buffer.read()
        return 0
    stream = sys.stdin.buffer
    jobs = []
    while True:
        length = 0
        while True:
            line = stream.readline()
            if not line:
                os._exit(0)
            if line in (b"\r\n", b"\n"):
                break
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        message = json.loads(stream.read(length))
        if message["method"] == "cancel":
            send({"id": message["id"], "result": {}})
            waiting = getattr(State, "waiting", None)
            if waiting and waiting[0] == message["params"]["id"] and SCENARIO == "hang":
                waiting[1].set()
            continue
        if SCENARIO in ("hang", "hang_deaf") and message["method"] == "open":
            job = threading.Thread(target=handle, args=(message,), daemon=True)
            jobs.append(job)
            job.start()
        else:
            handle(message)


if __name__ == "__main__":
    sys.exit(main())
