# SPDX-License-Identifier: GPL-3.0-or-later
"""The table prepared for CPython 3.14: a rule for each of its opcodes and for nothing else, and what the rules make of them."""
import unittest

import _bl_prepared_rules as prepared

OPCODES = prepared.opcodes()


def sample(a, b, *rest):
    """Gives names, constants and slots: 0 to 2 plain, 3 a cell."""
    cell = a.first.second
    return (lambda: cell), 1000


CODE = sample.__code__


def numbers(*names):
    return sorted(OPCODES[name] for name in names)


def ops(opcode, arg=0):
    """(name, argument) of what an instruction becomes."""
    return [(name, operand) for name, operand, _, _ in prepared.translated(CODE, OPCODES[opcode], arg)]


def objects(opcode, arg):
    return [(name, value) for name, _, _, value in prepared.translated(CODE, OPCODES[opcode], arg)]


def targets(opcode, arg):
    return [(name, target) for name, _, target, _ in prepared.translated(CODE, OPCODES[opcode], arg)]


class Numbers(unittest.TestCase):
    """opcodes_314.h against what 3.14's documentation of `opcode` gives: hasjrel, haslocal, hasname, ... in numbers."""

    def test_kinds(self):
        self.assertEqual(numbers("COMPARE_OP"), [56])
        self.assertEqual(numbers("LOAD_CONST"), [82])
        self.assertEqual(numbers("DELETE_DEREF", "LOAD_FROM_DICT_OR_DEREF", "MAKE_CELL", "STORE_DEREF"), [62, 90, 97, 111])
        self.assertEqual(numbers("END_ASYNC_FOR", "FOR_ITER", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_FORWARD",
                                 "POP_JUMP_IF_FALSE", "POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE", "POP_JUMP_IF_TRUE", "SEND"),
                         [68, 70, 75, 76, 77, 100, 101, 102, 103, 106])
        self.assertEqual(numbers("DELETE_FAST", "LOAD_DEREF", "LOAD_FAST", "LOAD_FAST_AND_CLEAR", "LOAD_FAST_BORROW",
                                 "LOAD_FAST_BORROW_LOAD_FAST_BORROW", "LOAD_FAST_CHECK", "LOAD_FAST_LOAD_FAST", "STORE_FAST",
                                 "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST"), [63, *range(83, 90), 112, 113, 114])
        self.assertEqual(numbers("DELETE_ATTR", "DELETE_GLOBAL", "DELETE_NAME", "IMPORT_FROM", "IMPORT_NAME", "LOAD_ATTR",
                                 "LOAD_FROM_DICT_OR_GLOBALS", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_SUPER_ATTR", "STORE_ATTR",
                                 "STORE_GLOBAL", "STORE_NAME"), [61, 64, 65, 72, 73, 80, 91, 92, 93, 96, 110, 115, 116])
        self.assertEqual(numbers("EXTENDED_ARG", "WITH_EXCEPT_START", "BINARY_OP"), [43, 44, 69])

    def test_no_number_twice(self):
        self.assertEqual(len(set(OPCODES.values())), len(OPCODES))


