# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line on small files: reports, exit codes, and one clear sentence for each kind of bad input."""
import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

BREAKLINE = os.path.join(os.environ["BREAKLINE_BINARY_DIR"], "bin", "breakline")
MODELS = pathlib.Path(__file__).resolve().parent / "models"


class Result:
    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def sentence(self):
        return self.err.strip().splitlines()[-1] if self.err.strip() else ""


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="breakline-cli-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def call(self, *words, cwd=None, text=None, env=None, python=sys.executable):
        environment = {**os.environ, "BREAKLINE_PYTHON": python, **(env or {})}
        done = subprocess.run(
            [BREAKLINE, *map(str, words)], capture_output=True, encoding="utf-8", input=text, cwd=cwd or self.folder, env=environment, timeout=300
        )
        return Result(done)

    def write(self, name, text):
        path = self.folder / name
        path.write_bytes(text) if isinstance(text, bytes) else path.write_text(text, encoding="utf-8")
        return path

    def refused(self, result, code, *parts):
        self.assertEqual(result.code, code, result.err)
        self.assertTrue(result.sentence.startswith("breakline: "), result.err)
        for part in parts:
            self.assertIn(part, result.sentence)
        self.assertEqual(result.out, "")


class Explain(Case):
    def test_script_with_a_break(self):
        result = self.call("explain", "--json", MODELS / "branch.py", "--", "--flag", "x")
        self.assertEqual(result.code, 0, result.err)
        self.assertIn("mean", result.err)
        self.assertIn("['--flag', 'x']", result.err)
        report = result.json
        self.assertEqual(report["schema"], 1)
        (target,) = report["targets"]
        self.assertEqual((target["name"], target["kind"]), ("Net", "module"))
        source = (MODELS / "branch.py").read_text().splitlines()
        line = next(n for n, text in enumerate(source, 1) if "if x.sum()" in text)
        (item,) = target["breaks"]
        self.assertEqual((item["line"], item["reason"]), (line, "data-dependent-branch"))
        self.assertEqual(item["file"], str(MODELS / "branch.py"))
        self.assertGreaterEqual(item["column"], 0)
        self.assertEqual(item["events"], 3)
        self.assertEqual(item["policy"], {"effective": "allow", "source": "default"})
        self.assertEqual(item["chain"][-1]["line"], line)
        self.assertTrue(item["explanation"] and item["hints"])
        self.assertEqual(target["graphs"], 2)
        self.assertEqual(target["places"], 1)
        self.assertEqual(sum(len(s["ops"]) for s in target["segments"]), target["ops"])
        self.assertEqual(report["preview"]["first"], item["id"])
        self.assertTrue(any(piece["text"].startswith("mean") for piece in report["output"]))

    def test_text_report_is_whole(self):
        result = self.call("explain", "branch.py", cwd=MODELS)
        self.assertEqual(result.code, 0, result.err)
        for part in ("mean", "Net   module, branch.py:", "2 graphs", "1 break at 1 place", "if x.sum() > 1000:", "^^^", "Explanation:", "Hint:", "policy: allow (default)", "3 events", "A strict policy would reject 1 break"):
            self.assertIn(part, result.out)

    def test_no_breaks(self):
        result = self.call("explain", "--json", "--strict", MODELS / "clean.py")
        self.assertEqual(result.code, 0, result.err)
        report = result.json
        self.assertEqual([t["name"] for t in report["targets"]], ["first", "second"])
        self.assertEqual([t["graphs"] for t in report["targets"]], [1, 1])
        self.assertEqual(report["breaks"], [])
        self.assertEqual(report["preview"], {"strict_rejects": [], "first": None})

    def test_strict_fails_the_gate(self):
        result = self.call("explain", "--strict", MODELS / "branch.py")
        self.assertEqual(result.code, 1, result.err)
        self.assertIn("strict: 1 break is left", result.out)

    def test_expression_targets(self):
        result = self.call("explain", "--json", f"{MODELS / 'branch.py'}:Net(4, layers=2)", "--input", "f32[2,4]")
        self.assertEqual(result.code, 0, result.err)
        (target,) = result.json["targets"]
        self.assertEqual((target["name"], target["places"]), ("Net(4, layers=2)", 1))
        self.assertNotIn("mean", result.err)
        result = self.call("explain", "--json", f"{MODELS / 'branch.py'}:scale", "--input", "f32[3]", "--input", "factor=3")
        self.assertEqual(result.code, 0, result.err)
        self.assertEqual(result.json["targets"][0]["places"], 0)
        result = self.call("explain", "--json", "torch.nn:Linear(4, 2)", "--input", "f32[3,4]")
        self.assertEqual((result.code, result.json["targets"][0]["graphs"]), (0, 1), result.err)

    def test_fullgraph_and_policy_make_errors(self):
        model = MODELS / "branch.py"
        for extra, source in (
            (["--fullgraph"], "fullgraph"),
            (["--policy", "fn:branch.py:Net.forward=error"], "fn:branch.py:Net.forward"),
        ):
            result = self.call("explain", "--json", model, *extra)
            self.assertEqual(result.code, 3, result.err)
            (target,) = result.json["targets"]
            self.assertIn("Unsupported", target["error"]["type"])
            self.assertIn("Data-dependent branching", target["error"]["message"])
            self.assertIn("from user code:", target["error"]["message"])
            (item,) = target["breaks"]
            self.assertEqual(item["policy"], {"effective": "error", "source": source})
            self.assertEqual(target["error"]["break"], item["id"])

    def test_policy_file_and_overlay_without_effect(self):
        policies = self.write("p.json", json.dumps({"fn:branch.py:scale": "error"}))
        result = self.call("explain", "--json", MODELS / "branch.py", "--policy-file", policies)
        self.assertEqual(result.code, 0, result.err)
        (state,) = result.json["overlays"]
        self.assertEqual((state["effect"], state["note"]), (False, "no break lies in it"))

    def test_a_policy_for_what_is_not_there(self):
        for key, said in (
            ("fn:branch.py:Net.forwrd", "branch.py has no function Net.forwrd; did you mean Net.forward?"),
            ("fn:brnch.py:Net.forward", "no traced code lies in a file brnch.py; did you mean branch.py?"),
            ("lines:branch.py:900-901", "branch.py has"),
            ("fn:branch.py:forward", ""),
        ):
            result = self.call("explain", "--json", MODELS / "branch.py", "--policy", f"{key}=allow")
            (state,) = result.json["overlays"]
            self.assertTrue(state["note"].startswith(said), state)

    def test_the_users_error_keeps_the_report(self):
        result = self.call("explain", "--json", MODELS / "raises.py")
        self.assertEqual(result.code, 3, result.err)
        (target,) = result.json["targets"]
        self.assertEqual(target["error"]["type"], "ValueError")
        self.assertEqual(target["error"]["message"], "mode is bad")
        self.assertIn('raise ValueError("mode is bad")', target["error"]["traceback"])
        self.assertNotIn("breakline", target["error"]["traceback"].replace(str(MODELS), ""))
        self.assertGreaterEqual(target["graphs"], 1)


