# SPDX-License-Identifier: GPL-3.0-or-later
"""Recordings: a call can be made again from the same state, and the user's own state is as before afterwards."""
import collections
import itertools
import random
import tempfile
import types
import unittest

import torch

from breakline.engine.recording import signature_key
from breakline.engine.snapshot import Snapshot

COUNTER = 0
SHARED = []


class Box:
    limit = 3
    __slots__ = ("left", "__dict__")

    def __init__(self):
        self.left = [1]
        self.right = {"a": 2}


def touch(box):
    global COUNTER
    COUNTER += 1
    SHARED.append(COUNTER)
    box.left.append(COUNTER)
    return box


class Snapshots(unittest.TestCase):
    def test_tensors_views_and_gradients(self):
        base = torch.arange(6.0)
        view = base[2:5]
        weight = torch.nn.Parameter(torch.ones(3))
        weight.grad = torch.full((3,), 7.0)
        moved = torch.zeros(2)
        snapshot = Snapshot({"all": [base, view, weight, moved]})
        grad = weight.grad
        base.mul_(10)
        weight.data.add_(1)
        weight.grad.zero_()
        weight.grad = None
        moved.data = torch.ones(2, 2)
        weight.requires_grad_(False)
        snapshot.restore()
        self.assertEqual(base.tolist(), [0, 1, 2, 3, 4, 5])
        self.assertEqual(view.untyped_storage().data_ptr(), base.untyped_storage().data_ptr())
        self.assertEqual((weight.tolist(), weight.requires_grad, weight.is_leaf), ([1, 1, 1], True, True))
        self.assertIs(weight.grad, grad)
        self.assertEqual(weight.grad.tolist(), [7, 7, 7])
        self.assertEqual(moved.tolist(), [0, 0])

    def test_containers_attributes_globals_and_cells(self):
        global COUNTER
        COUNTER = 0
        SHARED.clear()
        box = Box()
        box.queue = collections.deque([1, 2], maxlen=4)
        box.names = {"x"}
        box.space = types.SimpleNamespace(n=1)
        count = 0

        def step():
            nonlocal count
            count += 1
            box.limit_seen = Box.limit
            return touch(box)

        snapshot = Snapshot({"step": step})
        step()
        step()
        box.queue.append(3)
        box.names.add("y")
        box.right["b"] = 5
        box.space.n = 2
        box.left = "replaced"
        Box.limit = 9
        snapshot.restore()
        self.assertEqual((COUNTER, SHARED, count), (0, [], 0))
        self.assertEqual((box.left, box.right, list(box.queue), box.queue.maxlen, box.names, box.space.n), ([1], {"a": 2}, [1, 2], 4, {"x"}, 1))
        self.assertFalse(hasattr(box, "limit_seen"))
        self.assertEqual(Box.limit, 3)
        self.assertEqual(snapshot.uncloneable, [])

    def test_modules_and_optimizers(self):
        net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
        optimizer = torch.optim.Adam(net.parameters())
        x = torch.randn(4, 2)
        net(x).sum().backward()
        optimizer.step()

        def step():
            optimizer.zero_grad()
            net(x).sum().backward()
            optimizer.step()

        snapshot = Snapshot({"step": step})
        outcomes = []
        for _ in range(2):
            step()
            state = [t.clone() for t in (*net.state_dict().values(), *(v for s in optimizer.state.values() for v in s.values()))]
            outcomes.append(state)
            snapshot.restore()
        for a, b in zip(*outcomes):
            self.assertTrue(torch.equal(a, b))

    def test_random_generators(self):
        own = random.Random(3)
        generator = torch.Generator().manual_seed(5)
        snapshot = Snapshot({"own": [own, generator]})
        draw = lambda: (torch.rand(2).tolist(), random.random(), own.random(), torch.rand(1, generator=generator).tolist())  # noqa: E731
        first = draw()
        snapshot.restore()
        self.assertEqual(draw(), first)

    def test_what_cannot_be_put_back_is_named(self):
        with tempfile.TemporaryFile() as file:
            roots = {"gen": (n for n in [1]), "file": file, "it": itertools.count(), "fine": [1, "a", torch.ones(1)]}
            names = Snapshot(roots).uncloneable
        self.assertEqual(sorted(name.split()[0] for name in names), ["file", "gen", "it"])

    def test_keys_differ_where_guards_could(self):
        x = torch.ones(2, 3)
        key = lambda *args, **kwargs: signature_key(args, kwargs)  # noqa: E731
        self.assertEqual(key(x, 1, [x]), key(torch.zeros(2, 3), 1, [torch.zeros(2, 3)]))
        others = [(x.t(), 1, [x]), (x, 2, [x]), (x, 1, [x, x]), (x.double(), 1, [x]), (x, 1.0, [x]), (x, True, [x])]
        for args in others:
            self.assertNotEqual(key(x, 1, [x]), key(*args))
        with torch.no_grad():
            inside = key(x)
        self.assertNotEqual(inside, key(x))


if __name__ == "__main__":
    unittest.main()
