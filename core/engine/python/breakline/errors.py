# SPDX-License-Identifier: GPL-3.0-or-later
"""The errors that compiled code raises. They derive from PyTorch's own classes in `torch._dynamo.exc`, so that `except`
clauses written for torch.compile keep working. Importing that module is slow, so a class is made when first needed.

`light(True)` lets the engine raise look-alikes that need no import; it does so only for files that don't name PyTorch's
classes, where no `except` clause can tell the difference.
"""

import importlib
import threading
import traceback

# our name → (class in torch._dynamo.exc or module with a class of that name, base where PyTorch has no such class)
_BASES = {
    "Unsupported": ("Unsupported", RuntimeError),
    "InternalTorchDynamoError": ("InternalTorchDynamoError", RuntimeError),
    "FailOnRecompileLimitHit": ("FailOnRecompileLimitHit", Exception),
    "ConstraintViolationError": ("torch.fx.experimental.symbolic_shapes", RuntimeError),
}

# kind given by the engine → our name
_KINDS = {
    "unsupported": "Unsupported",
    "internal": "InternalTorchDynamoError",
    "recompile_limit": "FailOnRecompileLimitHit",
    "constraint": "ConstraintViolationError",
}

_classes = {}
_light_classes = {}
_light = False
_lock = threading.Lock()


def light(on):
    """Raise classes that need no import of torch._dynamo (the engine's own runs)."""
    global _light
    _light = on


class _Details:
    """What every error of ours carries besides its text."""

    def __init__(self, message, **details):
        Exception.__init__(self, message)
        self.msg = details.pop("msg", message.split("\n\nfrom user code:", 1)[0])
        self.gb_type = details.pop("gb_type", None)
        self.real_stack = stack_summary(details.pop("frames", ()))
        self.innermost_user_frame_summary = self.real_stack[-1] if self.real_stack else None
        self.category = "unimplemented"
        self.skip_frame = False
        self.logged = False
        self.compile_id = None
        self.frame_exec_strategy = None
        for name, value in details.items():
            setattr(self, name, value)

    def __str__(self):
        return str(self.args[0]) if self.args else ""

    def __reduce__(self):
        return _rebuild, (type(self).__name__, str(self), {"msg": self.msg, "gb_type": self.gb_type})


def _rebuild(name, message, details):
    return _class(name)(message, **details)


def stack_summary(frames):
    """`traceback.StackSummary` from (file, line, function[, column, end_line, end_column]) entries, outermost first."""
    summaries = []
    for file, line, function, *place in frames:
        column, end_line, end_column = (list(place) + [None] * 3)[:3]
        summaries.append(
            traceback.FrameSummary(
                file,
                line,
                function,
                lookup_line=False,
                end_lineno=end_line if end_line and end_line > 0 else None,
                colno=column if column is not None and column >= 0 else None,
                end_colno=end_column if end_column is not None and end_column >= 0 else None,
            )
        )
    return traceback.StackSummary.from_list(summaries)


def _make_class(name, base):
    return type(name, (_Details, base), {"__module__": __name__, "__doc__": f"Breakline's {name}."})


def _class(name):
    with _lock:
        if _light and name not in _classes:
            if name not in _light_classes:
                _light_classes[name] = _make_class(name, _BASES[name][1])
            return _light_classes[name]
        if name not in _classes:
            torch_name, fallback = _BASES[name]
            try:
                if "." in torch_name:
                    base = getattr(importlib.import_module(torch_name), name)
                else:
                    from . import standin

                    base = getattr(standin.real_dynamo().exc, torch_name, fallback)
            except ImportError:
                base = fallback  # without PyTorch there is no class to derive from
            _classes[name] = _make_class(name, base)
        return _classes[name]


def make(kind, message, details):
    """The exception for `kind` (core/engine/README.md); called by the engine extension."""
    return _class(_KINDS.get(kind, "Unsupported"))(message, **details)


def is_ours(error):
    """Whether `error` is one of the classes made here."""
    return isinstance(error, _Details)


def __getattr__(name):
    if name in _BASES:
        return _class(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