class Time(Case):
    def test_arms(self):
        result = self.call("time", "--json", f"{MODELS / 'branch.py'}:scale", "--input", "f32[64]", "--rounds", "12")
        self.assertEqual(result.code, 0, result.err)
        timings = result.json
        arms = {arm["id"]: arm for arm in timings["arms"]}
        self.assertEqual(set(arms), {"eager", "eager_aa", "cpu", "vulkan_eager", "vulkan"})
        for name in ("eager", "eager_aa", "cpu"):
            self.assertTrue(arms[name]["available"], arms[name]["reason"])
            self.assertGreater(arms[name]["median_us"], 0)
            self.assertEqual(len(arms[name]["samples_us"]), arms[name]["n"])
        self.assertTrue(arms["cpu"]["equal"], arms["cpu"]["error_note"])
        self.assertIn(arms["cpu"]["verdict"], ("faster", "slower", "cannot tell"))
        low, value, high = (arms["cpu"]["ratio"][k] for k in ("low", "value", "high"))
        self.assertTrue(low <= value <= high)
        for name in ("vulkan_eager", "vulkan"):
            self.assertTrue(arms[name]["available"] or arms[name]["reason"])

    def test_text_table(self):
        result = self.call("time", f"{MODELS / 'branch.py'}:scale", "--input", "f32[64]", "--rounds", "6", "--arm", "cpu")
        self.assertEqual(result.code, 0, result.err)
        for part in ("Eager", "Compiled, CPU", "median us", "noise (eager against itself)"):
            self.assertIn(part, result.out)

    def test_unknown_arm_and_target(self):
        self.refused(self.call("time", MODELS / "clean.py", "--arm", "tpu"), 2, "no arm 'tpu'")
        self.refused(self.call("time", MODELS / "clean.py", "--rounds", "0"), 2, "--rounds takes 1 or more")
        self.refused(self.call("time", MODELS / "clean.py", "--target", "third"), 2, "no target 'third'", "first, second")


