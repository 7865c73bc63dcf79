# SPDX-License-Identifier: GPL-3.0-or-later
"""CPython's own tests of the language, their test methods run by the machine. What fails natively here too doesn't count."""
import importlib
import io
import sys
import types
import unittest
import warnings

import _bl_exec_test as exec_test

MODULES = """
test_augassign test_bool test_call test_class test_compare test_contains test_decorators test_descr test_dictcomps
test_dynamic test_except_star test_exception_group test_exception_variations test_exceptions test_fstring test_funcattrs
test_generators test_genexps test_global test_grammar test_isinstance test_iter test_keywordonlyarg test_list test_listcomps
test_named_expressions test_opcodes test_patma test_positional_only_arg test_pow test_raise test_richcmp test_scope
test_setcomps test_slice test_subclassinit test_super test_tuple test_type_params test_typechecks test_unary test_unpack
test_unpack_ex test_with test_yield_from test_dict test_set test_property test_enumerate test_range test_functools
test_contextlib test_dataclasses test_warnings test_logging test_inspect test_traceback test_sys
""".split() if "--all" in sys.argv else """
test_augassign test_class test_compare test_contains test_decorators test_except_star test_exception_variations test_fstring
test_global test_grammar test_keywordonlyarg test_listcomps test_named_expressions test_patma test_positional_only_arg
test_raise test_scope test_super test_type_params test_unary test_unpack test_unpack_ex test_with
""".split()

# A function run by the machine has a real frame around each call only, and another one each time (test_attrs compares
# two); and the machine keeps the functions that make those frames (test_slots counts all objects of the process).
NOT_COMPARED = {"test_attrs", "test_slots"}


def test_methods(cls):
    for name in dir(cls):
        function = cls.__dict__.get(name)
        if name.startswith("test") and isinstance(function, types.FunctionType) and name not in NOT_COMPARED:
            yield name, function


def cases(module):
    for value in list(vars(module).values()):
        if isinstance(value, type) and issubclass(value, unittest.TestCase) and value.__module__ == module.__name__:
            yield value


def run(module):
    """Names of the failing tests and the number run."""
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    runner = unittest.TextTestRunner(stream=io.StringIO(), verbosity=0)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        result = runner.run(suite)
    bad = {test.id(): text for test, text in result.failures + result.errors}
    return bad, result.testsRun


def swap(module):
    undo = []
    for cls in cases(module):
        for name, function in test_methods(cls):
            undo.append((cls, name, function))
            setattr(cls, name, exec_test.wrap(function))
    return undo


class LanguageTests(unittest.TestCase):
    def check(self, name, deep):
        try:
            module = importlib.import_module("test." + name)
        except (ImportError, unittest.SkipTest):
            self.skipTest("this interpreter has no test." + name)
        # load_tests hooks add doctests, which are strings to compile, not functions to run.
        module.load_tests = lambda loader, tests, pattern: tests
        native, _ = run(module)
        undo = swap(module)
        exec_test.set_deep(deep)
        try:
            machine, count = run(module)
        finally:
            exec_test.set_deep(False)
            for cls, attribute, function in undo:
                setattr(cls, attribute, function)
        new = {k: v for k, v in machine.items() if k not in native}
        self.assertEqual(sorted(new), [], "\n".join(new.values()))
        return count

    def test_machine(self):
        total = 0
        for name in MODULES:
            with self.subTest(name):
                total += self.check(name, deep=False)
        self.assertGreater(total, 500)

    def test_machine_with_callees(self):
        for name in MODULES:
            with self.subTest(name):
                self.check(name, deep=True)


if __name__ == "__main__":
    sys.argv = [a for a in sys.argv if a != "--all"]
    unittest.main()
