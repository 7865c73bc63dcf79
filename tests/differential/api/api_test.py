# SPDX-License-Identifier: GPL-3.0-or-later
"""The public API in a plain script: forms of compile, module wrappers, stats and reports, errors, explain."""
import copy
import functools
import subprocess
import sys
import threading
import types
import unittest

import torch

import breakline


def body(x):
    "doc of body"
    y = torch.relu(x - 1)
    breakline.graph_break()
    return y * 2


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 3)
        self.bn = torch.nn.BatchNorm1d(3)
        self.seen = []

    def forward(self, x):
        self.seen.append(tuple(x.shape))
        return self.bn(self.fc(x)).tanh()

    def twice(self, x):
        return self.fc(x) * 2

    def __len__(self):
        return 7


X = torch.tensor([0.5, 2.0, 3.0])
NO_GRAD = torch.no_grad()


class Forms(unittest.TestCase):
    def check(self, compiled, *args):
        self.assertTrue(torch.equal(compiled(*args), body(*args)))
        self.assertEqual(compiled.stats["breaks"], 1)

    def test_call_decorator_and_decorator_with_arguments(self):
        self.check(breakline.compile(body), X)
        self.check(breakline.compile()(body), X)
        self.check(breakline.compile(fullgraph=False, device="cpu")(body), X)
        self.check(breakline.compile(model=body), X)

        @breakline.compile
        def plain(x):
            y = x + 1
            breakline.graph_break()
            return y

        self.assertTrue(torch.equal(plain(X), X + 1))

    def test_name_doc_and_original(self):
        compiled = breakline.compile(body)
        self.assertEqual((compiled.__name__, compiled.__doc__, compiled.__wrapped__), ("body", "doc of body", body))
        self.assertIs(compiled._torchdynamo_orig_callable, body)
        self.assertTrue(breakline.is_compiled(compiled))
        self.assertFalse(breakline.is_compiled(body))

    def test_keywords_of_torch_compile(self):
        for keywords in ({"mode": "reduce-overhead"}, {"dynamic": True}, {"options": {"x": 1}}, {"backend": "inductor"}, {"backend": lambda g, i: g}):
            self.check(breakline.compile(body, **keywords), X)
        compiled = breakline.compile(body, backend="eager")
        self.check(compiled, X)
        self.assertEqual({s["plan"] for s in compiled.report()["targets"][0]["segments"] if s["ops"]}, {"replay"})
        self.assertIs(breakline.compile(body, disable=True), body)

    def test_wrong_keywords_get_one_sentence(self):
        rows = [
            (TypeError, "fullgraph must be True or False", {"fullgraph": "yes"}),
            (ValueError, 'device must be "cpu" or "vulkan"', {"device": "tpu"}),
            (ValueError, 'plan must be None or "replay"', {"plan": "fast"}),
            (TypeError, "backend must be", {"backend": 3}),
            (TypeError, "options must be a dictionary", {"options": [1]}),
            (RuntimeError, "Unrecognized mode=warp", {"mode": "warp"}),
            (TypeError, "name must be", {"name": 3}),
            (RuntimeError, "Either mode or options", {"mode": "default", "options": {}}),
            (TypeError, "dynamic must be", {"dynamic": 1}),
            (ValueError, "recompile_limit must be", {"recompile_limit": 0}),
        ]
        for kind, text, keywords in rows:
            with self.assertRaisesRegex(kind, text):
                breakline.compile(body, **keywords)
        with self.assertRaises(TypeError):
            breakline.compile(body, error_on_graph_break=True)
        with self.assertRaisesRegex(TypeError, "takes a function or a module"):
            breakline.compile(3)

    def test_methods(self):
        class Thing:
            factor = 3

            def scale(self, x):
                return x * self.factor

            def __call__(self, x):
                return x + self.factor

            @breakline.compile
            def decorated(self, x):
                return x - self.factor

            @staticmethod
            @breakline.compile
            def static(x):
                return x * 5

        thing = Thing()
        bound = breakline.compile(thing.scale)
        self.assertIsInstance(bound, types.MethodType)
        self.assertIs(bound.__self__, thing)
        self.assertTrue(torch.equal(bound(X), X * 3))
        self.assertEqual((bound.stats["graphs"], bound.report()["targets"][0]["kind"]), (1, "method"))
        self.assertEqual(bound.report()["targets"][0]["name"], "Thing.scale")
        self.assertTrue(torch.equal(breakline.compile(thing)(X), X + 3))
        self.assertTrue(torch.equal(thing.decorated(X), X - 3))
        self.assertTrue(torch.equal(Thing.static(X), X * 5))
        thing.factor = 4
        self.assertTrue(torch.equal(bound(X), X * 4))

    def test_other_callables(self):
        self.assertTrue(torch.equal(breakline.compile(functools.partial(torch.add, X))(X), X + X))
        self.assertTrue(torch.equal(breakline.compile(torch.sin)(X), X.sin()))
        self.assertTrue(torch.equal(breakline.compile(lambda x: x + 1)(X), X + 1))
        again = breakline.compile(breakline.compile(body), fullgraph=True)
        with self.assertRaises(breakline.Unsupported):
            again(X)


