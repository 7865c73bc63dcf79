# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run gave, in a form that two runs can be compared by: result or exception with traceback, chain and output.
Entries of files in the harness's own folder are left out."""
import contextlib
import io
import os
import re
import traceback
import warnings

HARNESS = os.path.dirname(os.path.abspath(__file__))
ADDRESS = re.compile(r"0x[0-9a-f]+")


def show(value):
    return ADDRESS.sub("0x?", repr(value))


def entries(tb):
    """(qualified name, file, tb_lineno, line, end line, column, end column) of each entry."""
    rows = [(frame.f_code.co_qualname, frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(tb)]
    return [row + tuple(positions) for row, (_, positions) in zip(rows, traceback._walk_tb_with_full_positions(tb))
            if os.path.dirname(row[1]) != HARNESS]


def describe(error, seen=()):
    """Type, text, traceback, cause and context of an exception."""
    if error is None or error in seen:
        return None
    seen = seen + (error,)
    out = {
        "type": type(error).__qualname__,
        "text": ADDRESS.sub("0x?", str(error)),
        "args": show(error.args),
        "traceback": entries(error.__traceback__),
        "cause": describe(error.__cause__, seen),
        "context": describe(error.__context__, seen),
        "suppress": error.__suppress_context__,
        "notes": getattr(error, "__notes__", None),
        "name": getattr(error, "name", None) if isinstance(error, (NameError, AttributeError)) else None,
        "hint": traceback.format_exception_only(type(error), error)[-1] if not isinstance(error, SyntaxError) else None,
    }
    out["hint"] = ADDRESS.sub("0x?", out["hint"] or "")
    if isinstance(error, BaseExceptionGroup):
        out["members"] = [describe(e, seen) for e in error.exceptions]
    return out


def observe(run):
    output = io.StringIO()
    caught = []
    with contextlib.redirect_stdout(output), warnings.catch_warnings(record=True) as log:
        warnings.simplefilter("always")
        try:
            result = ("value", show(run()))
        except BaseException as error:
            result = ("error", describe(error))
            error.__traceback__ = None
        for w in log:
            caught.append((w.category.__name__, str(w.message), w.filename, w.lineno))
    return {"result": result, "output": ADDRESS.sub("0x?", output.getvalue()), "warnings": caught}
