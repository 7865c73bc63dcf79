# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine process over its protocol: toggles from a recording, edits, cancelling, output, wrong messages."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

MODEL = '''import torch
calls = []

@torch.compile
def f(x):
    calls.append(1)
    y = x + 1
    torch._dynamo.graph_break()
    y = y * 2
    print("inside", len(calls))
    return y

x = torch.zeros(2)
f(x)
f(x)
print("done", len(calls))
'''


class Engine:
    def __init__(self, folder):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "breakline.engine"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder, env=os.environ
        )
        self.number = 0
        self.output = []

    def write(self, body):
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def send(self, method, **params):
        self.number += 1
        self.write(json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}).encode())
        return self.number

    def read(self):
        length = None
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise EOFError
            if not line.strip():
                break
            length = int(line.split(b":")[1])
        return json.loads(self.process.stdout.read(length))

    def answer(self, number):
        while True:
            message = self.read()
            if message.get("method") == "output":
                self.output.append(message["params"])
            elif "method" not in message and message.get("id") == number:
                return message

    def call(self, method, **params):
        self.output = []
        message = self.answer(self.send(method, **params))
        return message["result"] if "result" in message else message["error"]

    def text(self, label):
        return "".join(piece["text"] for piece in self.output if piece["label"] == label)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="breakline-engine-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.engine = Engine(self.folder)
        self.addCleanup(self.engine.close)

    def write(self, text, name="m.py"):
        (self.folder / name).write_text(text)
        return name

    def lines(self, report):
        return [(item["line"], item["policy"]["effective"], item["policy"]["source"]) for item in report["breaks"]]


