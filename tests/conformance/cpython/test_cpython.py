# SPDX-License-Identifier: GPL-3.0-or-later
"""CPython's own tests of the language: every test method compiled (traced, with breaks where the test calls into unittest),
every doctest example run by the executor together with the functions it calls.

A method or example that plain CPython fails here does not count. Prints the pass rate and each miss; asserts the rate and that every
miss has its reason in KNOWN. Needs the interpreter's `test` package; PyTorch is not needed.

  test_cpython.py [--all | MODULE ...]
"""

import doctest
import importlib
import io
import os
import sys
import types
import unittest
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "support")]

from harness import run_child  # noqa: E402

MODULES = """
test_abc test_augassign test_binop test_bisect test_bool test_builtin test_call test_class test_collections test_compare test_complex
test_contains test_contextlib test_copy test_coroutines test_decorators test_deque test_descr test_dict test_dictcomps test_dynamic
test_dynamicclassattribute test_enumerate test_except_star test_exception_group test_exception_variations test_extcall test_float
test_format test_fstring test_funcattrs test_functools test_generators test_genexps test_global test_grammar test_hash test_heapq
test_int test_isinstance test_iter test_itertools test_keywordonlyarg test_list test_listcomps test_long test_metaclass
test_named_expressions test_opcodes test_operator test_ordered_dict test_patma test_positional_only_arg test_pow test_property
test_raise test_range test_richcmp test_scope test_set test_setcomps test_slice test_sort test_string test_subclassinit test_super
test_traceback test_tuple test_type_params test_types test_unary test_unpack test_unpack_ex test_userdict test_userlist test_with
test_yield_from
""".split()
# What --all adds: longer ones, and the library's.
MORE_MODULES = """
test_asyncgen test_baseexception test_cmath test_contextlib_async test_dataclasses test_enum test_exception_hierarchy test_exceptions
test_fractions test_math test_numeric_tower test_pprint test_random test_reprlib test_statistics test_string_literals test_struct
test_textwrap test_typing test_userstring test_weakref
""".split()

# Misses with their reasons, by module.class.method.
LIFETIME = "what a segment was compiled for (a class, a function, an object as a key) lives as long as the segment"
ROOM = "how much room a container has beyond its items depends on how it came about"
KNOWN = {
    "test_iter.TestCase.test_ref_counting_behavior": "objects of a failed unpacking die at the end of the segment",
    "test_raise.TestTracebackType.test_attrs": "two looks at the own frame give two frame objects",
    "test_coroutines.CoroutineTest.test_for_2": "counts the references to a constant, among them segments'",
    "test_descr.ClassPropertiesAndMethods.test_remove_subclass": LIFETIME,
    "test_descr.ClassPropertiesAndMethods.test_slots": "counts the objects of the process, among them new segments'",
    "test_descr.ClassPropertiesAndMethods.test_vicious_descriptor_nonsense": "an attribute's look-up compares with no key but its name",
    "test_descr.SharedKeyTests.test_subclasses": ROOM,
    "test_dict.DictTest.test_splittable_popitem": ROOM,
    "test_functools.TestLRUC.test_lru": "answers of a cached function that are part of a segment are not counted as hits",
    # 3.12 and 3.13
    "test_descr.ClassPropertiesAndMethods.test_module_subclasses": LIFETIME,
    "test_fstring.TestCase.test_fstring_backslash_before_double_bracket_warns_once": "source given to eval is compiled while tracing too",
    "test_int.IntSubclassStrDigitLimitsTests.test_denial_of_service_prevented_int_to_str": "times a call against a faster one",
    "test_int.IntSubclassStrDigitLimitsTests.test_denial_of_service_prevented_str_to_int": "times a call against a faster one",
    "test_functools.TestLRUC.test_lru_cache_weakrefable": LIFETIME,
    "test_functools.TestLRUPy.test_lru_cache_weakrefable": LIFETIME,
    "test_ordered_dict.CPythonOrderedDictSubclassTests.test_reference_loop": LIFETIME,
    "test_ordered_dict.CPythonOrderedDictTests.test_reference_loop": LIFETIME,
    "test_ordered_dict.PurePythonOrderedDictSubclassTests.test_reference_loop": LIFETIME,
    "test_ordered_dict.PurePythonOrderedDictTests.test_reference_loop": LIFETIME,
    "test_struct.StructTest.test__struct_reference_cycle_cleaned_up": LIFETIME,
    "test_weakref.MappingTestCase.test_weak_keyed_union_operators": LIFETIME,
    "test_weakref.ReferencesTestCase.test_callback_in_cycle_resurrection": LIFETIME,
    "test_weakref.ReferencesTestCase.test_cfunction": LIFETIME,
    "test_weakref.WeakMethodTestCase.test_callback_when_method_dead": LIFETIME,
    "test_weakref.WeakMethodTestCase.test_method_dead": LIFETIME,
}


def methods(cls):
    """Test methods, those of mixed-in classes too: they run with this class's own settings."""
    for name in dir(cls):
        function = next((c.__dict__[name] for c in cls.__mro__ if name in c.__dict__), None)
        if name.startswith("test") and isinstance(function, types.FunctionType):
            yield name, function


