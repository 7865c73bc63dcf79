# SPDX-License-Identifier: GPL-3.0-or-later
"""`breakline run script.py ARGS` or `-m module`: runs a script as plain Python would, with torch.compile ours."""

import importlib
import os
import sys
import traceback
import types

from . import _native, standin


def main(arguments):
    """Runs `SCRIPT ARGS...` or `-m MODULE ARGS...`; what it raises or exits with is the process's own outcome."""
    if not arguments or arguments == ["-m"]:
        sys.stderr.write("breakline run: name the script to run, as in breakline run train.py --epochs 3\n")
        return 2
    from .engine import faults, targets

    spec, given = None, arguments[0]
    try:
        if given == "-m":
            sys.path[0:1] = [os.getcwd()]  # as `python -m` has it
            spec = targets.find_module(arguments[1])
            given = spec.origin
            arguments = arguments[1:]
        elif not os.path.exists(given):
            targets.parse(given)
            raise faults.bad_input("missing_target", f"{given} is no file: breakline run takes a script.")
        _native.ready()
        path = os.path.abspath(given)
        source = targets.read_source(path)
    except faults.Fault as fault:
        sys.stderr.write(f"breakline run: {fault.sentence}\n")
        return 2
    except _native.EngineMissing as error:
        sys.stderr.write(f"breakline run: {error}\n")
        return 2
    try:
        code = compile(source, path, "exec", dont_inherit=True)
    except SyntaxError as error:  # as plain Python says it
        sys.__excepthook__(type(error), error.with_traceback(None), None)
        return 1
    except ValueError as error:
        sys.stderr.write(f"breakline run: {given} is no Python file: {error}.\n")
        return 2
    standin.install()
    sys.argv = [given, *arguments[1:]]
    if spec is None and not sys.flags.safe_path:
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    name = types.ModuleType("__main__")
    name.__file__ = path
    name.__builtins__ = sys.modules["builtins"]
    name.__dict__["__cached__"] = None
    if spec is not None:
        name.__spec__, name.__loader__, name.__package__ = spec, spec.loader, spec.parent
    sys.modules["__main__"] = name
    sys.excepthook = _print_from_the_script_on
    if spec is not None and spec.parent:
        importlib.import_module(spec.parent)
    exec(code, name.__dict__)
    return 0


def _print_from_the_script_on(kind, error, entry):
    """The default report of an uncaught exception, without the frames that started the script and the hints at PyTorch's logs."""
    from .engine import faults

    package = os.path.dirname(os.path.abspath(__file__))
    while entry is not None and entry.tb_frame.f_code.co_filename.startswith((package, "<frozen")):
        entry = entry.tb_next
    text = "".join(traceback.format_exception(kind, error, entry))
    if faults.for_the_user(text) != text:
        sys.stderr.write(faults.for_the_user(text))
        return
    sys.__excepthook__(kind, error.with_traceback(entry), entry)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
