# SPDX-License-Identifier: GPL-3.0-or-later
"""core/torch against PyTorch's own API. usage: torch_test.py FOLDER_OF_TEST_EXTENSION"""
import gc
import operator
import sys
import unittest
import weakref

try:
    import torch
except ImportError:
    print("no torch in this interpreter: skipped")
    sys.exit(77)
sys.path.insert(0, sys.argv.pop(1))
import _bl_torch_test as engine


def samples():
    yield torch.randn(3, 4)
    yield torch.randn(3, 4).t()
    yield torch.randn(5)[2:]
    yield torch.tensor(3)
    yield torch.zeros(0, 3, dtype=torch.bool)
    yield torch.randn(2, requires_grad=True)
    yield torch.randn(2, requires_grad=True) * 2
    yield torch.nn.Parameter(torch.randn(2, 2))
    yield torch.empty(2, device="meta")
    yield torch.randn(1).expand(4)
    yield torch.zeros(3, dtype=torch.complex64)
    with torch.inference_mode():
        yield torch.randn(3)


class Metadata(unittest.TestCase):
    def test_equals_the_api(self):
        for t in samples():
            m = engine.meta(t)
            self.assertEqual(m["sizes"], list(t.shape))
            self.assertEqual(m["strides"], list(t.stride()))
            self.assertEqual(m["offset"], t.storage_offset())
            self.assertEqual(m["dtype"], t.dtype)
            self.assertEqual(m["requires_grad"], t.requires_grad)
            self.assertEqual(m["is_leaf"], t.is_leaf)
            self.assertTrue(m["plain"])
            self.assertEqual(m["keys"], torch._C._dispatch_keys(t).raw_repr())
            self.assertEqual(m["version"], -1 if t.is_inference() else t._version)
            if t.device.type == "cpu":
                self.assertEqual(m["storage"], t.untyped_storage().data_ptr())
                self.assertEqual(m["storage_bytes"], t.untyped_storage().nbytes())

    def test_odd_tensors_are_not_plain(self):
        c = torch.zeros(3, dtype=torch.complex64)
        for t in (torch.zeros(3, 3).to_sparse(), c.conj(), c.conj().imag,
                  torch.quantize_per_tensor(torch.zeros(2), 0.1, 0, torch.qint8)):
            self.assertFalse(engine.meta(t)["plain"])

    def test_version(self):
        t = torch.zeros(3)
        t.add_(1)
        self.assertEqual(engine.meta(t)["version"], 1)
        self.assertTrue(engine.bump(t))
        self.assertEqual(t._version, 2)

    def test_requires_grad_follows(self):
        t = torch.zeros(2)
        t.requires_grad_()
        self.assertTrue(engine.meta(t)["requires_grad"])
        t.requires_grad_(False)
        self.assertFalse(engine.meta(t)["requires_grad"])

    def test_new_empty(self):
        for dtype in (torch.float32, torch.int64, torch.bool, torch.bfloat16, torch.float64):
            t = engine.new_empty((2, 3), (1, 2), dtype)
            u = torch.empty_strided((2, 3), (1, 2), dtype=dtype)
            self.assertIs(type(t), torch.Tensor)
            self.assertEqual((t.shape, t.stride(), t.dtype, t.device, t.requires_grad, t.is_leaf),
                             (u.shape, u.stride(), u.dtype, u.device, u.requires_grad, u.is_leaf))
            t.fill_(1)
            self.assertEqual(t.sum().item(), 6)
        gone = weakref.ref(engine.new_empty((2,), (1,), torch.float32))
        gc.collect()
        self.assertIsNone(gone())


