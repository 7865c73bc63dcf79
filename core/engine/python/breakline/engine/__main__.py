# SPDX-License-Identifier: GPL-3.0-or-later
"""`python -m breakline.engine`. Kept free of new syntax: an older Python must still be able to say that it is too old."""

import os
import sys


def _refuse():
    from .rpc import Stream

    stream = Stream(os.dup(0), os.dup(1))
    message = stream.read()
    sentence = "Breakline needs CPython 3.11 or newer, and %s is %d.%d: choose another with --python." % (
        (sys.executable,) + tuple(sys.version_info[:2])
    )
    stream.fail((message or {}).get("id"), 1, sentence, {"kind": "wrong_python"})
    return 2


if sys.version_info < (3, 11) or sys.implementation.name != "cpython":
    sys.exit(_refuse())

from .server import main  # noqa: E402

sys.exit(main())
