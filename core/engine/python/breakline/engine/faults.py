# SPDX-License-Identifier: GPL-3.0-or-later
"""What goes wrong in a request, as the protocol's errors."""

import os
import re
import traceback

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

BAD_INPUT, USER_CODE, CANCELLED = 1, 2, -32800


class Fault(Exception):
    """An error answer: code, the one sentence for the user, and data."""

    def __init__(self, code, sentence, **data):
        super().__init__(sentence)
        self.code, self.sentence, self.data = code, sentence, data


def bad_input(kind, sentence, **data):
    """A Fault of code 1; kinds are listed in core/protocol/README.md."""
    return Fault(BAD_INPUT, sentence, kind=kind, **data)


class Cancelled(KeyboardInterrupt):
    """Raised in the main thread when the running request is cancelled."""


class TimeUp(Exception):
    """A call made unasked took too long and was interrupted."""


# PyTorch's layout of a refusal ends with where PyTorch would tell more. The exception keeps that line, since programs
# compare its text; the user is spared it, since the two variables do nothing here.
_PYTORCH_LOGS = re.compile(r"\n?^[ \t|]*Set TORCHDYNAMO_VERBOSE=1 for the internal stack trace .*TORCH_LOGS=.*\n", re.MULTILINE)


def for_the_user(text):
    """An error's text without the hints at PyTorch's own logs."""
    return _PYTORCH_LOGS.sub("", text)


def user_traceback(error):
    """The traceback text from the first frame that is not the engine's own, for the user to read."""
    entry = error.__traceback__
    while entry is not None and entry.tb_frame.f_code.co_filename.startswith((_PACKAGE, "<frozen")):
        entry = entry.tb_next
    return for_the_user("".join(traceback.format_exception(type(error), error, entry)))


def passes_through(error, function):
    """Whether an exception came out of a call of `function` rather than from the code around it."""
    if getattr(error, "break_id", None) is not None or type(error).__module__.startswith(("torch._dynamo", "breakline")):
        return True  # raised by the compiler in place of the call
    code = getattr(function, "__code__", None)
    entry = error.__traceback__
    while entry is not None:
        frame = entry.tb_frame.f_code
        if code is not None and (frame.co_filename, frame.co_firstlineno) == (code.co_filename, code.co_firstlineno):
            return True
        entry = entry.tb_next
    return False


def describe(error):
    """An exception as the `error` entry of a report's target."""
    name = type(error).__qualname__
    module = type(error).__module__
    if module not in ("builtins", "breakline.errors"):
        name = f"{module}.{name}"
    return {
        "type": name,
        "message": for_the_user(str(error)),
        "traceback": user_traceback(error),
        "break": getattr(error, "break_id", None),
    }
