# SPDX-License-Identifier: GPL-3.0-or-later
"""What changes between two calls of a fuzzed program: something it can reach (`between`), or something it never looks at (`unseen`)."""

import contextlib
import random


def class_attribute(space, r):
    space["Thing"].scale = r.randint(0, 5)


def method(space, r):
    by_how_much = r.randint(2, 4)

    def bump(self, by=1):
        self.count += by * by_how_much
        return self.count

    space["Thing"].bump = bump


def instance_state(space, r):
    space["THING"].count = r.randint(0, 9)


def shadow(space, r):
    space["THING"].scale = r.randint(6, 9)


def class_attribute_for_getattr(space, r):
    space["Thing"].lazy = r.randint(0, 3)


def length(space, r):
    n = r.randint(0, 4)
    space["Thing"].__len__ = lambda self: n


def global_number(space, r):
    space["G"] = r.randint(-3, 9)


def function(space, r):
    step = r.randint(2, 3)

    def gen(t, k):
        for i in range(k):
            yield t - i * step

    space["gen"] = gen


def default(space, r):
    for name in ("helper0", "helper1", "helper2"):
        helper = space.get(name)
        if getattr(helper, "__defaults__", None):
            helper.__defaults__ = tuple(v + r.randint(1, 2) for v in helper.__defaults__)


def deleted(space, r):
    if "mix" in vars(space["Thing"]):
        del space["Thing"].mix


def data_class(space, r):
    space["Pair"].total = lambda self: self.a - self.b


def weight(space, r):
    space["THING"].weight = space["THING"].weight.t() * r.randint(1, 2)


MUTATIONS = [class_attribute, method, instance_state, shadow, class_attribute_for_getattr, length, global_number, function, default,
             deleted, data_class, weight]


@contextlib.contextmanager
def no_grad():
    import torch

    before = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    try:
        yield
    finally:
        torch.set_grad_enabled(before)


def between(space, seed, call, plain):
    """Changes one thing before call number `call` (not the first); gives a context to make that call in."""
    r = random.Random(seed * 97 + call)
    if call:
        r.choice(MUTATIONS)(space, r)
    return contextlib.nullcontext() if plain or r.random() < 0.8 else no_grad()


def unseen(space, call):
    """Changes what no program looks at: other names of the module and of its classes and objects, other modules."""
    space["unseen"] = [call]
    space["Thing"].unseen = call
    space["Pair"].unseen = lambda self: call
    space["THING"].unseen = {"call": call}
    space["math"].unseen_by_programs = call
