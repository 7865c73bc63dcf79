# SPDX-License-Identifier: GPL-3.0-or-later
"""First code and better code of a kernel give the same bits; machine code kept on disk is used by the next process, and a damaged file is
not; a child of fork compiles on."""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import torch

import breakline
from breakline import _native

FUNCTIONS = [
    lambda x: torch.softmax(torch.tanh(x) * x.exp(), -1),
    lambda x: torch.nn.functional.gelu(x) * x.sin(),
    lambda x: x / (x.norm(dim=-1, keepdim=True) + 1),
    lambda x: (x.bfloat16().exp() + 1).float().var(0),
    lambda x: torch.nn.functional.layer_norm(x.sigmoid() + x.log1p(), x.shape[-1:]),
    lambda x: (x * 3).to(torch.int32) // 7,
]
CHILD = """
import sys, torch, breakline
from breakline import _native
torch.manual_seed(0)
x = torch.randn(5, 70)
f = breakline.compile(lambda x: torch.softmax(x.erf() * 1.25, -1) + x.cosh(), device="cpu")
y = f(x)
_native.ready().settle_kernels()
segment = f.target_report()["segments"][0]
print(segment["compile_us"], y.double().sum().item().hex(), torch.equal(f(x), y))
"""


class Tiers(unittest.TestCase):
    def setUp(self):
        self.extension = _native.ready()
        if {d["id"]: d for d in self.extension.devices()}["cpu"]["reason"]:
            self.skipTest("built without LLVM: there are no kernels for the CPU")
        torch.set_num_threads(1)
        torch.manual_seed(0)
        self.x = torch.randn(130, 77)

    def test_same_bits(self):
        compiled = [breakline.compile(f, device="cpu") for f in FUNCTIONS]
        first = [f(self.x) for f in compiled]
        self.extension.settle_kernels()
        for number, (f, before) in enumerate(zip(compiled, first)):
            after = f(self.x)
            self.assertTrue(torch.equal(before.view(torch.int32), after.view(torch.int32)), f"function {number}")

    def test_a_lane_is_its_own(self):
        """Arguments that a function computes one by one leave their neighbours in the vector alone, in both tiers."""
        x = torch.rand(997) * 4 + 0.1
        mixed = x.clone()
        mixed[3::13] = 1e30
        mixed[5::29] = float("nan")
        mixed[7::31] = -2.5
        usual = mixed == x
        for function in (torch.sin, torch.cos, torch.tan, lambda x: x**1.7, lambda x: 1.3**x, torch.erf, torch.log1p):
            compiled = breakline.compile(lambda x, function=function: function(x) * 0.75 + x, device="cpu")
            first, first_mixed = compiled(x), compiled(mixed)
            self.extension.settle_kernels()
            later, later_mixed = compiled(x), compiled(mixed)
            for got, wanted in ((first_mixed[usual], first[usual]), (later, first), (later_mixed, first_mixed)):
                self.assertTrue(torch.equal(got.view(torch.int32), wanted.view(torch.int32)))

    def run_child(self, folder):
        environment = {**os.environ, "BREAKLINE_CACHE_DIR": folder}
        done = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, encoding="utf-8", env=environment, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split()

    def test_kept_on_disk(self):
        with tempfile.TemporaryDirectory() as folder:
            cold = self.run_child(folder)
            files = sorted(pathlib.Path(folder).iterdir())
            self.assertEqual([f.suffix for f in files], [".o"])
            written = files[0].stat().st_mtime_ns
            warm = self.run_child(folder)
            self.assertEqual(warm[1:], cold[1:])
            self.assertEqual(files[0].stat().st_mtime_ns, written)  # nothing was compiled again
            data = bytearray(files[0].read_bytes())
            data[len(data) // 2] ^= 0xFF
            files[0].write_bytes(data)
            self.assertEqual(self.run_child(folder)[1:], cold[1:])
            self.assertNotEqual(files[0].read_bytes(), bytes(data))  # and written anew

    def test_folder_that_can_not_be_written(self):
        self.assertEqual(self.run_child("/proc/nowhere")[2], "True")

    def test_fork(self):
        f = breakline.compile(lambda x: (x * 2).erf() + 1, device="cpu")
        expected = f(self.x)
        child = os.fork()
        if child == 0:
            same = torch.equal(f(self.x), expected)
            g = breakline.compile(lambda x: torch.logsumexp(x * 2, -1) + 1, device="cpu")
            same = same and g(self.x).shape == (130,)
            os._exit(0 if same else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?")
    parser.parse_args()
    unittest.main(argv=sys.argv[:1])
