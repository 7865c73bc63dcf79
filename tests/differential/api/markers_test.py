# SPDX-License-Identifier: GPL-3.0-or-later
"""Markers and regions: what they mean in plain Python, inside compiled code, and when they are PyTorch's own objects in a
plain script."""
import subprocess
import sys
import threading
import unittest

import torch

import breakline
from breakline import markers

X = torch.tensor([1.0, -2.0])
E = breakline.error_on_graph_break


def broken(x):
    y = x + 1
    breakline.graph_break()
    return y * 2


class PlainPython(unittest.TestCase):
    def test_markers_do_nothing(self):
        for marker in (breakline.graph_break, breakline.skip_frame, breakline.step_unsupported):
            self.assertIsNone(marker())
            self.assertIsNone(marker("why"))
        self.assertFalse(breakline.is_compiling())

    def test_the_flag_nests_and_is_put_back(self):
        self.assertFalse(markers.region_flag())
        with E(True) as nothing:
            self.assertIsNone(nothing)
            self.assertTrue(markers.region_flag())
            with E(error_on_graph_break=False):
                self.assertFalse(markers.region_flag())
            self.assertTrue(markers.region_flag())
        with self.assertRaises(KeyError):
            with E(True):
                raise KeyError
        self.assertFalse(markers.region_flag())

    def test_a_region_object_recurses(self):
        region = E(True)
        seen = []

        @region
        def f(n):
            seen.append(markers.region_flag())
            return n if n == 0 else f(n - 1)

        self.assertEqual(f(2), 0)
        self.assertEqual(seen, [True] * 3)
        self.assertFalse(markers.region_flag())

    def test_the_decorator_is_a_plain_wrapper(self):
        wrapped = E(True)(broken)
        self.assertEqual((wrapped.__name__, wrapped.__doc__, hasattr(wrapped, "__wrapped__")), ("inner", None, False))
        self.assertTrue(torch.equal(wrapped(X), (X + 1) * 2))
        with self.assertRaises(TypeError):
            E()

    def test_the_flag_belongs_to_the_thread(self):
        seen = {}
        inside, done = threading.Event(), threading.Event()

        def other():
            inside.wait(60)
            seen["flag"] = markers.region_flag()
            seen["result"] = breakline.compile(broken)(X)
            done.set()

        thread = threading.Thread(target=other)
        thread.start()
        with E(True):
            inside.set()
            self.assertTrue(done.wait(60))
        thread.join()
        self.assertFalse(seen["flag"])
        self.assertTrue(torch.equal(seen["result"], (X + 1) * 2))


class Compiled(unittest.TestCase):
    def refused(self, function, *args):
        with self.assertRaises(breakline.Unsupported) as caught:
            function(*(args or (X,)))
        return caught.exception

    def test_regions_around_and_inside(self):
        compiled = breakline.compile(broken)
        with E(True):
            self.refused(compiled)
        self.assertTrue(torch.equal(compiled(X), broken(X)))
        with E(True):  # never answered from a segment made under another policy
            self.refused(compiled)
        self.refused(E(True)(breakline.compile(broken)))

        @breakline.compile
        def allowed(x):
            x = x + 1
            with E(False):
                breakline.graph_break()
            return x * 2

        with E(True):
            self.assertTrue(torch.equal(allowed(X), (X + 1) * 2))
        self.assertEqual(allowed.stats["breaks"], 1)

    def test_fullgraph_is_not_relaxed(self):
        @breakline.compile(fullgraph=True)
        def f(x):
            with E(False):
                breakline.graph_break()
            return x

        self.refused(f)

    def test_is_compiling(self):
        seen = []

        def f(x):
            return x + 1 if breakline.is_compiling() and torch.compiler.is_compiling() else x - 1

        self.assertTrue(torch.equal(breakline.compile(f)(X), X + 1))
        self.assertTrue(torch.equal(f(X), X - 1))
        self.assertEqual(seen, [])

    def test_disable(self):
        @breakline.disable
        def helper(x):
            breakline.graph_break()
            return x * 3

        @breakline.disable(recursive=False, reason="because")
        def shallow(x):
            return x * 5

        for function, factor in ((helper, 3), (shallow, 5)):
            compiled = breakline.compile(lambda x: function(x + 1) + 1)
            self.assertTrue(torch.equal(compiled(X), (X + 1) * factor + 1))
            self.assertEqual(compiled.stats["breaks"], 1)
            self.refused(breakline.compile(lambda x: function(x + 1) + 1, fullgraph=True))
        self.assertEqual((helper.__name__, helper._torchdynamo_disable), ("helper", True))
        item = compiled.report()["breaks"][0]
        self.assertIn("because", item["explanation"])

    def test_disabled_modules_and_classes(self):
        linear = torch.nn.Linear(2, 2)
        quiet = breakline.disable(linear)
        compiled = breakline.compile(lambda x: quiet(x) + 1)
        with torch.no_grad():
            self.assertTrue(torch.equal(compiled(X), linear(X) + 1))
        self.assertEqual(compiled.stats["breaks"], 1)

    def test_allow_in_graph_and_nonstrict_trace(self):
        @breakline.allow_in_graph
        def opaque(x):
            breakline.graph_break()
            return x * 3

        @breakline.nonstrict_trace
        def loose(x):
            breakline.graph_break()
            return x * 5

        for function, factor in ((opaque, 3), (loose, 5)):
            compiled = breakline.compile(lambda x: function(x + 1) - 1, fullgraph=True)
            self.assertTrue(torch.equal(compiled(X), (X + 1) * factor - 1))
            self.assertEqual((compiled.stats["breaks"], compiled.stats["graphs"]), (0, 1))

    def test_message_of_graph_break(self):
        @breakline.compile(fullgraph=True)
        def f(x):
            breakline.graph_break(msg="my text")
            return x

        self.assertIn("Message: my text", str(self.refused(f)))


PLAIN_SCRIPT = """
import torch, torch._dynamo, breakline
X = torch.tensor([1.0, -2.0])

@torch.compiler.disable
def off(x):
    return x * 3

def f(x):
    y = x + 1
    torch._dynamo.graph_break()
    with torch._dynamo.error_on_graph_break(False):
        torch._dynamo.graph_break()
        y = off(y)
    return y + (1 if torch.compiler.is_compiling() else 100)

c = breakline.compile(f)
assert torch.equal(c(X), (X + 1) * 3 + 1), c(X)
assert c.stats["breaks"] == 3, c.stats
assert [b["reason"] for b in c.report()["breaks"]] == ["graph-break", "graph-break", "compiler-disable"], c.report()["breaks"]

def g(x):
    with torch._dynamo.error_on_graph_break(True):
        torch._dynamo.graph_break()
    return x
try:
    breakline.compile(g)(X)
except torch._dynamo.exc.Unsupported as error:
    assert "graph_break" in error.gb_type
else:
    raise AssertionError("no error")

@torch._dynamo.error_on_graph_break(True)
def h(x):
    torch._dynamo.graph_break()
    return x
try:
    breakline.compile(lambda x: h(x))(X)
except torch._dynamo.exc.Unsupported:
    pass
else:
    raise AssertionError("no error")
assert torch.compile.__module__ == "torch"
print("fine")
"""


class PlainScript(unittest.TestCase):
    def test_pytorchs_own_markers_are_known(self):
        done = subprocess.run([sys.executable, "-c", PLAIN_SCRIPT], capture_output=True, text=True, timeout=300)
        self.assertEqual((done.returncode, done.stdout), (0, "fine\n"), done.stderr)


if __name__ == "__main__":
    unittest.main()