class Bench(Case):
    MODEL = (
        "import torch\n\nclass Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a, self.b = torch.nn.Linear(64, 128), torch.nn.Linear(128, 8)\n"
        "    def forward(self, x):\n        return self.b(torch.relu(self.a(x))).softmax(-1)\n"
    )

    def bench(self, target, *words):
        result = self.call("bench", "--json", target, *words)
        self.assertEqual(result.code, 0, result.err)
        return result.json, {arm["id"]: arm for arm in result.json["arms"]}

    def test_what_a_full_timing_tells(self):
        path = self.write("net.py", self.MODEL)
        timings, arms = self.bench(f"{path}:Net", "--input", "f32[32,64]", "--arm", "cpu", "--arm", "inference", "--threads", "1", "--budget", "3")
        self.assertEqual((list(arms), timings["threads"]), (["eager", "eager_aa", "cpu", "inference"], 1))
        for arm in arms.values():
            self.assertTrue(arm["available"], arm["reason"])
            self.assertEqual((arm["recompiles"], arm["equal"]), (0, True))
            self.assertGreater(arm["mean_us"], 0)
            self.assertGreaterEqual(arm["calls"], 1)
            # the double-precision reference: float32 of a small net is right to a few units in the last place
            self.assertLess(arm["double_rel_err"], 1e-5)
            self.assertGreater(arm["double_rel_err"], 0)
            self.assertGreater(arm["roof_percent"], 0)
        self.assertIn(arms["cpu"]["verdict"], ("faster", "slower", "cannot tell"))
        compile_ms = arms["cpu"]["compile"]
        for kind in ("cold_ms", "warm_ms", "incremental_ms"):
            self.assertGreater(compile_ms[kind], 0)
        roof = timings["roofline"]
        self.assertEqual(roof["flops"], 2 * 32 * 64 * 128 + 2 * 32 * 128 * 8 + 32 * 128 + 32 * 8)  # two products, relu, softmax
        self.assertEqual(roof["bytes"], 4 * (32 * 64 + 64 * 128 + 128 + 128 * 8 + 8 + 32 * 8))  # inputs, parameters, result
        self.assertGreater(roof["floor_us"], 0)
        load = timings["load"]
        self.assertGreater(load["blocks"], 0)
        self.assertLessEqual(load["loaded_blocks"], load["blocks"])

    def test_state_that_calls_change(self):
        path = self.write("m.py", "import torch\n\nseen = []\nclass Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.register_buffer('n', torch.zeros(4))\n    def forward(self, x):\n        seen.append(1)\n        self.n += x\n        return self.n * len(seen)\n")
        timings, arms = self.bench(f"{path}:Net", "--input", "f32[4]", "--arm", "cpu", "--rounds", "12")
        self.assertTrue(arms["cpu"]["equal"], arms["cpu"]["error_note"])
        self.assertEqual(arms["cpu"]["recompiles"], 0)

    def test_another_way_in_double_precision(self):
        path = self.write("m.py", "import torch\ndef f(x):\n    return x * 2 if x.dtype == torch.float32 else x * 3\ndef g(x):\n    y = x * 2\n    return y * 2 if y.dtype == torch.float32 else y * 3\n")
        timings, arms = self.bench(f"{path}:g", "--input", "f32[4]", "--arm", "cpu", "--rounds", "12")
        self.assertIn("another way", timings["double_note"])
        self.assertIsNone(arms["cpu"]["double_rel_err"])

    @unittest.skipUnless(shutil.which("g++") or shutil.which("clang++"), "Inductor needs a C++ compiler")
    def test_inductor_in_its_own_process(self):
        path = self.write("m.py", "import torch\nW = torch.linspace(0, 1, 64)\n@torch.compile\ndef f(x):\n    return (x * W).sin() + 1\nfor _ in range(2):\n    f(torch.ones(64))\nprint('done')\n")
        result = self.call("bench", "--json", path, "--arm", "inductor", "--arm", "eager_peer", "--rounds", "12", "--threads", "1")
        self.assertEqual(result.code, 0, result.err)
        arms = {arm["id"]: arm for arm in result.json["arms"]}
        for name in ("inductor", "eager_peer"):
            self.assertTrue(arms[name]["available"], arms[name]["reason"])
            self.assertTrue(arms[name]["equal"], arms[name]["error_note"])
            self.assertGreater(arms[name]["median_us"], 0)
            self.assertLess(arms[name]["double_rel_err"], 1e-5)
        self.assertGreater(arms["inductor"]["compile_ms"], 0)
        self.assertEqual(result.err.count("done"), 1)

    def test_without_a_break(self):
        path = self.write(
            "m.py",
            "import torch\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        y = x.sin() * 2\n        torch._dynamo.graph_break()\n        y = y.relu() + 1\n"
            "        if y.sum() > 0:\n            y = y * 2\n        return y.sum(0)\n",
        )
        target = [f"{path}:Net", "--input", "f32[64,64]", "--arm", "cpu", "--rounds", "40", "--threads", "1"]
        timings, arms = self.bench(*target, "--without", "m.py:6")
        what = timings["what_if"]
        self.assertTrue(what["place"].endswith("m.py:6"))
        self.assertTrue(arms["cpu_without"]["equal"], arms["cpu_without"]["error_note"])
        self.assertEqual(arms["cpu_without"]["recompiles"], 0)
        for kind in ("predicted", "measured"):
            self.assertLessEqual(what[kind]["low"], what[kind]["us"])
            self.assertLessEqual(what[kind]["us"], what[kind]["high"])
        self.assertGreater(what["predicted"]["us"], 0)
        self.refused(self.call("bench", *target, "--without", "8"), 2, "there is no equal one without it")
        self.refused(self.call("bench", *target, "--without", "m.py:5"), 2, "there is no break at m.py:5", "m.py:6, m.py:8")
        self.refused(self.call("bench", *target, "--without", "here"), 2, "--without takes the line of a break")

    def test_text(self):
        path = self.write("net.py", self.MODEL)
        result = self.call("bench", f"{path}:Net", "--input", "f32[32,64]", "--arm", "cpu", "--arm", "inductor", "--rounds", "12", env={"PATH": "/nonexistent", "CXX": ""})
        self.assertEqual(result.code, 0, result.err)
        for part in ("median us", "of floor", "error to f64", "noise (eager against itself)", "compile time, Compiled, CPU: cold", "warm", "incremental", "floor", "Gflop/s", "not measured: Inductor needs a C++ compiler"):
            self.assertIn(part, result.out)

    def test_bad_input(self):
        self.refused(self.call("bench", MODELS / "clean.py", "--device", "tpu"), 2, "--device takes cpu, vulkan or all")
        self.refused(self.call("bench", MODELS / "clean.py", "--threads", "0"), 2, "--threads takes 1 to 4096")
        self.refused(self.call("bench", MODELS / "clean.py", "--block", "no"), 2, "--block takes a number above 0")
        self.refused(self.call("bench", MODELS / "clean.py", "--arm", "tpu"), 2, "no arm 'tpu'")
        self.refused(self.call("bench", "nowhere.py"), 2, "nowhere.py")
        self.refused(self.call("bench", MODELS / "raises.py"), 3, "nothing to time")


