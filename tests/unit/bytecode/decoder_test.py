# SPDX-License-Identifier: GPL-3.0-or-later
"""Every opcode of this interpreter has a rule, and decoding agrees with dis over the standard library."""
import bisect
import dis
import opcode
import os
import sys
import types
import unittest

import _bl_exec_test as exec_test

# Written by instrumentation and the optimiser only; PyCode_GetCode gives the plain instruction.
INTERNAL = ("INSTRUMENTED_",)


def real_opcodes():
    return {name: number for name, number in opcode.opmap.items() if number < 256 and not name.startswith(INTERNAL)}


def code_objects(code):
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from code_objects(const)


def library_sources():
    root = os.path.dirname(os.__file__)
    for folder in ("", "json", "asyncio", "importlib", "email", "unittest", "test"):
        path = os.path.join(root, folder)
        names = sorted(os.listdir(path)) if os.path.isdir(path) else []
        if folder == "test":
            wanted = ("test_grammar.py", "test_patma.py", "test_coroutines.py", "test_except_star.py", "test_type_params.py",
                      "test_unpack_ex.py", "test_with.py", "test_generators.py", "test_listcomps.py", "test_super.py")
            names = [n for n in names if n in wanted]
        for name in names if folder == "test" or "--all" in sys.argv else names[::8]:
            if name.endswith(".py"):
                yield os.path.join(path, name)


class Rules(unittest.TestCase):
    def test_every_opcode_has_a_rule(self):
        missing = sorted(n for n, number in real_opcodes().items() if not exec_test.has_rule(number))
        self.assertEqual(missing, [])

    def test_table_is_no_yes_man(self):
        unused = set(range(256)) - set(opcode.opmap.values()) - set(getattr(opcode, "_specialized_opmap", {}).values())
        self.assertTrue(any(not exec_test.has_rule(n) for n in unused))


class AgainstDis(unittest.TestCase):
    """Positions, jump targets and exception tables over a slice of the library."""

    def check(self, code):
        instrs, entries = exec_test.decode(code)
        real = [i for i in dis.get_instructions(code)]
        by_offset = {i.offset: i for i in real}
        # First kept instruction at or behind each offset.
        offsets = [row[3] for row in instrs]
        self.assertEqual(offsets, sorted(offsets), code)

        def index_at(offset):
            return bisect.bisect_left(offsets, offset)

        positions = list(code.co_positions())
        for op, arg, target, offset, *position, obj in instrs:
            source = by_offset[offset]
            want = [v if v is not None else -1 for v in positions[offset // 2]]
            self.assertEqual([position[0], position[2], position[1], position[3]],
                             [want[0], want[1], want[2], want[3]], (code, offset, source.opname))
            if target >= 0:
                goal = source.argval
                if source.opname == "FOR_ITER" and sys.version_info >= (3, 12):
                    goal += 4 if sys.version_info >= (3, 13) else 2
                self.assertEqual(target, index_at(goal), (code, offset, source.opname))
            if op in ("LoadGlobal", "LoadName", "StoreAttr", "LoadMethod", "LoadAttr", "ImportName", "StoreName"):
                self.assertIn(obj, source.argrepr if source.argval is None else (source.argval,), (code, offset))
            if op == "LoadConst" and source.opname in ("LOAD_CONST", "RETURN_CONST"):
                self.assertIs(obj, source.argval)
            if op == "Call" and source.opname == "CALL_KW":
                self.assertIsInstance(obj, tuple)
        table = [(index_at(e.start), index_at(e.end), index_at(e.target), e.depth, int(e.lasti))
                 for e in dis._parse_exception_table(code)]
        # The handler that every generator of 3.12+ ends in is left out.
        self.assertEqual(entries, [e for e in table if e[0] < e[1] and instrs[e[2]][0] != "StopIterationError"], code)

    def test_call_slots_are_in_one_order(self):
        """A call finds NULL below its callable whatever the version's own order is."""
        source = "def f(g, o, *a, **k):\n    g(1)\n    print(2, end=3)\n    o.m(*a, **k)\n    return g(*a)\n"
        code = next(c for c in compile(source, "calls", "exec").co_consts if isinstance(c, types.CodeType))
        ops = [row[0] for row in exec_test.decode(code)[0]]
        stack, calls = [], 0
        for op, arg, target, offset, *position, obj in exec_test.decode(code)[0]:
            if op in ("Call", "CallEx"):
                operands = arg + 2 if op == "Call" else 3 + (arg & 1)
                self.assertEqual(stack[-operands], "PushNull", ops)
                del stack[-operands:]
                stack.append(op)
                calls += 1
            elif op == "Swap":
                stack[-1], stack[-arg] = stack[-arg], stack[-1]
            elif op in ("DictMerge", "PopTop", "ReturnValue"):
                stack.pop()
            elif op not in ("LoadAttr", "ListToTuple", "Nop"):
                self.assertIn(op, ("PushNull", "LoadFast", "LoadConst", "LoadGlobal", "BuildMap"), ops)
                stack.append(op)
        self.assertEqual(calls, 4)

    def test_library(self):
        count = 0
        for path in library_sources():
            with open(path, "rb") as f:
                source = f.read()
            for code in code_objects(compile(source, path, "exec", dont_inherit=True)):
                self.check(code)
                count += 1
        self.assertGreater(count, 1500)

    def test_long_jumps(self):
        body = "\n".join("    x = x + y * %d" % k for k in range(400))
        code = compile("while x:\n  if y:\n" + body + "\n  else:\n" + body + "\n", "long", "exec")
        self.check(code)


if __name__ == "__main__":
    unittest.main(argv=[a for a in sys.argv if a != "--all"])
