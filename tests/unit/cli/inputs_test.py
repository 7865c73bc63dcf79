# SPDX-License-Identifier: GPL-3.0-or-later
"""The grammar of --input, the parsing of targets, and overlays that follow an edit."""
import os
import tempfile
import unittest

import torch

from breakline import overlays
from breakline.engine import faults, inputs, targets


class Inputs(unittest.TestCase):
    def build(self, *texts, seed=0):
        return inputs.build(inputs.parse(texts), seed)

    def test_tensors(self):
        for name, dtype in inputs.DTYPES.items():
            (value,), _ = self.build(f"{name}[2, 3]")
            self.assertEqual((tuple(value.shape), str(value.dtype)), ((2, 3), f"torch.{dtype}"), name)
        (scalar,), _ = self.build("f32[]")
        self.assertEqual(scalar.shape, ())

    def test_integers_are_bounded(self):
        (value, small), _ = self.build("i64[1000]<3", "i32[1000]")
        self.assertEqual(sorted(set(value.tolist())), [0, 1, 2])
        self.assertEqual(sorted(set(small.tolist())), list(range(10)))

    def test_grad_and_names_and_literals(self):
        args, kwargs = self.build("f64[4]!", "3", "mask=bool[4]", "mode='a=b'", "sizes=[1, 2]")
        self.assertTrue(args[0].requires_grad)
        self.assertEqual(args[1], 3)
        self.assertEqual((kwargs["mode"], kwargs["sizes"], kwargs["mask"].dtype), ("a=b", [1, 2], torch.bool))

    def test_the_seed_decides(self):
        first, again, other = self.build("f32[8]")[0][0], self.build("f32[8]")[0][0], self.build("f32[8]", seed=1)[0][0]
        self.assertTrue(torch.equal(first, again))
        self.assertFalse(torch.equal(first, other))
        self.assertTrue(torch.equal(first, torch.randn(8, generator=torch.Generator().manual_seed(0))))

    def test_wrong_specs(self):
        rows = {
            "f32": "dimensions are missing",
            "f32[2": "write DTYPE",
            "f32[2,x]": "'x' is not a whole number",
            "f32[-1]": "'-1' is not a whole number",
            "f33[2]": "f33 is none of the types",
            "f32[2]<3": "for integers only",
            "i64[2]!": "can require grad",
            "i8[2]<300": "beyond i8",
            "i64[2]<0": "above 0",
            "Net()": "write DTYPE",
            "": "write DTYPE",
            "f32[99999999,99999999,99999999]": "can't be made",
        }
        for text, part in rows.items():
            with self.assertRaises(faults.Fault, msg=text) as caught:
                self.build(text)
            self.assertIn(part, caught.exception.sentence)
            self.assertNotIn("\n", caught.exception.sentence)
        for texts, part in ((["x=1", "2"], "stand before"), (["x=1", "x=2"], "given twice")):
            with self.assertRaises(faults.Fault) as caught:
                self.build(*texts)
            self.assertIn(part, caught.exception.sentence)


class Targets(unittest.TestCase):
    def test_forms(self):
        self.assertIsInstance(targets.parse(__file__), targets.Script)
        for text, place, expression in (
            ("torch.nn:Linear(2, 3)", "torch.nn", "Linear(2, 3)"),
            ("a/b.py:Net(mode='x:y', n=-1)", "a/b.py", "Net(mode='x:y', n=-1)"),
            ("pkg.mod:outer.inner", "pkg.mod", "outer.inner"),
        ):
            target = targets.parse(text)
            self.assertEqual((target.place, target.text), (place, expression))

    def test_wrong_targets(self):
        with tempfile.TemporaryDirectory() as folder:
            open(os.path.join(folder, "model.py"), "w").close()
            rows = {
                "": "No target",
                folder: "is a folder",
                os.path.join(folder, "modle.py"): "did you mean",
                "torch.nn:2 + 3": "is no target",
                "torch.nn:Linear(": "is no target",
            }
            for text, part in rows.items():
                with self.assertRaises(faults.Fault, msg=text) as caught:
                    targets.parse(text)
                self.assertEqual(caught.exception.data["kind"], "missing_target")
                self.assertIn(part, caught.exception.sentence)


class Overlays(unittest.TestCase):
    def moved(self, key, old, new):
        state = {"key": key, "value": "error", "active": True, "effect": False, "note": ""}
        overlays.follow_text([state], "/d/m.py", "/d", old, new)
        return state

    def test_keys(self):
        for text in ("fn:m.py:Net.forward", "lines:m.py:3-9", "lines:m.py:3", "module:Net(4):layers.0"):
            overlays.check(text, "allow")
        for text in ("", "fn:m.py", "lines:m.py:9-3", "lines:m.py:a-b", "fn::f", "other:m.py:f", "lines:m.py:0-2"):
            with self.assertRaises(overlays.BadOverlay, msg=text):
                overlays.check(text, "allow")
        with self.assertRaises(overlays.BadOverlay):
            overlays.check("fn:m.py:f", "maybe")

    def test_ranges_follow_the_text(self):
        old = "".join(f"line {n}\n" for n in range(1, 11))
        self.assertEqual(self.moved("lines:m.py:4-6", old, "new\nnew\n" + old)["key"], "lines:m.py:6-8")
        inside = old.replace("line 5\n", "line 5\nadded\n")
        self.assertEqual(self.moved("lines:m.py:4-6", old, inside)["key"], "lines:m.py:4-7")
        changed_first = old.replace("line 4\n", "changed\n")
        self.assertEqual(self.moved("lines:m.py:4-6", old, changed_first)["key"], "lines:m.py:4-6")
        self.assertEqual(self.moved("lines:other.py:4-6", old, "x\n" + old)["key"], "lines:other.py:4-6")

    def test_a_lost_range_is_kept_inactive(self):
        old = "".join(f"line {n}\n" for n in range(1, 11))
        gone = "".join(f"line {n}\n" for n in (1, 2, 3, 7, 8, 9, 10))
        state = self.moved("lines:m.py:4-6", old, gone)
        self.assertFalse(state["active"])
        self.assertEqual(state["key"], "lines:m.py:4-6")
        self.assertIn("gone", state["note"])


if __name__ == "__main__":
    unittest.main()