class TraceExport(Case):
    def test_a_timeline_of_calls(self):
        path = self.write("m.py", "import torch\ndef f(x):\n    y = x.sin() * 2\n    print(end='')\n    return y.relu().sum(0)\n")
        result = self.call("trace-export", "--json", f"{path}:f", "--input", "f32[64,64]", "-o", "t.json", "--calls", "5")
        self.assertEqual(result.code, 0, result.err)
        facts, trace = result.json, json.loads((self.folder / "t.json").read_text())
        self.assertEqual(facts["calls"], 5)
        parts = facts["parts_us"]
        whole = parts.pop("call")
        self.assertGreater(parts["segments"], 0)
        self.assertGreater(parts["python"], 0)
        self.assertEqual(parts["compile"], 0)
        events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        calls = [event for event in events if event["name"] == "call"]
        self.assertEqual(len(calls), 5)
        for call in calls:  # the parts of a call follow one another and add up to it
            inside = sorted((e for e in events if e["tid"] == 2 and call["ts"] <= e["ts"] < call["ts"] + call["dur"]), key=lambda e: e["ts"])
            self.assertAlmostEqual(sum(e["dur"] for e in inside), call["dur"], delta=0.01)
            self.assertEqual([e["cat"] for e in inside].count("segments"), 2)
            self.assertTrue(any(e["name"].startswith("Python: print") and e["args"]["line"] == 4 for e in inside), inside)
        self.assertTrue(any(event["tid"] == 3 for event in events))
        self.assertGreater(facts["event_ns"], 0)
        self.assertGreater(whole, 0)

    def test_bad_input(self):
        self.refused(self.call("trace-export", MODELS / "clean.py"), 2, "-o FILE")
        self.refused(self.call("trace-export", MODELS / "clean.py", "-o", "/nonexistent/t.json"), 2, "can't be written")
        self.refused(self.call("trace-export", MODELS / "raises.py", "-o", "t.json"), 3, "nothing to record")


class Parity(Case):
    def test_places_agree(self):
        path = self.write(
            "m.py",
            "import torch\n\ndef f(x):\n    if x.sum() > 0:\n        x = x * 2\n    torch._dynamo.graph_break()\n    return x + 1\n"
            "\ntorch.compile(f)(torch.ones(3))\nprint('done')\n",
        )
        result = self.call("parity", "--json", path)
        self.assertEqual(result.code, 0, result.err)
        self.assertEqual([(place["verdict"], place["line"]) for place in result.json["places"]], [("agree", 4), ("agree", 6)])
        for side in ("ours", "theirs"):
            self.assertEqual((result.json[side]["places"], result.json[side]["given_up"], result.json[side]["error"]), (2, 0, ""))
            self.assertGreater(result.json[side]["trace_ms"], 0)
        self.assertEqual(result.err.count("done"), 1)

    def test_text_of_a_named_target(self):
        path = self.write("m.py", "import torch\n\ndef f(x):\n    return x + 1\n\ndef g(x):\n    y = x * 2\n    print(y.shape)\n    return y\n")
        result = self.call("parity", f"{path}:g", "--input", "f32[3]")
        self.assertIn("PyTorch 2.", result.out)
        self.assertIn("m.py:8", result.out)
        whole = self.call("parity", f"{path}:f", "--input", "f32[3]")
        self.assertEqual(whole.code, 0, whole.err)
        self.assertIn("No graph break on either side.", whole.out)

    def test_errors_on_both_sides(self):
        path = self.write("m.py", "import torch\n\ndef f(x):\n    if x.sum() > 0:\n        return x\n    return -x\n")
        result = self.call("parity", "--json", f"{path}:f", "--input", "f32[3]", "--fullgraph")
        self.assertEqual(result.code, 0, result.err)
        for side in ("ours", "theirs"):
            self.assertIn("Unsupported", result.json[side]["error"])

    def test_bad_input(self):
        self.refused(self.call("parity", "nowhere.py"), 2, "nowhere.py")
        self.refused(self.call("parity", "--policy", "a=b", "m.py"), 2, "--policy")


