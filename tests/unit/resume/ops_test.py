# SPDX-License-Identifier: GPL-3.0-or-later
"""Small programs, at least one that works and one that raises for every operation, by CPython and by the machine."""
import sys
import unittest

import _bl_exec_test as exec_test
from compare import observe
from ops_programs import PRELUDE, PROGRAMS


def load(source, name):
    """Runs PRELUDE and the program in a namespace of its own; the program defines main()."""
    namespace = {"__name__": "program"}
    exec(compile(PRELUDE, "<prelude>", "exec", dont_inherit=True), namespace)
    exec(compile(source, "<%s>" % name, "exec", dont_inherit=True), namespace)
    return namespace["main"]


def observed(source, name, run):
    main = load(source, name)
    return observe(lambda: run(main))


def eager(main):
    return main()


def machine(main):
    return exec_test.py_run_concretely(main, (), {})


def in_handler(run):
    """The same while the caller handles an exception, which must show up as context."""
    def outer(main):
        try:
            raise LookupError("outer")
        except LookupError:
            return run(main)
    return outer


def used_ops():
    ops = set()

    def collect(code):
        ops.update(row[0] for row in exec_test.decode(code)[0])
        for const in code.co_consts:
            if hasattr(const, "co_code"):
                collect(const)
    for name, source in programs():
        collect(compile(source, name, "exec", dont_inherit=True))
    return ops


def programs():
    return [(name, source) for name, (since, source) in sorted(PROGRAMS.items()) if sys.version_info[:2] >= since]


class Programs(unittest.TestCase):
    maxDiff = None

    def tearDown(self):
        exec_test.set_deep(False)

    def compare(self, runner):
        for name, source in programs():
            with self.subTest(name):
                self.assertEqual(observed(source, name, runner(machine)), observed(source, name, runner(eager)))

    def test_shallow(self):
        self.compare(lambda run: run)

    def test_deep(self):
        def deep(run):
            def on(main):
                exec_test.set_deep(run is machine)
                return run(main)
            return on
        self.compare(deep)

    def test_inside_a_handler(self):
        for name, source in programs():
            with self.subTest(name):
                want = observe(lambda main=load(source, name): in_handler(eager)(main))
                have = observe(lambda main=load(source, name): in_handler(machine)(main))
                self.assertEqual(have, want)

    def test_module_code(self):
        """The program's own top level, by the machine: names, class bodies, annotations, imports."""
        for name, source in programs():
            with self.subTest(name):
                def by(run_code):
                    namespace = {"__name__": "program"}
                    exec(compile(PRELUDE, "<prelude>", "exec", dont_inherit=True), namespace)
                    code = compile(source + "\nresult = main()\n", "<%s>" % name, "exec", dont_inherit=True)

                    def run():
                        run_code(code, namespace)
                        return namespace.get("result"), sorted(namespace)
                    return observe(run)
                have = by(lambda code, ns: exec_test.run_code(code, ns, ns))
                want = by(lambda code, ns: exec(code, ns, ns))
                self.assertEqual(have, want)


class Interactive(unittest.TestCase):
    def test_display(self):
        """What the prompt compiles to (the expression is shown)."""
        for source in ("1 + 2", "None", "x = 5", "[i for i in 'ab']", "Raises()", "missing"):
            with self.subTest(source):
                code = compile(source, "<prompt>", "single")

                def by(run_code):
                    namespace = {"__name__": "program"}
                    exec(PRELUDE, namespace)
                    return observe(lambda: run_code(code, namespace))
                self.assertEqual(by(lambda c, ns: exec_test.run_code(c, ns, ns)), by(lambda c, ns: exec(c, ns, ns)))


class Coverage(unittest.TestCase):
    # Reached in generators, coroutines and hidden scopes only, which CPython runs.
    GENERATOR_ONLY = {"ReturnGenerator", "YieldValue", "Send", "EndSend", "GetYieldFromIter", "GetAwaitable", "GetAiter",
                      "GetAnext", "EndAsyncFor", "AsyncGenWrap", "CleanupThrow", "BeforeAsyncWith", "StopIterationError"}

    def test_every_op_has_an_executor(self):
        missing = set(exec_test.ops_without_executor())
        self.assertEqual(missing - PREPARED - {"StopIterationError"}, set())

    def test_programs_reach_every_op(self):
        known = set(row for row in ALL_OPS)
        never = known - used_ops() - self.GENERATOR_ONLY - PREPARED - NOT_IN.get(sys.version_info[:2], set())
        self.assertEqual(never, set())


ALL_OPS = exec_test.all_ops()
PREPARED = {"BuildInterpolation", "BuildTemplate", "LoadSpecial"} if sys.version_info < (3, 14) else set()
NOT_IN = {
    (3, 11): {"LoadLocals", "LoadFromDictOrGlobals", "LoadSuperAttr", "LoadFastOrNull", "ClearFast", "ToBool", "ConvertValue",
              "SetFunctionAttribute", "TypeParam", "PrintExpr"},
    (3, 12): {"JumpIfFalseOrPop", "JumpIfTrueOrPop", "ToBool", "ConvertValue", "SetFunctionAttribute", "PrintExpr"},
    (3, 13): {"JumpIfFalseOrPop", "JumpIfTrueOrPop", "PrintExpr", "BuildConstKeyMap"},
}

if __name__ == "__main__":
    unittest.main()
