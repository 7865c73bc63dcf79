// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/python/ref.h"

namespace breakline::guard {

/// Same type and indistinguishable value: -0.0 differs from 0.0, NaN equals the same NaN bits, True differs from 1. Only for
/// objects that `is_plain_constant` accepts; others compare by identity.
bool same_constant(PyObject* a, PyObject* b);

/// Immutable built-in values that may be baked into a segment: numbers (numpy's too), text, bytes, None, Ellipsis, ranges, and tuples,
/// frozensets and slices of them.
bool is_plain_constant(PyObject* object);

/// Whether CPython keeps one object for this plain constant, so that equal ones are the same: None, booleans, small ints, the empty
/// text, bytes and tuple, and texts and bytes of one Latin-1 character.
bool is_single(PyObject* object);

/// numpy.float64 and its kin: immutable numbers, constants like Python's own.
bool is_numpy_scalar_type(PyTypeObject* type);

}  // namespace breakline::guard
