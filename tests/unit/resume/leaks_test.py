# SPDX-License-Identifier: GPL-3.0-or-later
"""Every program, again and again by the machine: no memory grows, arguments keep their reference counts."""
import contextlib
import gc
import io
import sys
import unittest
import warnings

import _bl_exec_test as exec_test
from ops_programs import PRELUDE, PROGRAMS

# Make classes or modules that other caches (ABC, type versions, logging, enum, sys.modules) keep on purpose.
GROWS_NATIVELY = {"async_everything", "logging", "recursion"}


def load(source, name):
    namespace = {"__name__": "program"}
    exec(compile(PRELUDE, "<prelude>", "exec", dont_inherit=True), namespace)
    exec(compile(source, "<%s>" % name, "exec", dont_inherit=True), namespace)
    return namespace["main"]


def repeat(run, times):
    for _ in range(times):
        try:
            run()
        except BaseException:
            pass
    gc.collect()


def growth(run, times=6):
    """Blocks per run once warm."""
    repeat(run, 4)
    best = None
    for _ in range(2):
        before = sys.getallocatedblocks()
        repeat(run, times)
        grown = (sys.getallocatedblocks() - before) / times
        best = grown if best is None else min(best, grown)
    return best


class Leaks(unittest.TestCase):
    def test_programs(self):
        chosen = [(n, s) for n, (since, s) in sorted(PROGRAMS.items())
                  if sys.version_info[:2] >= since and n not in GROWS_NATIVELY]
        with contextlib.redirect_stdout(io.StringIO()) as out, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name, source in chosen:
                main = load(source, name)
                gc.freeze()  # collections then look at new objects only
                def machine():
                    return exec_test.py_run_concretely(main, (), {})
                # A leak is one block a run or more. Free lists and caches still filling up make less, and that shrinks with
                # the number of runs.
                for times in (6, 60, 300):
                    extra = growth(machine, times) - max(growth(main, times), 0)
                    if extra < 0.5:
                        break
                out.seek(0)
                out.truncate()
                with self.subTest(name):
                    self.assertLess(extra, 0.8)

    def test_arguments(self):
        def f(a, b=2, *c, d=3, **e):
            x = [a, b, c, d, e]
            if a is None:
                raise ValueError(x)
            return len(x)
        class Thing:
            pass
        things = [Thing() for _ in range(4)]
        before = [sys.getrefcount(t) for t in things]
        for _ in range(100):
            exec_test.py_run_concretely(f, tuple(things[:3]), {"d": things[3], "z": things[0]})
            with self.assertRaises(ValueError):
                exec_test.py_run_concretely(f, (None, things[1]), {})
            with self.assertRaises(TypeError):
                exec_test.py_run_concretely(f, (things[0],), {"a": things[1]})
        self.assertEqual([sys.getrefcount(t) for t in things], before)

    def test_values_die_on_time(self):
        """Objects are freed at the same instruction as in CPython."""
        def f(log):
            class Noisy:
                def __init__(self, name):
                    self.name = name
                def __del__(self):
                    log.append("del " + self.name)
            x = Noisy("x")
            log.append("made x")
            x = None
            log.append("dropped x")
            Noisy("temporary")
            log.append("after temporary")
            for i in [Noisy("item")]:
                log.append("loop")
            del i
            log.append("after loop")
            y = Noisy("y")
            log.append("end")
        native, machine = [], []
        f(native)
        exec_test.py_run_concretely(f, (machine,), {})
        self.assertEqual(machine, native)


if __name__ == "__main__":
    unittest.main()
