# SPDX-License-Identifier: GPL-3.0-or-later
"""Large results take the memory of earlier ones that nobody holds any more. Whatever still reaches that memory (views, arrays, storage
objects, lazy clones, memory shared with other processes) keeps what it read, and a result is as PyTorch's own in every property."""
import argparse
import os
import subprocess
import sys
import unittest
import weakref

import torch

import breakline
from breakline import _native

N = 1 << 18  # floats: 1 MiB


def f(x):
    return torch.relu(x * 2 + 1) * x


def properties(t):
    return (t.dtype, t.shape, t.stride(), t.storage_offset(), t._version if not t.is_inference() else None, t._base, t.is_leaf, t.requires_grad,
            t._is_view(), t.is_inference(), t.untyped_storage().nbytes(), t.untyped_storage().resizable(), t.is_shared(), t.grad_fn)


class KeptMemory(unittest.TestCase):
    def setUp(self):
        if {d["id"]: d for d in _native.ready().devices()}["cpu"]["reason"]:
            self.skipTest("built without LLVM: there are no kernels for the CPU")
        torch.set_num_threads(1)
        torch.manual_seed(0)
        self.compiled = breakline.compile(f, device="cpu")
        self.x = torch.randn(N)
        for _ in range(3):
            self.compiled(self.x)

    def calls(self, times=6):
        for k in range(times):
            x = torch.randn(N)
            self.assertTrue(torch.equal(self.compiled(x), f(x)), k)

    def test_memory_is_used_again(self):
        places = set()
        for _ in range(20):
            y = self.compiled(self.x)
            places.add(y.data_ptr())
        self.assertEqual(len(places), 2)  # one is held while the next is made
        self.assertEqual(_native.ready().kept_memory() % (4 * N), 0)

    def test_whatever_holds_it_keeps_it(self):
        holders = {
            "result": lambda y: y,
            "view": lambda y: y[5:100],
            "transposed": lambda y: y.view(4, -1).t(),
            "detached": lambda y: y.detach(),
            "data": lambda y: y.data,
            "array": lambda y: y.numpy(),
            "capsule": lambda y: torch.utils.dlpack.to_dlpack(y),
            "storage": lambda y: y.untyped_storage(),
            "lazy clone": lambda y: torch._lazy_clone(y),
            "memory view": lambda y: memoryview(y.numpy()),
            "set": lambda y: torch.empty(0).set_(y),
            "saved by autograd": lambda y: (torch.ones(N, requires_grad=True) * y).sum(),
        }
        for name, hold in holders.items():
            with self.subTest(name):
                y = self.compiled(self.x)
                held, wanted = hold(y), y.clone()
                del y
                self.calls()
                if name == "capsule":
                    held = torch.utils.dlpack.from_dlpack(held)
                elif name == "saved by autograd":
                    leaf = held.grad_fn.next_functions[0][0].next_functions[0][0].variable
                    held.backward()
                    held = leaf.grad
                elif name == "storage":
                    held = torch.empty(0).set_(held)
                again = hold(wanted) if name in ("view", "transposed") else wanted
                self.assertTrue(torch.equal(torch.as_tensor(held).reshape(-1), again.reshape(-1)))

    def test_changed_storage_is_left_alone(self):
        y = self.compiled(self.x)
        y.resize_(2 * N).fill_(3)
        self.calls()
        self.assertTrue((y == 3).all())
        y = self.compiled(self.x)
        y.untyped_storage().resize_(0)
        del y
        self.calls()
        y = self.compiled(self.x).share_memory_()
        wanted = y.clone()
        self.calls()
        self.assertTrue(torch.equal(y, wanted))

    def test_properties(self):
        for mode in (torch.enable_grad, torch.no_grad, torch.inference_mode):
            for _ in range(4):  # fresh memory, memory that served in the mode before
                with self.subTest(mode.__name__), mode():
                    y, wanted = self.compiled(self.x), f(self.x)
                    self.assertEqual(properties(y), properties(wanted))
                    del y
        y = self.compiled(self.x)
        y.add_(1)
        del y
        self.assertEqual(self.compiled(self.x)._version, 0)
        y = self.compiled(self.x).requires_grad_()
        (y * 2).sum().backward()
        self.assertTrue((y.grad == 2).all())

    def test_collected_results(self):
        inputs = [torch.randn(N) for _ in range(12)]
        results = [self.compiled(x) for x in inputs]
        self.assertEqual(len({y.data_ptr() for y in results}), 12)
        for x, y in zip(inputs, results):
            self.assertTrue(torch.equal(y, f(x)))

    def test_weak_references_die(self):
        y = self.compiled(self.x)
        r = weakref.ref(y)
        del y
        self.assertIsNone(r())

    def test_given_back(self):
        self.assertGreater(_native.ready().kept_memory(), 0)
        breakline.reset()
        self.assertEqual(_native.ready().kept_memory(), 0)
        self.calls(3)

    def test_limit(self):
        program = ("import torch, breakline\nfrom breakline import _native\n"
                   "c = breakline.compile(lambda x: torch.relu(x * 2 + 1) * x, device='cpu')\n"
                   "for n in range(1, 12):\n    for _ in range(3):\n        y = c(torch.ones(n << 17))\n"
                   "    assert (y == 3).all()\n    print(_native.ready().kept_memory())\n")
        for limit in (0, 1, 3):
            out = subprocess.run([sys.executable, "-c", program], env={**os.environ, "BREAKLINE_KEPT_MEMORY": str(limit)}, capture_output=True,
                                 text=True, timeout=100)
            self.assertEqual(out.returncode, 0, out.stderr)
            kept = [int(line) for line in out.stdout.split()]
            self.assertLessEqual(max(kept), limit << 20)
            self.assertEqual(max(kept) > 0, limit > 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?")
    parser.parse_args()
    unittest.main(argv=sys.argv[:1])