class Check(Case):
    MODEL = "import torch\n\n@torch.compile\ndef f(x):\n    y = x.sin()\n    %s\n    return y.cos() * 2\n\nfor _ in range(3):\n    f(torch.ones(8))\n"

    def test_a_budget_holds_until_a_break_comes(self):
        model = self.write("m.py", self.MODEL % "print(end='')")
        self.assertEqual(self.call("check", model, "--budget", "b.json", "--update").code, 0)
        budget = json.loads((self.folder / "b.json").read_text())
        self.assertEqual((budget["breaks"], budget["graphs"], budget["given_up"]), (1, 2, 0))
        self.assertEqual([(k["file"], k["function"], k["reason"]) for k in budget["known"]], [("m.py", "f", "print")])
        self.assertNotIn("time_ratio", budget)
        self.write("m.py", "# moved down\n\n" + self.MODEL % "print(end='')")
        result = self.call("check", model, "--budget", "b.json", "--json")
        self.assertEqual((result.code, result.json["within"], result.json["new"], result.json["gone"]), (0, True, [], []))
        self.write("m.py", self.MODEL % "print(end=''); y = y + 1 if y.sum() > 0 else y")
        result = self.call("check", model, "--budget", "b.json", "--markdown", "o.md", "--sarif", "o.sarif")
        self.assertEqual(result.code, 1, result.err)
        self.assertIn("more breaks than allowed: 2 instead of 1", result.out)
        self.assertIn("new:  m.py:6  data-dependent-branch  y.sum() > 0", result.out)
        self.assertIn("**Over its budget.**", (self.folder / "o.md").read_text())
        run = json.loads((self.folder / "o.sarif").read_text())["runs"][0]
        levels = {r["ruleId"]: r["level"] for r in run["results"]}
        self.assertEqual(levels, {"print": "note", "data-dependent-branch": "error"})
        self.assertEqual(run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "m.py")
        self.write("m.py", self.MODEL % "pass")
        result = self.call("check", model, "--budget", "b.json", "--json")
        self.assertEqual((result.code, [k["reason"] for k in result.json["gone"]]), (0, ["print"]))

    def test_time_ratio(self):
        model = self.write("m.py", self.MODEL % "pass")
        self.write("b.json", '{"time_ratio": 1000}')
        result = self.call("check", model, "--budget", "b.json", "--json", "--rounds", "5")
        self.assertEqual(result.code, 1, result.err)
        self.assertEqual([e["what"] for e in result.json["over"]], ["time ratio"])
        self.assertGreater(result.json["time_ratio"], 0)
        self.write("b.json", '{"time_ratio": 0.0001}')
        self.assertEqual(self.call("check", model, "--budget", "b.json", "--rounds", "5").code, 0)

    def test_bad_input(self):
        model = self.write("m.py", self.MODEL % "pass")
        self.refused(self.call("check", model), 2, "--budget FILE")
        self.refused(self.call("check", model, "--budget", "none.json"), 2, "none.json", "--update")
        for text, part in (("{", "not a JSON object"), ('{"brakes": 1}', "'brakes'"), ('{"breaks": "1"}', "breaks is not a number"), ('{"schema": 2}', "schema")):
            self.write("b.json", text)
            self.refused(self.call("check", model, "--budget", "b.json"), 2, part)
        self.write("b.json", "{}")
        self.write("m.py", self.MODEL % "raise ValueError('no')")
        self.refused(self.call("check", model, "--budget", "b.json"), 3, "nothing to check")