class AmbientState(unittest.TestCase):
    def check(self, **expected):
        now = engine.ambient()
        self.assertEqual({k: now[k] for k in expected}, expected)

    def test_each_switch(self):
        self.check(grad_mode=True, inference_mode=False, autocast_cpu=False, default_dtype=6, function_modes=0,
                   dispatch_modes=0, functorch_levels=0, torch_function_enabled=True, traceable=True)
        with torch.no_grad():
            self.check(grad_mode=False)
        with torch.inference_mode():
            self.check(inference_mode=True, grad_mode=False)
        with torch.autocast("cpu", torch.bfloat16):
            self.check(autocast_cpu=True, autocast_cpu_dtype=15, traceable=True)
        with torch.autocast("cpu", torch.float16, cache_enabled=False):
            self.check(autocast_cpu_dtype=5, autocast_cache=False)
        torch.set_default_dtype(torch.float64)
        self.check(default_dtype=7)
        torch.set_default_dtype(torch.float32)
        torch.use_deterministic_algorithms(True, warn_only=True)
        self.check(deterministic=True, deterministic_warn=True)
        torch.use_deterministic_algorithms(False)
        self.check(deterministic=False)
        with torch.device("meta"):
            self.check(function_modes=1, default_device_set=True, traceable=False, why="torch-function-mode")
        with torch._C.DisableTorchFunctionSubclass():
            self.check(torch_function_enabled=False)
        with torch.autograd.set_detect_anomaly(True):
            self.check(anomaly=True, traceable=False)
        if torch.set_flush_denormal(True):
            self.check(flush_denormal=True)
            torch.set_flush_denormal(False)
        self.check(flush_denormal=False)

    def test_functorch(self):
        seen = []

        def look(x):
            seen.append(engine.ambient())
            return x

        torch.vmap(look)(torch.zeros(2))
        self.assertEqual((seen[0]["functorch_levels"], seen[0]["traceable"], seen[0]["why"]), (1, False, "functorch"))

    def test_dispatch_mode(self):
        from torch.utils._python_dispatch import TorchDispatchMode

        class Mode(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                return func(*args, **(kwargs or {}))

        with Mode():
            self.check(dispatch_modes=1, traceable=False, why="dispatch-mode")

    def test_restore(self):
        engine.save_ambient()
        torch._C._set_grad_enabled(False)
        torch.set_autocast_enabled("cpu", True)
        torch.set_autocast_cache_enabled(False)
        torch.set_default_dtype(torch.float64)
        self.assertTrue(engine.restore_ambient())
        self.check(grad_mode=True, autocast_cpu=False, autocast_cache=True, default_dtype=6)


class Registry(unittest.TestCase):
    def test_kinds(self):
        t, c = torch.Tensor, torch._C
        for callable_, kind, reason in [
                (torch.add, "op", ""), (t.relu_, "op", ""), (operator.matmul, "op", ""), (c._nn.gelu, "op", ""),
                (torch.functional.einsum, "op", ""), (t.__rsub__, "op", ""), (torch.zeros, "factory", ""),
                (c._has_torch_function, "fold false", ""), (torch.promote_types, "fold", ""), (torch.finfo, "fold", ""),
                (torch.is_grad_enabled, "ambient query", ""), (torch.get_default_dtype, "ambient query", ""),
                (c._set_grad_enabled, "ambient set", ""), (torch.set_autocast_enabled, "ambient set", ""),
                (t.item, "reads value", "tensor-item"), (t.__bool__, "reads value", "data-dependent-branch"),
                (t.numpy, "reads value", "numpy-array"), (t.tolist, "reads value", "tensor-tolist"),
                (t.data_ptr, "reads value", "tensor-storage"), (t.backward, "break", "backward"),
                (t.requires_grad_, "break", "requires-grad"), (torch.manual_seed, "break", "rng-seed"),
                (torch.from_numpy, "break", "numpy-array"), (t.register_hook, "break", "tensor-hook"),
                (torch.ops.aten.add.Tensor, "op", ""), (torch.nonzero, "op", "dynamic-shape"), (len, "unknown", "")]:
            self.assertEqual(engine.kind(callable_)[:2], (kind, reason), callable_)

    def test_flags(self):
        row, in_place, is_reversed, random, dynamic = range(3, 8)
        self.assertEqual(engine.kind(torch.Tensor.add_)[row], "add")
        self.assertTrue(engine.kind(torch.Tensor.add_)[in_place])
        self.assertTrue(engine.kind(operator.setitem)[in_place])
        self.assertTrue(engine.kind(torch.Tensor.__rsub__)[is_reversed])
        self.assertTrue(engine.kind(torch.dropout)[random])
        self.assertTrue(engine.kind(torch.Tensor.unique)[dynamic])

    def test_every_builtin_is_known(self):
        for namespace in (torch._C._VariableFunctions, torch._C._nn, torch._C._linalg, torch._C._fft, torch._C._special):
            for name in dir(namespace):
                value = getattr(namespace, name)
                if type(value).__name__ == "builtin_function_or_method" and not name.startswith("__"):
                    self.assertNotEqual(engine.kind(value)[0], "unknown", name)
        for name, value in torch._C.TensorBase.__dict__.items():
            if type(value).__name__ in ("method_descriptor", "wrapper_descriptor"):
                self.assertNotEqual(engine.kind(value)[0], "unknown", name)

    def test_attributes(self):
        for t in samples():
            for name in torch._C.TensorBase.__dict__:
                if type(torch._C.TensorBase.__dict__[name]).__name__ != "getset_descriptor":
                    continue
                kind, value = engine.attribute(t, name)
                if kind == "constant":
                    self.assertEqual(value, getattr(t, name), name)
                elif kind == "op" and name not in ("H", "mH", "mT", "T", "imag"):
                    self.assertTrue(torch.equal(value(t).detach().cpu(), getattr(t, name).detach().cpu())
                                    if t.device.type == "cpu" else True)
                else:
                    self.assertNotEqual(kind, "unanswered", name)
        self.assertEqual(engine.attribute(torch.zeros(1), "grad"), ("break", "grad-access"))
        self.assertEqual(engine.attribute(torch.zeros(1), "not_there"), ("unknown", None))


class Inference(unittest.TestCase):
    def test_failures(self):
        x = torch.randn(3, 3)
        said = engine.debug_infer(torch.nonzero, (x,), {})
        self.assertTrue(said.startswith("data dependent: dynamic-shape"), said)
        for call in [(operator.getitem, (x, x > 0)), (operator.getitem, (x, (0, x[0] > 0))),
                     (torch._C._nn.one_hot, (torch.zeros(2, dtype=torch.int64),)),
                     (torch.repeat_interleave, (x, torch.tensor([1, 2, 3]), 0)),
                     (operator.getitem, (x, torch.tensor(1)))]:
            said = engine.debug_infer(*call, {})
            self.assertIsInstance(said, str, call)
            self.assertTrue(said.startswith("data dependent"), said)
        self.assertTrue(engine.debug_infer(torch.mm, (x, torch.zeros(4, 4)), {}).startswith("raises"))
        said = engine.debug_infer(torch.rand, (3,), {"generator": torch.Generator()})
        self.assertTrue(said.startswith("unsupported: generator-object"), said)
        said = engine.debug_infer(torch.Tensor.to, (x, "cuda"), {})
        self.assertTrue(said.startswith("unsupported: foreign-device"), said)
        said = engine.debug_infer(torch.add, (x.to_sparse(), 1), {})
        self.assertTrue(said.startswith("unsupported"), said)

    def test_shape_changed_in_place(self):
        for f, args, sizes in [(torch.Tensor.squeeze_, (torch.zeros(1, 2),), (2,)), (torch.Tensor.t_, (torch.zeros(3, 2),), (2, 3)),
                               (torch.Tensor.unsqueeze_, (torch.zeros(2), 0), (1, 2))]:
            said = engine.debug_infer(f, args, {})
            self.assertEqual([m[1] for m in said], [sizes], f)

    def test_constants(self):
        x = torch.randn(3, 4).t()
        for f, args in [(torch.Tensor.size, (x,)), (torch.Tensor.size, (x, 0)), (torch.Tensor.dim, (x,)),
                        (torch.Tensor.stride, (x,)), (torch.Tensor.is_contiguous, (x,)), (torch.numel, (x,)),
                        (torch.is_floating_point, (x,)), (torch.Tensor.element_size, (x,))]:
            self.assertEqual(engine.debug_infer(f, args, {}), [("constant", f(*args))])

    def test_neither_data_nor_generator_is_touched(self):
        x = torch.randn(3, 3)
        before, values, version = torch.get_rng_state(), x.clone(), x._version
        for f, args in [(torch.dropout, (x, 0.5, True)), (torch.Tensor.normal_, (x,)), (torch.bernoulli, (x,)),
                        (torch.Tensor.add_, (x, 1)), (torch.randperm, (5,)), (torch.multinomial, (x.abs(), 2)),
                        (operator.setitem, (x, 0, 1.0)), (torch.native_dropout, (x, 0.5, True))]:
            self.assertIsInstance(engine.debug_infer(f, args, {}), list, f)
        self.assertTrue(torch.equal(before, torch.get_rng_state()))
        self.assertTrue(torch.equal(values, x))
        self.assertEqual(version, x._version)

    def test_no_warnings_and_no_state_left(self):
        import warnings
        x = torch.randn(2, 3, 4)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            filters = list(warnings.filters)
            engine.debug_infer(engine.attribute(x, "T")[1], (x,), {})
            self.assertEqual(filters, list(warnings.filters))
        with torch.no_grad():
            engine.debug_infer(torch.cumsum, (x, 0), {})
            self.assertFalse(torch.is_grad_enabled())

    def test_meta_answers_are_kept(self):
        x = torch.randn(4, 4)
        engine.debug_infer(torch.linalg.inv_ex, (x,), {})
        before = engine.stats()[1]
        first = engine.debug_infer(torch._C._linalg.linalg_inv_ex, (x,), {})
        self.assertEqual(first, engine.debug_infer(torch._C._linalg.linalg_inv_ex, (torch.randn(4, 4),), {}))
        self.assertLessEqual(engine.stats()[1], before + 1)

    def test_in_place_needs_of_grad(self):
        x, w = torch.zeros(3), torch.ones(3, requires_grad=True)
        (said,) = engine.debug_infer(torch.Tensor.mul_, (x, w), {})
        self.assertEqual(said[4:], (0, True, True, False))
        self.assertFalse(x.requires_grad)
        said = engine.debug_infer(torch.Tensor.mul_, (w, 2), {})
        self.assertTrue(said.startswith("raises"), said)


class Replay(unittest.TestCase):
    def test_calls(self):
        x, w = torch.randn(3, 4), torch.randn(5, 4)
        steps = [(torch._C._nn.linear, ({0}, {1}), {}, 1, False),
                 (torch.Tensor.relu, ({2},), {}, 1, False),
                 (torch.cat, ([{3}, {3}], 1), {}, 1, False),
                 (torch.Tensor.split, ({4}, 5), {"dim": 1}, 2, True),
                 (operator.add, ({5}, 1.5), {}, 1, False),
                 (torch.sum, ({7},), {"dim": 0, "keepdim": True}, 1, False)]
        y, first, second, total = engine.replay([x, w], steps, [3, 5, 6, 8])
        want = torch.nn.functional.linear(x, w).relu()
        self.assertTrue(torch.equal(y, want) and torch.equal(first, want) and torch.equal(second, want))
        self.assertTrue(torch.equal(total, (want + 1.5).sum(0, keepdim=True)))

    def test_in_place_result_is_its_operand(self):
        x = torch.zeros(2)
        steps = [(torch.Tensor.add_, ({0}, 1), {}, 0, False), (operator.setitem, ({0}, 0, 7.0), {}, 0, False)]
        (out,) = engine.replay([x], steps, [0])
        self.assertIs(out, x)
        self.assertEqual(x.tolist(), [7.0, 1.0])

    def test_error(self):
        x = torch.randn(3, 4)
        steps = [(torch.add, ({0}, 1), {}, 1, False), (torch.mm, ({1}, {1}), {}, 1, False)]
        node, error = engine.replay([x], steps, [2])
        self.assertEqual(node, 1)
        with self.assertRaises(RuntimeError) as caught:
            torch.mm(x, x)
        self.assertEqual((type(error), str(error)), (RuntimeError, str(caught.exception)))
        node, error = engine.replay([x], [(torch.index_select, ({0}, 0, {0}), {}, 1, False)], [1])
        self.assertEqual(node, 0)

    def test_intermediates_die_early_and_nothing_leaks(self):
        x = torch.randn(8)
        alive = []

        class Probe:
            pass

        def step(t):
            alive.append(sum(r() is not None for r in refs))
            y = t + 1
            refs.append(weakref.ref(y))
            return y

        refs = []
        (out,) = engine.replay([x], [(step, ({i},), {}, 1, False) for i in range(6)], [6])
        self.assertTrue(torch.allclose(out, x + 6))
        self.assertLessEqual(max(alive), 1)
        del out
        gc.collect()
        self.assertEqual([r() for r in refs], [None] * 6)
        before = sys.getrefcount(x)
        engine.replay([x], [(torch.add, ({0}, {0}), {}, 1, False)] * 3, [3], 100)
        engine.replay([x], [(torch.mm, ({0}, {0}), {}, 1, False)], [1])
        self.assertEqual(sys.getrefcount(x), before)

    def test_autograd(self):
        w = torch.randn(3, requires_grad=True)
        (out,) = engine.replay([w], [(torch.mul, ({0}, {0}), {}, 1, False), (torch.sum, ({1},), {}, 1, False)], [2])
        out.backward()
        self.assertTrue(torch.equal(w.grad, 2 * w.detach()))


if __name__ == "__main__":
    assert engine.initialize()
    torch.set_num_threads(1)
    unittest.main()
