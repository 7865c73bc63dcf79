# SPDX-License-Identifier: GPL-3.0-or-later
"""Breakline: a compiler for PyTorch code that shows every graph break and lets a policy rule each of them.

Importing this package needs neither PyTorch nor the engine extension; both are looked up on first use.
"""

from . import config
from ._native import EngineMissing
from ._version import __version__
from .api import compile, explain, is_compiled, reset, set_stance, tally
from .markers import (
    allow_in_graph,
    assume_constant_result,
    disable,
    error_on_graph_break,
    graph_break,
    is_compiling,
    nonstrict_trace,
    skip_frame,
    step_unsupported,
)
from .sizes import mark_dynamic, mark_static, maybe_mark_dynamic

__all__ = [
    "EngineMissing",
    "Unsupported",
    "__version__",
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "config",
    "disable",
    "error_on_graph_break",
    "explain",
    "graph_break",
    "is_compiled",
    "is_compiling",
    "mark_dynamic",
    "mark_static",
    "maybe_mark_dynamic",
    "nonstrict_trace",
    "reset",
    "set_stance",
    "skip_frame",
    "step_unsupported",
    "tally",
]


def __getattr__(name):
    if name in ("Unsupported", "FailOnRecompileLimitHit", "InternalTorchDynamoError"):
        from . import errors

        return getattr(errors, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
