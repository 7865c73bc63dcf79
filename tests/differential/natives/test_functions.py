# SPDX-License-Identifier: GPL-3.0-or-later
"""Every public function and class of many modules of the standard library, called with arguments that fit and that do not: the
answer or the error is eager's."""

import importlib
import inspect
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "support")]

from harness import run_sweep  # noqa: E402
from sweep import differences, fresh, program, ramp  # noqa: E402

MODULES = """math cmath operator itertools functools collections heapq bisect string re json textwrap copy statistics datetime decimal
fractions struct types typing keyword numbers base64 binascii hashlib difflib reprlib unicodedata html shlex fnmatch posixpath pathlib
dataclasses enum contextlib array calendar colorsys uuid ast inspect builtins zlib random abc weakref queue traceback io""".split()
# What asks the process, the clock or the person, changes the process, or never ends.
LEFT_OUT = set("""input breakpoint exit quit help open print exec eval compile copyright credits license globals locals vars dir id
hash memoryview uuid1 uuid4 getnode main print_exc print_last print_stack print_tb print_list print_exception open_code FileIO
redirect_stdout redirect_stderr chdir getsourcefile getfile stack trace currentframe getframeinfo getouterframes getinnerframes
walk_stack extract_stack format_stack cycle count repeat SystemRandom object""".split())
VALUES = [2, [3, 1, 2], "ab", {"a": 1}, lambda a=0, b=1: b, 2.5, (1, 2), None, b"ab", -1, ramp(), [ramp(), ramp()]]
NUMBERS = [()] + [(i,) for i in range(len(VALUES))] + [
    (0, 0), (0, 1), (1, 0), (4, 1), (2, 2), (2, 0), (5, 0), (8, 8), (6, 1), (10, 0), (0, 10), (4, 11), (4, 1, 0), (2, 2, 2), (0, 0, 0),
    (4, 11, 10)]


def wrong_of_module(name):
    module = importlib.import_module(name)
    builtin = importlib.import_module("builtins")
    found = {}
    for word in sorted(dir(module)):
        function = getattr(module, word)
        own = name == "builtins" or getattr(builtin, word, None) is not function
        if word.startswith("_") or word in LEFT_OUT or not own or not callable(function):
            continue
        if name in ("typing", "types") and not inspect.isroutine(function):
            continue
        f = program(f"module.{word}(*a)")
        f.__globals__["module"] = module
        wrong = differences(f, [lambda n=n: fresh(VALUES[i] for i in n) for n in NUMBERS])
        found[word] = repr([NUMBERS[i] for i in wrong[:4]]) if wrong else ""
    return found


if __name__ == "__main__":
    run_sweep("native functions", MODULES, wrong_of_module)