class Modules(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.net = Net()
        self.twin = copy.deepcopy(self.net)
        self.compiled = breakline.compile(self.net)
        self.x = torch.randn(4, 3)

    def test_it_is_a_module_around_the_module(self):
        compiled = self.compiled
        self.assertIsInstance(compiled, torch.nn.Module)
        self.assertIs(compiled._orig_mod, self.net)
        self.assertIs(compiled.fc, self.net.fc)
        self.assertEqual(len(compiled), 7)
        self.assertEqual(list(compiled.state_dict()), [f"_orig_mod.{name}" for name in self.net.state_dict()])
        self.assertEqual([id(p) for p in compiled.parameters()], [id(p) for p in self.net.parameters()])
        self.assertEqual([name for name, _ in compiled.named_children()], ["_orig_mod"])
        compiled.extra = 5
        self.assertEqual(self.net.extra, 5)
        del compiled.extra
        self.assertFalse(hasattr(self.net, "extra"))
        self.assertFalse(hasattr(compiled, "no_such_name"))

    def test_results_training_and_buffers(self):
        for training in (True, False, True):
            self.compiled.train(training)
            self.twin.train(training)
            self.assertEqual((self.net.training, self.compiled.training, self.net.fc.training), (training,) * 3)
            self.assertTrue(torch.equal(self.compiled(self.x), self.twin(self.x)))
        for (name, a), (_, b) in zip(self.net.named_buffers(), self.twin.named_buffers()):
            self.assertTrue(torch.equal(a, b), name)
        self.assertEqual(self.net.seen, self.twin.seen)

    def test_gradients(self):
        self.compiled(self.x).sum().backward()
        self.twin(self.x).sum().backward()
        for a, b in zip(self.net.parameters(), self.twin.parameters()):
            self.assertTrue(torch.equal(a.grad, b.grad))

    def test_hooks_of_all_modules_run_once(self):
        from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

        m, x = torch.nn.ReLU(), torch.ones(2)
        compiled = breakline.compile(m)
        handles = [register_module_forward_hook(lambda _, i, o: o * 2), register_module_forward_pre_hook(lambda _, i: (i[0] + 1,))]
        try:
            self.assertTrue(torch.equal(compiled(x), m(x)))
        finally:
            for h in handles:
                h.remove()
        handle = compiled.register_forward_hook(lambda _, i, o: o + 5)
        self.assertTrue(torch.equal(compiled(x), m(x) + 5))
        handle.remove()
        self.assertTrue(torch.equal(compiled(x), m(x)))

    def test_hooks_of_the_module_run(self):
        log = []
        for module, name in ((self.net, "compiled"), (self.twin, "eager")):
            module.register_forward_pre_hook(lambda m, a, name=name: log.append(name + " before"))
            module.register_forward_hook(lambda m, a, out, name=name: out * 2)
        self.assertTrue(torch.equal(self.compiled(self.x), self.twin(self.x)))
        self.assertEqual(log, ["compiled before", "eager before"])

    def test_methods_of_the_module_and_copies(self):
        self.assertTrue(torch.equal(self.compiled.twice(self.x), self.twin.twice(self.x)))
        clone = copy.deepcopy(self.compiled)
        self.assertIsNot(clone._orig_mod, self.net)
        self.assertTrue(torch.equal(clone(self.x), self.twin(self.x)))
        self.assertEqual(self.compiled.stats["graphs"], 0)

    def test_report_names_the_module(self):
        with torch.no_grad():
            self.compiled.eval()(self.x)
        (target,) = self.compiled.report()["targets"]
        self.assertEqual((target["name"], target["kind"], target["file"]), ("Net", "module", __file__))
        self.assertEqual(target["line"], Net.forward.__code__.co_firstlineno)


class Reports(unittest.TestCase):
    def test_stats_report_tally_and_reset(self):
        breakline.reset()
        compiled = breakline.compile(body)
        self.assertEqual(set(compiled.stats), {"graphs", "ops", "breaks", "places", "recompiles", "skipped"})
        compiled(X)
        compiled(X)
        expected = {"graphs": 2, "ops": 3, "breaks": 1, "places": 1, "recompiles": 0, "skipped": 0}
        self.assertEqual(dict(compiled.stats), expected)
        tally = breakline.tally()
        for name in ("graphs", "ops", "breaks", "recompiles", "skipped"):
            self.assertGreaterEqual(tally[name], expected[name])
        report = compiled.report()
        self.assertEqual(report["schema"], 1)
        (target,) = report["targets"]
        self.assertEqual((target["name"], target["graphs"], target["ops"]), ("body", 2, 3))
        (item,) = report["breaks"]
        self.assertEqual((item["line"], item["events"]), (body.__code__.co_firstlineno + 3, 2))
        compiled(torch.ones(7))
        self.assertEqual(compiled.stats["breaks"], 2)
        self.assertEqual(compiled.stats["places"], 1)
        self.assertEqual(compiled.stats["recompiles"], 2)
        breakline.reset()
        self.assertEqual(compiled.stats["graphs"], 0)
        self.assertTrue(torch.equal(compiled(X), body(X)))

    def test_explain(self):
        for explained in (breakline.explain(body)(X), breakline.explain(body, X)):
            self.assertEqual((explained.graph_count, explained.graph_break_count, explained.op_count), (2, 1, 3))
            self.assertEqual(explained.report["targets"][0]["graphs"], 2)
            self.assertIn("Graph Break Count: 1", str(explained))


class Errors(unittest.TestCase):
    def test_classes_and_attributes(self):
        strict = breakline.compile(body, fullgraph=True)
        with self.assertRaises(RuntimeError) as caught:
            strict(X)
        import torch._dynamo

        error = caught.exception
        self.assertIsInstance(error, torch._dynamo.exc.Unsupported)
        self.assertIsInstance(error, breakline.Unsupported)
        self.assertTrue(type(error).__module__.startswith("breakline"))
        self.assertEqual(error.gb_type, "Call to `torch._dynamo.graph_break()`")
        self.assertTrue(error.msg.startswith(error.gb_type))
        self.assertNotIn("from user code", error.msg)
        text = str(error)
        for part in ("\n  Explanation: ", "\n  Hint: ", "\n  Developer debug context: ", "\n For more details about this graph break", "\nfrom user code:\n   File "):
            self.assertIn(part, text)
        self.assertEqual([(f.filename, f.name) for f in error.real_stack], [(__file__, "body")])
        self.assertEqual(error.innermost_user_frame_summary.lineno, body.__code__.co_firstlineno + 3)
        try:
            strict(X)
        except torch._dynamo.exc.Unsupported as again:
            self.assertEqual(str(again), text)

    def test_user_errors_are_the_users(self):
        def f(x, key):
            y = x + 1
            return {"a": y}[key]

        compiled = breakline.compile(f)
        self.assertTrue(torch.equal(compiled(X, "a"), X + 1))
        places = []
        try:
            compiled(X, "b")
        except KeyError as error:
            entry = error.__traceback__
            while entry is not None:
                places.append((entry.tb_frame.f_code.co_name, entry.tb_lineno))
                entry = entry.tb_next
        self.assertEqual(places[-1:], [("f", f.__code__.co_firstlineno + 2)])


class Process(unittest.TestCase):
    def run_python(self, code):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def test_import_is_light(self):
        out = self.run_python(
            "import sys, breakline\n"
            "with breakline.error_on_graph_break(True): breakline.graph_break()\n"
            "@breakline.disable\n"
            "def f(): return 3\n"
            "print(f(), breakline.is_compiling(), breakline.tally()['graphs'], 'torch' in sys.modules, 'numpy' in sys.modules)"
        )
        self.assertEqual(out, "3 False 0 False False")

    def test_compiling_does_not_import_dynamo(self):
        out = self.run_python(
            "import sys, torch, breakline\n"
            "f = breakline.compile(lambda x: x + 1)\n"
            "f(torch.ones(2)); f.report()\n"
            "print('torch._dynamo' in sys.modules, torch.compile.__module__)"
        )
        self.assertEqual(out, "False torch")

    def test_shape_functions_load_no_symbolic_shapes(self):
        """PyTorch's shape functions in Python get plain numbers, for which they need neither its symbolic shapes nor sympy."""
        out = self.run_python(
            "import sys, torch, breakline\n"
            "lstm = torch.nn.LSTM(4, 4, batch_first=True, bidirectional=True)\n"
            "def f(x):\n"
            "    y = lstm(x)[0]\n"
            "    return torch.cdist(y, y), torch.special.bessel_j0(y), torch.ops.aten.slice.Tensor(y, 1, 0, 2)\n"
            "x = torch.ones(2, 3, 4)\n"
            "compiled = breakline.compile(f, plan='replay')\n"
            "same = all(torch.equal(a, b) and a.stride() == b.stride() for a, b in zip(compiled(x), f(x)))\n"
            "print(same, compiled.stats['places'], *(name in sys.modules for name in ('torch._dynamo', 'torch.fx.experimental.symbolic_shapes', 'sympy')))\n"
            "from torch.fx.experimental.symbolic_shapes import expect_true\n"
            "import torch._dynamo, sympy\n"
            "print(expect_true.__module__, sympy.Symbol('x') + 1, hasattr(torch._dynamo, 'optimize'), torch.fx.experimental.symbolic_shapes.__name__)"
        )
        self.assertEqual(out.split("\n"), ["True 0 False False False",
                                           "torch.fx.experimental.symbolic_shapes x + 1 True torch.fx.experimental.symbolic_shapes"])

    def test_threads_share_a_compiled_function(self):
        compiled = breakline.compile(lambda x, n: torch.relu(x) * 2 + n)
        wrong = []

        def work(number):
            x = torch.full((number % 3 + 1,), float(number))
            for _ in range(50):
                if not torch.equal(compiled(x, 1), torch.relu(x) * 2 + 1):
                    wrong.append(number)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