def cases(module):
    for value in list(vars(module).values()):
        if isinstance(value, type) and issubclass(value, unittest.TestCase) and value.__module__ == module.__name__:
            yield value


def outcome(module):
    """Names of the failing tests with their texts, and the number run."""
    # load_tests hooks add the doctests, which have a run of their own.
    module.load_tests = lambda loader, tests, pattern: tests
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        result = unittest.TextTestRunner(stream=io.StringIO(), verbosity=0).run(suite)
    bad = {test.id(): text for test, text in result.failures + result.errors}
    return bad, result.testsRun


def examples(module, run):
    """The doctest examples that fail, and how many there are; `run(code, globals)` takes the place of exec."""
    bad, count = {}, 0
    doctest.exec = lambda code, globs: run(code, globs)
    try:
        for test in doctest.DocTestFinder().find(module):
            said = io.StringIO()
            runner = Examples(bad, verbose=False)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                runner.run(test, out=said.write)
            count += len(test.examples)
    finally:
        del doctest.exec
    return bad, count


class Examples(doctest.DocTestRunner):
    """Notes failing examples by test and line."""

    def __init__(self, bad, **options):
        super().__init__(**options)
        self.bad = bad

    def report_failure(self, out, test, example, got):
        self.bad[f"{test.name}:{example.lineno}"] = f"{example.source}got {got}"

    def report_unexpected_exception(self, out, test, example, exc_info):
        self.bad[f"{test.name}:{example.lineno}"] = f"{example.source}raised {exc_info[1]!r}"


def machine_exec():
    """An exec that runs code and the Python functions it calls instruction by instruction, or None where it is not built."""
    sys.path.append(os.path.join(os.environ.get("BREAKLINE_BINARY_DIR", os.path.join(HERE, "..", "..", "..", "build")), "tests", "exec"))
    try:
        import _bl_exec_test as machine
    except ImportError:
        return None
    machine.set_deep(True)
    return lambda code, globs: machine.run_code(code, globs, globs)


def both(name):
    """The module's tests natively and compiled."""
    try:
        module = importlib.import_module("test." + name)
    except ImportError as e:
        return {"missing": str(e)}
    import breakline

    native, count = outcome(module)
    native_examples, examples_count = examples(module, exec)
    compiled = []
    for cls in cases(module):
        for method, function in methods(cls):
            made = breakline.compile(function, plan="replay")
            compiled.append(made)
            # unittest looks for a plain function in the class.
            def forward(self, *args, _made=made, **kwargs):
                return _made(self, *args, **kwargs)

            forward.__name__, forward.__qualname__, forward.__dict__ = function.__name__, function.__qualname__, dict(function.__dict__)
            setattr(cls, method, forward)
    ours, ours_count = outcome(module)
    run = machine_exec() if examples_count else None
    if run:
        native.update(native_examples)
        ours.update(examples(module, run)[0])
        count += examples_count
    internal = sorted({s["reason"] for f in compiled for s in f.target_report()["skipped_frames"] if s["reason"].startswith("internal")})
    return {"native": native, "count": count, "ours": ours, "ours_count": ours_count, "methods": len(compiled),
            "traced": sum(1 for f in compiled if f.target_report()["segments"]), "internal": internal}


def main():
    wanted = [a for a in sys.argv[1:] if not a.startswith("-")] or (MODULES + MORE_MODULES if "--all" in sys.argv else MODULES)
    try:
        import test.test_grammar  # noqa: F401
    except ImportError:
        print("skipped: this interpreter has no `test` package")
        sys.exit(77)
    import gc

    import breakline

    breakline.compile(lambda: None)()  # loads PyTorch where there is one, once for all modules
    gc.freeze()  # tests that collect again and again need not look at what was loaded before
    total = good = methods_count = traced = 0
    unexplained = []
    for name in wanted:
        answer = run_child(lambda: both(name), 400)
        if "missing" in answer:
            print(f"{name}: not there ({answer['missing']})")
            continue
        if "crash" in answer:
            print(f"{name}: CRASH {answer['crash'][-800:]}")
            unexplained.append(name + ".crash")
            continue
        counted = answer["count"] - len(answer["native"])
        misses = {k: v for k, v in answer["ours"].items() if k not in answer["native"]}
        total += counted
        good += counted - len(misses)
        methods_count += answer["methods"]
        traced += answer["traced"]
        print(f"{name}: {counted - len(misses)} of {counted}, {answer['traced']} of {answer['methods']} methods traced", flush=True)
        for key, text in misses.items():
            reason = KNOWN.get(key.split(".", 1)[1])
            print(f"  MISS {key}: {reason or text[-700:]}")
            if not reason:
                unexplained.append(key)
        for text in answer["internal"]:
            print("  INTERNAL", text)
            unexplained.append(name + ".internal")
    print(f"cpython: {good} passed, {total - good} failed ({100.0 * good / max(total, 1):.2f} %), {traced} of {methods_count} methods traced")
    if unexplained:
        print("unexplained:", " ".join(unexplained))
    sys.exit(0 if not unexplained and good >= 0.99 * total else 1)


if __name__ == "__main__":
    main()
