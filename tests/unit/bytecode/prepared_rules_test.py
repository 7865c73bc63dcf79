# SPDX-License-Identifier: GPL-3.0-or-later
"""The table prepared for CPython 3.14 compiles and has a rule for each of its opcodes and for nothing else."""
import unittest

import _bl_prepared_rules as prepared


class PreparedRules(unittest.TestCase):
    def test_every_opcode_has_a_rule(self):
        opcodes = prepared.opcodes()
        self.assertGreater(len(opcodes), 100)
        self.assertEqual([name for name, number in opcodes.items() if not prepared.has_rule(number)], [])

    def test_other_numbers_have_none(self):
        others = set(range(256)) - set(prepared.opcodes().values())
        self.assertEqual([number for number in sorted(others) if prepared.has_rule(number)], [])


if __name__ == "__main__":
    unittest.main()
