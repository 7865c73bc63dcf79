# SPDX-License-Identifier: GPL-3.0-or-later
"""`breakline dump` of model.py: stages that no machine decides are the same text as recorded (bytecode: for CPython 3.11), and twice the
same; those of the machine (llvm, asm, glsl, spirv) hold what they must. `dump_test.py --write` records anew."""
import os
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
RECORDED = ("bytecode", "graph", "schedule", "kernel-ir")
HOLDS = {"llvm": "define void @kernel(", "asm": "kernel:", "glsl": "#version 450", "spirv": "OpEntryPoint GLCompute"}


def dump(*options):
    breakline = os.path.join(os.environ["BREAKLINE_BINARY_DIR"], "bin", "breakline")
    environment = {**os.environ, "BREAKLINE_PYTHON": sys.executable}
    return subprocess.run([breakline, "dump", "model.py", *options], cwd=HERE, capture_output=True, encoding="utf-8", env=environment, timeout=300)


def own(text):
    """Without the code of PyTorch's own functions, which other versions write otherwise."""
    return "".join(f"== {entry}" for entry in text.split("== ")[1:] if "(model.py:" in entry.splitlines()[0])


def has(device):
    from breakline import _native

    return {d["id"]: d for d in _native.ready().devices()}[device]


class Dump(unittest.TestCase):
    def text(self, stage, *more):
        done = dump("--stage", stage, *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("half torch.Size", done.stderr)
        self.assertNotIn("half torch.Size", done.stdout)
        return own(done.stdout)

    def test_recorded(self):
        if has("cpu")["reason"]:
            self.skipTest("built without LLVM: schedules are those of another plan")
        for stage in RECORDED:
            if stage == "bytecode" and sys.version_info[:2] != (3, 11):
                continue  # other versions compile the same source to other instructions
            with self.subTest(stage=stage):
                self.assertEqual(self.text(stage), (HERE / f"{stage}.txt").read_text())

    def test_bytecode_is_stable(self):
        first = self.text("bytecode")
        self.assertEqual(first, self.text("bytecode"))
        self.assertIn("code block", first)
        self.assertIn("code turned", first)

    def test_machine_stages(self):
        if has("cpu")["reason"]:
            self.skipTest("built without LLVM: there are no kernels for the CPU")
        for stage in ("llvm", "asm"):
            with self.subTest(stage=stage):
                self.assertIn(HOLDS[stage], self.text(stage))

    def test_device_stages(self):
        device = has("vulkan")
        if not device["available"]:
            self.skipTest(f"no Vulkan device ({device['reason']}): install mesa-vulkan-drivers")
        for stage in ("glsl", "spirv"):
            with self.subTest(stage=stage):
                self.assertIn(HOLDS[stage], self.text(stage, "--device", "vulkan"))
        self.assertIn("has no stage llvm", self.text("llvm", "--device", "vulkan"))

    def test_json(self):
        import json

        entries = json.loads(dump("--stage", "graph", "--json").stdout)["entries"]
        self.assertEqual([e["plan"] for e in entries], ["cpu"] * len(entries))
        self.assertTrue(all(e["text"].startswith("graph(") for e in entries))

    def test_bad_stage(self):
        done = dump("--stage", "ptx")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertIn("kernel-ir", done.stderr)


if __name__ == "__main__":
    if "--write" in sys.argv:
        for stage in RECORDED:
            (HERE / f"{stage}.txt").write_text(own(dump("--stage", stage).stdout))
    else:
        unittest.main()