class RunAndPython(Case):
    def test_run_makes_torch_compile_ours(self):
        script = self.write(
            "s.py",
            "import sys, torch\n"
            "@torch.compile\n"
            "def f(x):\n"
            "    y = x + 1\n"
            "    torch._dynamo.graph_break()\n"
            "    return y * 2\n"
            "assert f(torch.ones(2)).tolist() == [4.0, 4.0]\n"
            "print(f.stats['breaks'], __name__, sys.argv[1:], 'torch._dynamo.convert_frame' in sys.modules)\n"
            "sys.exit(5)\n",
        )
        result = self.call("run", script, "--json", "x")
        self.assertEqual((result.code, result.out), (5, "1 __main__ ['--json', 'x'] False\n"), result.err)

    def test_run_shows_the_scripts_own_traceback(self):
        script = self.write("s.py", "def f():\n    raise KeyError('k')\nf()\n")
        result = self.call("run", script)
        self.assertEqual(result.code, 1)
        self.assertEqual(
            result.err,
            "Traceback (most recent call last):\n"
            f'  File "{script}", line 3, in <module>\n    f()\n  File "{script}", line 2, in f\n    raise KeyError(\'k\')\nKeyError: \'k\'\n',
        )

    def test_run_of_a_module(self):
        (self.folder / "pkg").mkdir()
        self.write("pkg/__init__.py", "")
        self.write("pkg/part.py", "K = 3\n")
        self.write(
            "pkg/__main__.py",
            "import os, sys, torch\nfrom .part import K\nf = torch.compile(lambda x: x * K)\n"
            "print(f(torch.ones(1)).item(), f.stats['graphs'], __name__, __package__, __spec__.name, os.path.basename(sys.argv[0]), sys.argv[1:])\n",
        )
        result = self.call("run", "-m", "pkg", "--x")
        self.assertEqual((result.code, result.out), (0, "3.0 1 __main__ pkg pkg.__main__ __main__.py ['--x']\n"), result.err)
        for words, part in ((["-m", "pkgg"], "no module named pkgg"), (["-m", "pkg.part.x"], "pkg.part"), (["-m"], "name of a module")):
            result = self.call("run", *words)
            self.assertEqual(result.code, 2)
            self.assertIn(part, result.err)

    def test_a_module_as_a_target(self):
        (self.folder / "pkg" / "sub").mkdir(parents=True)
        self.write("pkg/__init__.py", "import torch\nprint('once')\nhalf = torch.compile(lambda x: x / 2)\n")
        self.write("pkg/sub/__init__.py", "K = 3\n")
        text = "import os, sys, torch\nfrom {} import K\nimport pkg\nf = torch.compile(lambda x: x * K)\npkg.half(f(torch.ones(1)))\nprint(__name__, __package__, __spec__.name, os.path.relpath(sys.argv[0]), sys.argv[1:], sys.path[0] == os.getcwd())\n"
        self.write("pkg/sub/__main__.py", text.format("."))
        self.write("pkg/main.py", text.format(".sub"))
        self.write("alone.py", text.format("pkg.sub"))
        (self.folder / "pkg" / "bare" / "inner").mkdir(parents=True)  # no __init__.py in either
        self.write("pkg/bare/inner/math.py", text.format("pkg.sub"))
        for module, said in (
            ("pkg.sub", "once\n__main__ pkg.sub pkg.sub.__main__ pkg/sub/__main__.py ['-m', 'x'] True\n"),
            ("pkg.main", "once\n__main__ pkg pkg.main pkg/main.py ['-m', 'x'] True\n"),
            ("pkg.bare.inner.math", "once\n__main__ pkg.bare.inner pkg.bare.inner.math pkg/bare/inner/math.py ['-m', 'x'] True\n"),
            ("alone", "once\n__main__  alone alone.py ['-m', 'x'] True\n"),
        ):
            result = self.call("explain", "-m", module, "--json", "--", "-m", "x")
            self.assertEqual((result.code, result.err), (0, said))
            self.assertEqual([target["graphs"] for target in result.json["targets"]], [1, 1])
            result = self.call("run", "-m", module, "-m", "x")
            self.assertEqual((result.code, result.out), (0, said), result.err)
            if module in ("pkg.main", "pkg.bare.inner.math"):  # plain Python says the same
                plain = subprocess.run([sys.executable, "-m", module, "-m", "x"], capture_output=True, text=True, cwd=self.folder, env={**os.environ, "TORCHDYNAMO_DISABLE": "1"})
                self.assertEqual(plain.stdout, said, plain.stderr)
        for module, part in (("pkgg", "no module named pkgg"), ("pkg.main.x", "no module named pkg.main.x"), ("pkg", "no module named pkg.__main__"), ("math", "Python source"), (".", "no module named")):
            self.refused(self.call("explain", "-m", module), 2, part)
        self.refused(self.call("explain", "-m", "alone", "--input", "f32[2]"), 2, "alone:Net")

    def test_a_file_in_a_package(self):
        (self.folder / "pkg").mkdir()
        self.write("pkg/__init__.py", "")
        self.write("pkg/part.py", "K = 3\n")
        path = self.write("pkg/net.py", "from .part import K\ndef f(x):\n    return x * K\n")
        for target in (f"{path}:f", "pkg.net:f"):
            result = self.call("explain", "--json", target, "--input", "f32[3]")
            self.assertEqual((result.code, result.json["targets"][0]["ops"]), (0, 1), result.err)
        main = self.write("pkg/main.py", "import torch\nfrom .net import f\nassert __package__ == 'pkg'\nif __name__ == '__main__':\n    torch.compile(f)(torch.ones(3))\n")
        result = self.call("explain", "--json", main, "--", "x")  # as python -m pkg.main
        self.assertEqual((result.code, result.json["targets"][0]["ops"]), (0, 1), result.err)
        dotted = self.write("my-net.v2.py", "def f(x):\n    return x + 1\n")
        result = self.call("explain", "--json", f"{dotted}:f", "--input", "f32[3]")
        self.assertEqual((result.code, result.json["targets"][0]["ops"]), (0, 1), result.err)
        alone = self.write("alone.py", "from .part import K\n")
        self.refused(self.call("explain", alone), 2, "imports relative to a package", "PACKAGE.alone:NAME")

    def test_run_of_nothing(self):
        self.assertIn("is a folder", self.call("run", self.folder).err)
        result = self.call("run", self.folder / "none.py")
        self.assertEqual(result.code, 2)
        self.assertIn("There is no file", result.err)

    def test_python_has_the_package(self):
        result = self.call("python", "-c", "import sys, breakline; print(breakline.__version__, 'torch' in sys.modules, sys.argv[1:])", "--x")
        self.assertEqual((result.code, result.out), (0, "0.1.0 False ['--x']\n"), result.err)