class Live(Case):
    def test_toggles_come_from_the_recording(self):
        report = self.engine.call("open", target=self.write(MODEL))
        self.assertEqual(self.engine.text("run"), "inside 1\ninside 2\ndone 2\n")
        self.assertEqual(self.lines(report), [(8, "allow", "default"), (10, "allow", "default")])
        self.assertEqual([t["name"] for t in report["targets"]], ["f"])
        for _ in range(2):
            report = self.engine.call("policy.set", overlays=[{"key": "lines:m.py:9-10", "value": "error"}])
            self.assertEqual(self.engine.output, [])
            self.assertEqual(self.lines(report), [(8, "allow", "default"), (10, "error", "lines:m.py:9-10")])
            self.assertIn("Failed to trace builtin operator", report["targets"][0]["error"]["message"])
            self.assertEqual(report["overlays"][0]["effect"], True)
            report = self.engine.call("policy.set", overlays=[])
            self.assertEqual(self.engine.text("recompile"), "inside 1\n")
            self.assertEqual(self.lines(report), [(8, "allow", "default"), (10, "allow", "default")])
            self.assertIsNone(report["targets"][0]["error"])
        self.assertEqual([piece["label"] for piece in report["output"]], ["recompile"])

    def test_an_edit_moves_overlays_and_a_broken_one_loses_nothing(self):
        self.engine.call("open", target=self.write(MODEL), overlays=[{"key": "lines:m.py:8-8", "value": "error"}])
        edited = MODEL.replace("calls = []\n", "calls = []\n\n# a comment\n")
        report = self.engine.call("reload", text=edited)
        self.assertEqual(self.lines(report), [(10, "error", "lines:m.py:10-10")])
        self.assertEqual(report["overlays"][0]["key"], "lines:m.py:10-10")
        error = self.engine.call("reload", text=edited.replace("return y", "return ("))
        self.assertEqual((error["code"], error["data"]["kind"]), (1, "syntax"))
        self.assertIn("m.py, line", error["message"])
        report = self.engine.call("policy.set", overlays=[])
        self.assertEqual(self.lines(report), [(10, "allow", "default"), (12, "allow", "default")])
        gone = self.engine.call("reload", text=edited.replace("    torch._dynamo.graph_break()\n", ""))
        self.assertEqual([line for line, _, _ in self.lines(gone)], [11])
        os.unlink(self.folder / "m.py")
        error = self.engine.call("reload")
        self.assertEqual((error["code"], error["data"]["kind"]), (1, "unreadable"))

    def test_a_file_that_starts_broken_can_be_mended(self):
        error = self.engine.call("open", target=self.write("def f(:\n"))
        self.assertEqual(error["data"]["kind"], "syntax")
        self.assertEqual(self.engine.call("time", target="f")["data"]["kind"], "no_compiled_call")
        report = self.engine.call("reload", text=MODEL)
        self.assertEqual(len(report["breaks"]), 2)

    def test_what_cannot_be_recorded_is_run_again(self):
        model = MODEL.replace("def f(x):", "def f(x, g):\n    next(g)").replace("f(x)\n", "f(x, iter_())\n", 2).replace(
            "x = torch.zeros(2)", "def iter_():\n    yield 1\nx = torch.zeros(2)"
        )
        report = self.engine.call("open", target=self.write(model))
        self.assertIsNone(report["targets"][0]["error"])
        self.assertIn("generator", report["targets"][0]["uncloneable"][0])
        self.engine.call("policy.set", overlays=[{"key": "fn:m.py:nothing", "value": "error"}])
        self.engine.call("policy.set", overlays=[{"key": "fn:m.py:f", "value": "allow"}])
        self.assertEqual(self.engine.text("recompile").splitlines()[-1], "done 2")

    def test_the_ambient_region_belongs_to_the_recording(self):
        model = MODEL.replace("@torch.compile\n", "@torch._dynamo.error_on_graph_break(True)\n@torch.compile\n").replace(
            "    torch._dynamo.graph_break()\n", "    with torch._dynamo.error_on_graph_break(False):\n        torch._dynamo.graph_break()\n"
        ).replace('    print("inside", len(calls))\n', "")
        report = self.engine.call("open", target=self.write(model))
        self.assertIsNone(report["targets"][0]["error"])
        report = self.engine.call("policy.set", overlays=[{"key": "lines:m.py:9-12", "value": "inherit"}])
        report = self.engine.call("policy.set", overlays=[{"key": "lines:m.py:9-12", "value": "error"}])
        self.assertIn("graph_break", report["targets"][0]["error"]["message"])
        report = self.engine.call("policy.set", overlays=[])
        self.assertIsNone(report["targets"][0]["error"])

    def test_timings(self):
        self.engine.call("open", target=self.write(MODEL.replace('    print("inside", len(calls))\n', "")))
        timings = self.engine.call("time", target="f", rounds=8, arms=["cpu"])
        self.assertEqual([arm["id"] for arm in timings["arms"]], ["eager", "eager_aa", "cpu"])
        self.assertTrue(timings["arms"][2]["equal"])
        self.assertLessEqual(timings["noise"]["low"], timings["noise"]["high"])
        report = self.engine.call("policy.set", overlays=[])
        self.assertEqual(len(report["breaks"]), 1)

    def test_profiles(self):
        path = self.write(MODEL)
        self.engine.call("open", target=path)
        before = self.engine.call("policy.set", overlays=[{"key": "fn:m.py:f", "value": "allow"}])
        p = self.engine.call("profile", target="f")
        self.assertEqual((p["note"], self.engine.output), ("", []))
        self.assertGreaterEqual(p["calls"], 3)
        self.assertEqual([(item["id"], item["events"]) for item in p["breaks"]], [(item["id"], 1) for item in before["breaks"]])
        item = p["breaks"][0]
        self.assertAlmostEqual(item["cost_us"], item["leave_us"] + item["enter_us"])
        self.assertTrue(all(item[part] > 0 for part in ("leave_us", "enter_us", "instruction_us")))
        timed = {segment["id"] for segment in p["segments"]}
        self.assertTrue(timed)
        self.assertLessEqual(timed, {segment["id"] for segment in before["targets"][0]["segments"]})
        lines = {line["line"]: line["time_us"] for line in p["lines"]}
        self.assertLessEqual({7, 8, 9, 10}, lines.keys())
        self.assertTrue(all(us > 0 for us in lines.values()))
        self.assertLess(item["cost_us"] + item["instruction_us"], lines[8] + 1e-6)
        # the program's own state is as before, and the next report counts as if no profile had been taken
        again = self.engine.call("policy.set", overlays=[])
        self.assertEqual(again["breaks"][0]["events"], before["breaks"][0]["events"])
        self.assertEqual(self.engine.text("recompile"), "inside 1\n")

    def test_an_error_of_the_script_is_no_error_of_its_calls(self):
        # three calls of one kind, a break inside a helper, and one inside the library that the helper calls
        path = self.write(
            "import sys\nimport torch\n\ndef helper(x):\n    print('called')\n    return x + 1\n\n"
            "@torch.compile\ndef f(x):\n    return helper(x) * 2\n\n"
            "for _ in range(3):\n    f(torch.zeros(2))\nsys.exit(7)\n"
        )
        report = self.engine.call("open", target=path)
        target = report["targets"][0]
        self.assertEqual((target["error"]["type"], target["error"]["message"], target["error"]["break"]), ("SystemExit", "7", None))
        (item,) = target["breaks"]
        self.assertEqual((item["code"], item["events"], target["calls"]), ("print('called')", 3, 3))
        self.assertEqual((item["user"]["file"], item["user"]["line"], item["user"]["function"]), (str(self.folder / path), 5, "helper"))
        # a region counts what its lines call
        self.assertEqual({g["qualname"]: g["breaks"] for g in report["regions"]}, {"helper": 1, "f": 1})
        profile = self.engine.call("profile")
        self.assertEqual((profile["note"], profile["breaks"][0]["events"]), ("", 1))
        report = self.engine.call("policy.set", overlays=[{"key": "fn:m.py:f", "value": "allow"}])
        target = report["targets"][0]
        self.assertEqual((target["breaks"][0]["events"], target["calls"]), (1, 1))
        self.assertEqual(target["error"]["type"], "SystemExit")
        report = self.engine.call("policy.set", overlays=[{"key": "fn:m.py:f", "value": "error"}])
        self.assertIn("Unsupported", report["targets"][0]["error"]["type"])
        report = self.engine.call("policy.set", overlays=[])
        self.assertEqual(report["targets"][0]["error"]["type"], "SystemExit")

    def test_breaks_in_a_library_belong_to_the_line_that_called_it(self):
        library = os.path.join(str(self.folder), "site-packages")
        os.makedirs(library)
        with open(os.path.join(library, "far.py"), "w") as file:
            file.write("def away(x):\n    print('far')\n    return x * 3\n")
        path = self.write(
            f"import sys\nsys.path.insert(0, {library!r})\nimport torch\nimport far\n\n"
            "@torch.compile\ndef f(x):\n    x = x + 1\n    return far.away(x)\n\nf(torch.zeros(2))\n"
        )
        report = self.engine.call("open", target=path)
        (item,) = report["breaks"]
        self.assertTrue(item["file"].endswith("far.py"))
        self.assertEqual((item["user"]["file"], item["user"]["line"], item["user"]["function"]), (str(self.folder / path), 9, "f"))
        self.assertEqual([(g["qualname"], g["breaks"]) for g in report["regions"]], [("f", 1)])

    def test_profiles_that_are_not_taken_say_why(self):
        path = self.write(MODEL)
        self.engine.call("open", target=path, overlays=[{"key": "fn:m.py:f", "value": "error"}])
        self.assertIn("ends with an error", self.engine.call("profile")["note"])
        path = self.write(MODEL.replace('print("inside"', 'open(__file__).close(); print("inside"'))
        self.engine.call("open", target=path)
        p = self.engine.call("profile")
        self.assertEqual((p["calls"], p["breaks"]), (0, []))
        self.assertIn("press Measure", p["note"])
        path = self.write(MODEL.replace("y = x + 1", "import time; time.sleep(4); y = x + 1"))
        self.engine.call("open", target=path)
        self.assertIn("take long", self.engine.call("profile")["note"])
        self.assertEqual(len(self.engine.call("reload")["breaks"]), 3)  # and the engine goes on

    def test_endless_output_is_cut(self):
        path = self.write(MODEL + "for number in range(60_000):\n    print('x' * 99)\n")
        self.engine.call("open", target=path)
        text = self.engine.text("run")
        self.assertLess(len(text), 2_100_000)
        self.assertIn("is not shown]", text)
        self.engine.call("policy.set", overlays=[{"key": "fn:m.py:f", "value": "allow"}])
        self.assertIn("inside 1", self.engine.text("recompile"))


