# SPDX-License-Identifier: GPL-3.0-or-later
"""CPython's own tests of the language, every test method compiled: traced, with breaks where the test calls into unittest.

A method that plain CPython fails here does not count. Prints the pass rate and each miss; asserts the rate and that every miss has
its reason in KNOWN. Needs the interpreter's `test` package.

  test_cpython.py [MODULE ...] [--all]
"""

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
test_generators test_grammar test_iter test_patma test_raise test_scope test_super test_unpack test_with
""".split()

# Misses with their reasons, by module.class.method.
KNOWN = {
    "test_iter.TestCase.test_ref_counting_behavior": "objects of a failed unpacking die at the end of the segment",
    "test_raise.TestTracebackType.test_attrs": "two looks at the own frame give two frame objects",
}


def methods(cls):
    for name in dir(cls):
        function = cls.__dict__.get(name)
        if name.startswith("test") and isinstance(function, types.FunctionType):
            yield name, function


def cases(module):
    for value in list(vars(module).values()):
        if isinstance(value, type) and issubclass(value, unittest.TestCase) and value.__module__ == module.__name__:
            yield value


def outcome(module):
    """Names of the failing tests with their texts, the number run, and those that were skipped."""
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        result = unittest.TextTestRunner(stream=io.StringIO(), verbosity=0).run(suite)
    bad = {test.id(): text for test, text in result.failures + result.errors}
    return bad, result.testsRun


def both(name):
    """The module's tests natively and compiled."""
    try:
        module = importlib.import_module("test." + name)
    except ImportError as e:
        return {"missing": str(e)}
    import gc

    import breakline

    gc.freeze()  # tests that collect again and again need not look at what was loaded before
    native, count = outcome(module)
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
    import torch  # noqa: F401

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
