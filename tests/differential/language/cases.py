# SPDX-License-Identifier: GPL-3.0-or-later
"""The table that the program files fill."""

import dataclasses
import typing


@dataclasses.dataclass
class Case:
    name: str
    function: typing.Callable
    breaks: int = 0       # most places that may break
    skipped: bool = False  # the frame is left to CPython, with a reason
    segments: int = 0     # most segments over all calls; 0 = not looked at


def table():
    """A list and the decorator that adds to it: @case or @case(breaks=1)."""
    cases = []

    def case(function=None, **expected):
        def note(f):
            cases.append(Case(f.__name__, f, **expected))
            return f

        return note(function) if function else note

    return cases, case