class Wire(Case):
    def test_hello(self):
        hello = self.engine.call("hello", protocol=1, client="test")
        self.assertEqual((hello["protocol"], hello["pid"], hello["python_path"]), (1, self.engine.process.pid, sys.executable))
        self.assertEqual([device["id"] for device in hello["devices"]], ["cpu", "vulkan"])
        self.assertIn("protocol", self.engine.call("hello", protocol=99, client="test")["message"])

    def test_wrong_messages_are_answered(self):
        self.assertEqual(self.engine.call("no.such")["code"], -32601)
        self.assertEqual(self.engine.call("open")["code"], -32602)
        self.assertEqual(self.engine.call("open", target="x.py", wrong=1)["code"], -32602)
        self.engine.write(b"{")
        self.assertEqual(self.engine.read()["error"]["code"], -32700)
        self.engine.write(b"[1]")
        self.assertEqual(self.engine.read()["error"]["code"], -32600)
        self.assertEqual(self.engine.call("policy.set", overlays=[])["data"]["kind"], "missing_target")

    def test_cancel_ends_a_loop_and_the_engine_goes_on(self):
        number = self.engine.send("open", target=self.write("import torch, sys\nprint('started', flush=True)\nwhile True: pass\n", "loop.py"))
        while True:
            message = self.engine.read()
            if message.get("method") == "output" and "started" in message["params"]["text"]:
                break
        cancel = self.engine.send("cancel", id=number)
        self.assertEqual(self.engine.answer(cancel)["result"], {})
        self.assertEqual(self.engine.answer(number)["error"]["code"], -32800)
        self.assertEqual(len(self.engine.call("open", target=self.write(MODEL))["breaks"]), 2)

    def test_all_kinds_of_output_are_captured(self):
        model = (
            "import os, subprocess, sys, torch\n"
            "os.write(1, b'raw \\xff\\n')\n"
            "subprocess.run([sys.executable, '-c', 'print(\"child\")'])\n"
            "print('caf\\u00e9 \\ud800', file=sys.stderr)\n"
            "sys.stdout.write('no newline')\n"
            "f = torch.compile(lambda x: x + 1)\n"
            "f(torch.ones(1))\n"
        )
        report = self.engine.call("open", target=self.write(model))
        out = "".join(p["text"] for p in self.engine.output if p["stream"] == "stdout")
        err = "".join(p["text"] for p in self.engine.output if p["stream"] == "stderr")
        self.assertEqual(out, "raw \ufffd\nchild\nno newline")
        self.assertEqual(err, "caf\u00e9 \\ud800\n")
        self.assertEqual("".join(p["text"] for p in report["output"] if p["stream"] == "stdout"), out)

    def test_the_script_sees_what_plain_python_gives(self):
        probe = (
            "import os, sys\n"
            "probe = [__name__, sys.argv, sys.path[0], os.getcwd(), __file__, sys.modules['__main__'].__dict__ is globals(), sys.stdin.read()]\n"
        )
        self.write(probe + "print(probe)\n", "plain.py")
        plain = subprocess.run([sys.executable, "plain.py", "a", "-b"], capture_output=True, text=True, cwd=self.folder, stdin=subprocess.DEVNULL)
        name = self.write(probe + "import torch\nprint(probe)\ntorch.compile(lambda x: x + 1)(torch.ones(1))\n", "plain.py")
        self.engine.call("open", target=name, argv=["a", "-b"])
        self.assertEqual(self.engine.text("run"), plain.stdout)

    def test_shutdown(self):
        self.assertEqual(self.engine.call("shutdown"), {})
        self.assertEqual(self.engine.process.wait(60), 0)


if __name__ == "__main__":
    unittest.main()
