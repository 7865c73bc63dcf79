// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <array>

#include "core/trace/tracer.h"

namespace breakline::trace {

/// Evaluates one instruction symbolically. The frame's pc names the next instruction already.
using OpHandler = void (*)(Tracer& t, SymFrame& f, const bytecode::Instr& in);
using OpTable = std::array<OpHandler, static_cast<size_t>(bytecode::Op::kCount)>;
const OpTable& opcode_table();

/// Filled by the opcodes_*.cpp files.
void add_value_opcodes(OpTable& table);
void add_control_opcodes(OpTable& table);
void add_build_opcodes(OpTable& table);
void add_exception_opcodes(OpTable& table);

}  // namespace breakline::trace
