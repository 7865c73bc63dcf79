# SPDX-License-Identifier: GPL-3.0-or-later
"""CPython's own tests of the language: every test method compiled (traced, with breaks where the test calls into unittest),
every doctest example run by the executor together with the functions it calls.

A method or example that plain CPython fails here does not count. Prints the pass rate and each miss; asserts the rate and that every
miss has its reason in KNOWN. Needs the interpreter's `test` package; PyTorch is not needed.

  test_cpython.py [MODULE ...]
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
test_augassign test_bool test_class test_compare test_contains test_decorators test_dictcomps test_dynamic test_except_star
test_exception_variations test_fstring test_funcattrs test_generators test_genexps test_global test_grammar test_iter
test_isinstance test_keywordonlyarg test_listcomps test_named_expressions test_patma test_positional_only_arg test_property test_raise
test_richcmp test_scope test_setcomps test_slice test_subclassinit test_super test_tuple test_type_params test_unary test_unpack
test_unpack_ex test_with test_yield_from
""".split()

# Misses with their reasons, by module.class.method.
KNOWN = {
    "test_iter.TestCase.test_ref_counting_behavior": "objects of a failed unpacking die at the end of the segment",
    "test_raise.TestTracebackType.test_attrs": "two looks at the own frame give two frame objects",
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
    import gc

    import breakline

    breakline.compile(lambda: None)()  # loads PyTorch where there is one
    gc.freeze()  # tests that collect again and again need not look at what was loaded before
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
    wanted = [a for a in sys.argv[1:] if not a.startswith("-")] or MODULES
    try:
        import test.test_grammar  # noqa: F401
    except ImportError:
        print("skipped: this interpreter has no `test` package")
        sys.exit(77)
    import breakline  # noqa: F401

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