class Rules(unittest.TestCase):
    def test_every_opcode_has_a_rule(self):
        self.assertGreater(len(OPCODES), 100)
        self.assertEqual([name for name, number in OPCODES.items() if not prepared.has_rule(number)], [])

    def test_other_numbers_have_none(self):
        others = set(range(256)) - set(OPCODES.values())
        self.assertEqual([number for number in sorted(others) if prepared.has_rule(number)], [])

    def test_loads(self):
        self.assertEqual(ops("LOAD_FAST_BORROW", 1), [("LoadFast", 1)])
        self.assertEqual(ops("LOAD_FAST_BORROW", 3), [("LoadClosure", 3)])
        self.assertEqual(ops("LOAD_FAST_BORROW_LOAD_FAST_BORROW", 0x13), [("LoadFast", 1), ("LoadClosure", 3)])
        self.assertEqual(ops("LOAD_FAST_LOAD_FAST", 0x21), [("LoadFast", 2), ("LoadFast", 1)])
        self.assertEqual(ops("STORE_FAST_STORE_FAST", 0x21), [("StoreFast", 2), ("StoreFast", 1)])
        self.assertEqual(ops("STORE_FAST_LOAD_FAST", 0x21), [("StoreFast", 2), ("LoadFast", 1)])
        self.assertEqual(ops("LOAD_FAST_AND_CLEAR", 2), [("LoadFastOrNull", 2), ("ClearFast", 2)])
        self.assertEqual(objects("LOAD_SMALL_INT", 255), [("LoadConst", 255)])
        self.assertEqual(objects("LOAD_CONST", 0), [("LoadConst", CODE.co_consts[0])])

    def test_common_constants(self):
        self.assertEqual(ops("LOAD_COMMON_CONSTANT", 0), [("LoadAssertionError", 0)])
        self.assertEqual([objects("LOAD_COMMON_CONSTANT", i)[0][1] for i in range(1, 5)], [NotImplementedError, tuple, all, any])

    def test_names(self):
        first, second = CODE.co_names.index("first"), CODE.co_names.index("second")
        self.assertEqual(objects("LOAD_ATTR", first << 1), [("LoadAttr", "first")])
        self.assertEqual(objects("LOAD_ATTR", second << 1 | 1), [("LoadMethod", "second")])
        self.assertEqual(objects("LOAD_GLOBAL", second << 1 | 1), [("PushNull", None), ("LoadGlobal", "second")])
        self.assertEqual(ops("LOAD_SUPER_ATTR", second << 2 | 3), [("LoadSuperAttr", 3)])

    def test_calls(self):
        self.assertEqual(ops("CALL", 3), [("Call", 3)])
        self.assertEqual(ops("CALL_FUNCTION_EX"), [("CallEx", 1)])
        # The two call slots are the other way round in normalised code.
        self.assertEqual(ops("PUSH_NULL"), [("PushNull", 0), ("Swap", 2)])

    def test_operators(self):
        self.assertEqual(ops("BINARY_OP", 26), [("BinarySubscr", 0)])
        self.assertEqual(ops("BINARY_OP", 13), [("BinaryOp", 13)])
        self.assertEqual(ops("BINARY_SLICE"), [("BuildSlice", 2), ("BinarySubscr", 0)])
        self.assertEqual(ops("COMPARE_OP", 2 << 5 | 16 | 7), [("CompareOp", 2 | 256)])
        self.assertEqual(ops("COMPARE_OP", 4 << 5 | 7), [("CompareOp", 4)])
        self.assertEqual(ops("CALL_INTRINSIC_1", 5), [("UnaryPositive", 0)])

    def test_with_statements(self):
        self.assertEqual([objects("LOAD_SPECIAL", i) for i in range(4)],
                         [[("LoadSpecial", name)] for name in ("__enter__", "__exit__", "__aenter__", "__aexit__")])
        self.assertEqual(ops("WITH_EXCEPT_START"), [("WithExceptStart", 1)])

    def test_loops_and_jumps(self):
        # Past END_FOR and POP_ITER: the normalised iterator is gone when its loop ends.
        self.assertEqual(targets("FOR_ITER", 5), [("ForIter", 14 + 2 * 5 + 4)])
        self.assertEqual(targets("JUMP_BACKWARD", 3), [("Jump", 14 - 2 * 3)])
        self.assertEqual(targets("POP_JUMP_IF_NONE", 3), [("PopJumpIfNone", 14 + 2 * 3)])
        self.assertEqual(ops("POP_ITER"), [("PopTop", 0)])
        self.assertEqual([ops(name) for name in ("NOT_TAKEN", "RESUME", "CACHE")], [[], [], []])

    def test_templates(self):
        self.assertEqual(ops("BUILD_INTERPOLATION", 3), [("BuildInterpolation", 3)])
        self.assertEqual(ops("BUILD_TEMPLATE"), [("BuildTemplate", 0)])
        self.assertEqual(ops("SET_FUNCTION_ATTRIBUTE", 16), [("SetFunctionAttribute", 16)])


if __name__ == "__main__":
    unittest.main()
