# SPDX-License-Identifier: GPL-3.0-or-later
"""What a break costs in truth: the same program without the statement that breaks, compiled and timed beside the one with it.

That program exists only where leaving the statement out changes no result: `graph_break()`, and output that nothing reads (print,
logging, warnings), which is then missing. For all others there is none, and the sentence says so."""

import ast
import contextlib
import gc
import statistics
import types

_NO_RESULT = {"graph-break": "", "print": "its output is missing then", "logging": "its output is missing then", "warning": "its output is missing then"}


class NotPossible(Exception):
    """Why there is no such program, one sentence."""


def find(breaks, place):
    """The break at LINE or FILE:LINE."""
    file, _, line = place.rpartition(":")
    found = [item for item in breaks if str(item["line"]) == line and (not file or item["file"].endswith(file))]
    if not found:
        places = ", ".join(sorted({f"{item['file'].rpartition('/')[2]}:{item['line']}" for item in breaks})) or "none"
        raise NotPossible(f"there is no break at {place}; there are: {places}")
    return found[0]


class _LeaveOut(ast.NodeTransformer):
    def __init__(self, line, column):
        self.line, self.column, self.done = line, column, False

    def visit_Expr(self, node):
        call = node.value
        inside = isinstance(call, ast.Call) and call.lineno <= self.line <= call.end_lineno
        if inside and (self.column < 0 or call.col_offset <= self.column or call.lineno < self.line):
            self.done = True
            return ast.copy_location(ast.Pass(), node)
        return node


def _codes(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _at(code, item):
    """The innermost code object of a file that has a break's line."""
    found = None
    for inner in _codes(code):
        if inner.co_name == item["chain"][-1]["function"] and any(line == item["line"] for _, _, line in inner.co_lines()):
            found = inner
    return found


def replacement(item, source):
    """(functions, their code without the statement, what else changes) for a break of a report."""
    if item["reason"] not in _NO_RESULT:
        raise NotPossible(f"{item['code'] or item['reason']} gives the program something it needs: there is no equal one without it")
    whole = _at(compile(source, item["file"], "exec", dont_inherit=True), item)
    # By its code: the engine has functions of its own with the same name and lines.
    functions = [function for function in gc.get_objects() if type(function) is types.FunctionType and function.__code__ == whole]
    if whole is None or not functions:
        raise NotPossible(f"the function around line {item['line']} is not at hand as the file has it")
    leave_out = _LeaveOut(item["line"], item["column"])
    tree = ast.fix_missing_locations(leave_out.visit(ast.parse(source)))
    if not leave_out.done:
        raise NotPossible(f"line {item['line']} is no statement of its own, so it can't be left out")
    for code in _codes(compile(tree, item["file"], "exec", dont_inherit=True)):
        if code.co_qualname == whole.co_qualname and code.co_firstlineno == whole.co_firstlineno and code.co_freevars == whole.co_freevars:
            return functions, code, _NO_RESULT[item["reason"]]
    raise NotPossible("the function without that statement has other variables")


@contextlib.contextmanager
def in_force(functions, code):
    """Lets functions run other code."""
    old = [function.__code__ for function in functions]
    for function in functions:
        function.__code__ = code
    try:
        yield
    finally:
        for function, before in zip(functions, old):
            function.__code__ = before


def predicted(extension, target, recording, item, *, no_grad, calls=30):
    """{us, low, high}: what a call should save without the break, from its own parts in real calls: leaving, the instruction,
    entering. Fusion that the break prevents comes on top, so the truth may lie above."""
    compiled = target.compiled
    with recording.staged(no_grad=no_grad):
        compiled(*recording.args, **recording.kwargs)
        recording.restore()
        extension.profile_begin(compiled)
        try:
            for _ in range(calls):
                compiled(*recording.args, **recording.kwargs)
                recording.restore()
        finally:
            samples = extension.profile_end()
    for sample in samples["breaks"]:
        if sample["id"] == item["id"] and len(sample["leave_us"]) > 1:
            each = [sum(parts) for parts in zip(sample["leave_us"], sample["instruction_us"], sample["enter_us"])]
            events = sample["events"] / calls
            low, middle, high = statistics.quantiles(each, n=4)
            return {"us": middle * events, "low": low * events, "high": high * events}
    return None
