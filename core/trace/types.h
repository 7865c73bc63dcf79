// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/python/ref.h"

namespace breakline::trace {

PyTypeObject* ordered_dict_type();
PyTypeObject* default_dict_type();
/// functools.partial
PyTypeObject* partial_type();

}  // namespace breakline::trace
