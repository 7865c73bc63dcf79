# SPDX-License-Identifier: GPL-3.0-or-later
"""`breakline run script.py ARGS`: runs a script as plain Python would, with torch.compile ours."""

import os
import sys
import types

from . import _native, standin


def main(arguments):
    """Runs the script; what it raises or exits with is the process's own outcome."""
    if not arguments:
        sys.stderr.write("breakline run: name the script to run, as in breakline run train.py --epochs 3\n")
        return 2
    from .engine import faults, targets

    script = arguments[0]
    try:
        if not os.path.exists(script):
            targets.parse(script)
            raise faults.bad_input("missing_target", f"{script} is no file: breakline run takes a script.")
        _native.ready()
        path = os.path.abspath(script)
        code = targets.compile_source(targets.read_source(path), path)
    except faults.Fault as fault:
        sys.stderr.write(f"breakline run: {fault.sentence}\n")
        return 2
    except _native.EngineMissing as error:
        sys.stderr.write(f"breakline run: {error}\n")
        return 2
    standin.install()
    sys.argv = list(arguments)
    if not sys.flags.safe_path:
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    name = types.ModuleType("__main__")
    name.__file__ = path
    name.__builtins__ = sys.modules["builtins"]
    name.__dict__["__cached__"] = None
    sys.modules["__main__"] = name
    sys.excepthook = _print_from_the_script_on
    exec(code, name.__dict__)
    return 0


def _print_from_the_script_on(kind, error, entry):
    """The default report of an uncaught exception, without the frames that started the script."""
    package = os.path.dirname(os.path.abspath(__file__))
    while entry is not None and entry.tb_frame.f_code.co_filename.startswith((package, "<frozen")):
        entry = entry.tb_next
    sys.__excepthook__(kind, error.with_traceback(entry), entry)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
