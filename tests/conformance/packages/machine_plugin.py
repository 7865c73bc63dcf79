# SPDX-License-Identifier: GPL-3.0-or-later
"""A pytest plugin: each test function is called twice, plainly or by Breakline's machine, and its outcomes go to a file.

Set BREAKLINE_LEG to `plain` or `machine`, BREAKLINE_OUTCOMES to the file (one JSON line a test, [node, outcomes, seconds,
frames given up with their reasons, root frames that the machine traced in how many calls]).
An outcome is "ok", or the exception's type, text and line, with addresses left out. A test that has not come back after
BREAKLINE_LIMIT seconds is "late"; the nodes in BREAKLINE_SKIP, a file with a JSON list, are left out.
"""

import json
import os
import random
import re
import signal
import time

import pytest

LEG = os.environ["BREAKLINE_LEG"]
LIMIT = float(os.environ.get("BREAKLINE_LIMIT", "10"))
SKIP = set(json.load(open(os.environ["BREAKLINE_SKIP"])))
CALLS = 2
records = open(os.environ["BREAKLINE_OUTCOMES"], "a", buffering=1)


class Late(BaseException):
    """Raised by the alarm."""


def ring(_signal, _frame):
    raise Late


def outcome(call):
    """What `call` comes to, as text that is the same in each process."""
    random.seed(1)
    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    try:
        call()
        return "ok", None
    except Late:
        return "late", None
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        entry = error.__traceback__
        while entry.tb_next is not None:
            entry = entry.tb_next
        where = f"{os.path.basename(entry.tb_frame.f_code.co_filename)}:{entry.tb_lineno}"
        text = re.sub(r"0x[0-9a-f]+", "0x", str(error))[:300]
        return f"{type(error).__name__}: {text} @{where}", error
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def pytest_collection_modifyitems(items):
    items[:] = [item for item in items if item.nodeid not in SKIP]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    function = pyfuncitem.obj
    coverage = None
    if LEG == "machine":
        import breakline
        from breakline import _native

        function = breakline.compile(function, plan="replay")
        coverage = _native.load().coverage
    before = coverage() if coverage else {}
    names = pyfuncitem._fixtureinfo.argnames
    arguments = {name: pyfuncitem.funcargs[name] for name in names}
    records.write(json.dumps([pyfuncitem.nodeid]) + "\n")
    began = time.perf_counter()
    error, outcomes = None, []
    for _ in range(CALLS):
        text, raised = outcome(lambda: function(**arguments))
        outcomes.append(text)
        error = error or raised
        if text == "late":
            break
    seconds = round(time.perf_counter() - began, 3)
    given_up, traced = [], 0
    if coverage:
        traced = coverage()["roots_traced"] - before["roots_traced"]
        given_up = sorted({f"{frame['name']}: {frame['reason']}" for frame in function.target_report()["skipped_frames"]})
    records.write(json.dumps([pyfuncitem.nodeid, outcomes, seconds, given_up, [traced, len(outcomes)]]) + "\n")
    if isinstance(error, Exception) or (error is not None and type(error).__name__ in ("Skipped", "Failed", "Exit")):
        raise error
    return True