class BadInput(Case):
    def test_syntax_error(self):
        path = self.write("m.py", "import torch\n\ndef f(x:\n    return x\n")
        self.refused(self.call("explain", path), 2, "m.py, line 3 is no Python", "was never closed", "mend it")

    def test_missing_import(self):
        path = self.write("m.py", "import torch\nimport no_such_module_here\n")
        self.refused(self.call("explain", path), 2, "needs the module 'no_such_module_here'", "install it")

    def test_missing_target(self):
        self.refused(self.call("explain", "nothing.py"), 2, "There is no file nothing.py")
        self.refused(self.call("explain", "nothing.py:Net()"), 2, "There is no file nothing.py")
        (self.folder / "dangling.py").symlink_to("nowhere.py")
        self.refused(self.call("explain", "dangling.py"), 2, "dangling.py is a link to nowhere.py, which is not there")
        self.refused(self.call("explain", f"{MODELS / 'branch.py'}:Nett"), 2, "has no 'Nett'", "did you mean Net?")
        self.refused(self.call("explain", f"{MODELS / 'branch.py'}:Net(open('x'))"), 2, "must be literals")
        self.refused(self.call("explain", "no_such_module:f"), 2, "no module named no_such_module")
        self.refused(self.call("explain", "torch.nn:functional"), 2, "can't be called")
        path = self.write("k.py", "class Needs:\n    def __init__(self, width): pass\nclass Fails:\n    def __init__(self): raise KeyError('k')\n")
        self.refused(self.call("explain", f"{path}:Needs"), 2, "takes arguments (missing a required argument: 'width')", ":Needs(128")
        self.refused(self.call("explain", f"{path}:Fails"), 3, "Fails raised KeyError: 'k'")

    def test_wrong_inputs(self):
        model = f"{MODELS / 'branch.py'}:scale"
        self.refused(self.call("explain", model, "--input", "f32[2"), 2, "is no input")
        self.refused(self.call("explain", model), 2, "missing a required argument: 'x'", "--input")
        self.refused(self.call("explain", model, "--input", "f32[2]", "--input", "fctor=2"), 2, "fctor")
        self.refused(self.call("explain", MODELS / "clean.py", "--input", "f32[2]"), 2, "--input is for a target with a name")

    def test_wrong_policy(self):
        self.refused(self.call("explain", MODELS / "clean.py", "--policy", "nonsense=error"), 2, "is no policy key")
        self.refused(self.call("explain", MODELS / "clean.py", "--policy", "fn:clean.py:f=maybe"), 2, "inherit, allow or error")

    def test_no_compiled_call(self):
        path = self.write("m.py", "import torch\nprint(torch.ones(1).sum())\n")
        result = self.call("explain", "--json", path)
        self.refused(result, 2, "never called a compiled function", "@torch.compile")
        path = self.write("m.py", "import torch\n@torch.compile\ndef g(x):\n    return x\n")
        self.refused(self.call("explain", path), 2, "compiles g but never calls it: call it, or name one with inputs, as in m.py:g ")

    def test_interpreters(self):
        self.refused(self.call("explain", MODELS / "clean.py", "--python", "/nonexistent/python"), 2, "no interpreter '/nonexistent/python'")
        fake = self.write("not_python", "#!/bin/sh\necho nonsense; echo; yes | head -c 9000\n")
        fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
        result = self.call("explain", MODELS / "clean.py", "--python", fake)
        self.assertEqual(result.code, 4)
        self.assertIn("not a Breakline engine", result.sentence)

        self.refused(self.call("explain", MODELS / "clean.py", "--python", "/bin/sh"), 2, "can't start Breakline's engine", "--python")

    def test_interpreter_without_torch(self):
        sitecustomize = self.write("sitecustomize.py", "import sys\nsys.modules['torch'] = None\n")
        result = self.call("explain", MODELS / "clean.py", env={"PYTHONPATH": str(sitecustomize.parent)})
        self.refused(result, 2, "can't import torch", "--python")

    def test_old_torch(self):
        (self.folder / "torch").mkdir()
        self.write("torch/__init__.py", "__version__ = '2.9.1'\n")
        result = self.call("explain", MODELS / "clean.py", env={"PYTHONPATH": str(self.folder)})
        self.refused(result, 2, "needs PyTorch 2.10 or newer", "2.9.1")

    def test_engine_for_another_python(self):
        package = self.folder / "python"
        shutil.copytree(os.path.join(os.environ["BREAKLINE_BINARY_DIR"], "python"), package, ignore=shutil.ignore_patterns("_breakline.*", "__pycache__"))
        binary = self.folder / "bin"
        binary.mkdir()
        shutil.copy(BREAKLINE, binary)
        environment = {**os.environ, "BREAKLINE_PYTHON": sys.executable}
        for name, part in ((None, "is not built for CPython"), ("_breakline.cpython-399-x.so", "was built for another Python")):
            if name:
                (package / "breakline" / name).write_bytes(b"")
            done = subprocess.run([binary / "breakline", "explain", MODELS / "clean.py"], capture_output=True, text=True, env=environment, timeout=120)
            self.refused(Result(done), 2, part, "packaging/start.sh")

    def test_unreadable_and_not_utf8(self):
        path = self.write("m.py", b"import torch\nx = '\xff\xfe'\n")
        self.refused(self.call("explain", path), 2, "not valid UTF-8", "line 2")
        self.refused(self.call("explain", self.folder), 2, "is a folder")
        if os.geteuid() != 0:
            path = self.write("n.py", "pass\n")
            path.chmod(0)
            self.refused(self.call("explain", path), 2, "can't be read")

    def test_the_scripts_error_before_any_compiled_call(self):
        path = self.write("m.py", "import torch\nraise ValueError('early')\n")
        result = self.call("explain", path)
        self.refused(result, 3, "m.py raised ValueError: early")
        self.assertIn('line 2, in <module>', result.err)

    def test_engine_death_and_timeout(self):
        path = self.write("m.py", "import os, torch\nos.kill(os.getpid(), 9)\n")
        self.refused(self.call("explain", path), 4, "signal 9")
        path = self.write("m.py", "import torch\nwhile True:\n    pass\n")
        self.refused(self.call("explain", path, "--timeout", "20"), 4, "within 20 s")

    def test_the_timeout_is_of_the_whole_command(self):
        path = self.write("m.py", "import time, torch\ntime.sleep(7.5)\ntorch.compile(lambda x: x + 1)(torch.ones(2))\n")
        self.refused(self.call("explain", path, "--timeout", "8"), 4, "within 8 s")  # starting takes more than the half second left

    def test_refusals_have_no_hints_at_pytorchs_logs(self):
        path = self.write("m.py", "import torch\n@torch.compile(fullgraph=True)\ndef f(x):\n    torch._dynamo.graph_break()\n    return x\ntry:\n    f(torch.ones(2))\nexcept Exception as error:\n    print('TORCH_LOGS' in str(error))\nf(torch.ones(2))\n")
        result = self.call("explain", path)
        self.assertEqual(result.code, 3, result.err)
        self.assertIn("True\n", result.out)  # the exception's text is PyTorch's own
        self.assertIn("from user code:", result.out)
        self.assertIn("the trace was refused, so nothing was compiled.", result.out)
        ran = self.call("run", path)
        self.assertEqual((ran.code, ran.out), (1, "True\n"))
        self.assertIn("from user code:", ran.err)
        for text in (result.out, result.err, ran.err, self.call("explain", "--json", path).out, self.call("time", path).err):
            self.assertNotIn("TORCH_LOGS", text)
            self.assertNotIn("TORCHDYNAMO_VERBOSE", text)
            self.assertNotIn("tracing 0.00", text)

    def test_diagnose(self):
        self.refused(self.call("diagnose", "none.log"), 2, "can't be read")
        self.refused(self.call("diagnose", "-", text=" \n"), 2, "is empty")
        result = self.call("diagnose", "-", text="torch._dynamo.exc.Unsupported: Data-dependent branching\n")
        self.assertEqual(result.code, 0)
        self.assertIn("Workarounds", result.out)
        result = self.call("diagnose", "--json", "-", text="Data-dependent branching\n")
        self.assertIn("data-dependent-branch", result.json[0]["record"]["id"])

    def test_diagnose_without_a_hit(self):
        for words in ([], ["--zh"], ["--json"]):
            result = self.call("diagnose", "-", *words, text="the weather is fine\n")
            self.assertEqual(result.code, 1)
            self.assertEqual(len(result.err.strip().splitlines()), 1, result.err)
            self.assertTrue(result.sentence.startswith("breakline: "), result.err)
            self.assertEqual(result.out.strip(), "[]" if words == ["--json"] else "")

    def test_usage(self):
        for words in ([], ["explode"], ["explain"], ["explain", "a", "--nope"]):
            self.refused(self.call(*words), 2)


if __name__ == "__main__":
    unittest.main()
