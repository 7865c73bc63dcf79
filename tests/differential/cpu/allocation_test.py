# SPDX-License-Identifier: GPL-3.0-or-later
"""A graph of kernels and products allocates its results and nothing else, counted by PyTorch's own allocation events: one for each tensor that it
hands out, none for what stays inside or for the arena, which is there from the first call on. (Calls of a library that make their own result are of the other form.)"""
import argparse
import os
import sys
import unittest

os.environ["BREAKLINE_LIBRARY"] = "never"  # products with packed weights and oneDNN's convolutions make their results themselves

import torch
import torch.nn.functional as F

import breakline
from breakline import _native

CALLS = 10
torch.manual_seed(0)
INSIDE = [torch.randn(*sizes) for sizes in ((256, 256), (256,), (768, 256), (768,), (64, 256))]


def attention(x):
    q, k, v = (t.view(4, 16, 4, 64).transpose(1, 2) for t in F.linear(x, INSIDE[2], INSIDE[3]).split(256, -1))
    return F.linear(((q @ k.mT) * 0.125).softmax(-1).matmul(v).transpose(1, 2).reshape(64, 256), INSIDE[0]) + x


# name -> (function, results handed out)
CASES = {
    "pointwise": (lambda x: torch.tanh(x * 2) + x, 1),
    "norm": (lambda x: F.layer_norm(x.relu() + x, (256,)), 1),
    "softmax": (lambda x: torch.softmax(x * 0.3, -1) * x, 1),
    "two results of one kernel": (lambda x: ((y := x * 2 + 1), y.exp() * x), 2),
    "two kernels and a value between": (lambda x: ((y := torch.softmax(x * 2, -1)) * y).sum(0) + 1, 1),
    "layers": (lambda x: F.linear(F.relu(F.linear(x, INSIDE[0], INSIDE[1])), INSIDE[0]) + 1, 1),
    "a product handed out": (lambda x: (x * 2 + 1) @ INSIDE[0], 1),
    "attention with its views and its copy": (attention, 1),
    "a bias of the product's size": (lambda x: torch.addmm(INSIDE[4], x * 0.5 + 1, INSIDE[0], beta=0.5).tanh() * x, 1),
    "through views": (lambda x: x.chunk(2, 1)[0] * 2 + x.chunk(2, 1)[1].sigmoid(), 1),
}


def allocations(function, x):
    """New pieces of memory per call."""
    for _ in range(3):
        function(x)
    _native.ready().settle_kernels()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        for _ in range(CALLS):
            function(x)
    events = profile.profiler.kineto_results.events()
    return sum(event.name() == "[memory]" and event.nbytes() > 0 for event in events) / CALLS


class Allocations(unittest.TestCase):
    def test_counts(self):
        if {d["id"]: d for d in _native.ready().devices()}["cpu"]["reason"]:
            self.skipTest("built without LLVM: there are no kernels for the CPU")
        torch.set_num_threads(1)
        x = torch.randn(64, 256)
        with torch.no_grad():
            for name, (function, results) in CASES.items():
                with self.subTest(name):
                    compiled = breakline.compile(function, device="cpu")
                    self.assertEqual(allocations(compiled, x), results)
                    self.assertGreater(allocations(function, x), results)  # the count sees what eager allocates
                    schedule = "".join(entry["text"] for entry in _native.ready().dump(compiled, "schedule"))
                    self.assertRegex(schedule, "^(run|multiply) ")
                    self.assertNotRegex(schedule, "(?m)^call ")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?")
    parser.parse_args()
    unittest.main(argv=sys.argv[:1])
