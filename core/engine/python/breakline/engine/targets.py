# SPDX-License-Identifier: GPL-3.0-or-later
"""What the user asks to look at: a script, run as `__main__`, or `FILE_OR_MODULE:EXPR`."""

import ast
import contextlib
import difflib
import importlib
import importlib.machinery
import importlib.util
import inspect
import io
import linecache
import os
import sys
import tokenize
import types

from .. import api
from . import inputs
from .faults import USER_CODE, Cancelled, Fault, bad_input, user_traceback


class Script:
    """A file to run as plain Python would run it."""

    def __init__(self, path):
        self.file = os.path.abspath(path)
        self.given = path
        self.name = os.path.basename(path)


class Module(Script):
    """A module to run as `python -m` would run it. Raises a Fault."""

    def __init__(self, module):
        self.spec = find_module(module)
        super().__init__(self.spec.origin)
        self.name = module


def find_module(name):
    """The spec of the module that `-m name` runs, of a package its `__main__`, found without running any of it. Raises a Fault."""
    importlib.invalidate_caches()
    finders = sys.meta_path
    folders = list(sys.path) if sys.flags.safe_path else [os.getcwd(), *sys.path]
    full, parts = "", name.split(".")
    while parts:
        part = parts.pop(0)
        full = f"{full}.{part}" if full else part
        # by its last part alone: a finder looks for the parents of a dotted name among the imported modules
        spec = next((spec for spec in (finder.find_spec(part, folders) for finder in finders) if spec), None) if part.isidentifier() else None
        if spec is None or (parts and spec.submodule_search_locations is None):
            raise bad_input("missing_target", f"There is no module named {name if parts else full}: run it from the folder that holds it.")
        if spec.submodule_search_locations is not None:
            finders, folders = [importlib.machinery.PathFinder], list(spec.submodule_search_locations)
            parts = parts or ["__main__"]
    if not (spec.origin or "").endswith(".py"):
        raise bad_input("missing_target", f"There is no module named {full} with Python source: run it from the folder that holds it.")
    return importlib.util.spec_from_file_location(full, spec.origin)


class Expression:
    """An object of a file or of a module: a name, or a call with literal arguments."""

    def __init__(self, place, text, node):
        self.place, self.text, self.node = place, text, node
        self.file = os.path.abspath(place) if place.endswith(".py") else ""
        self.name = text


def _expression(text):
    """The syntax tree of a name or a call with literal arguments, else None."""
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return None
    callee = node.func if isinstance(node, ast.Call) else node
    while isinstance(callee, ast.Attribute):
        callee = callee.value
    return node if isinstance(callee, ast.Name) else None


def parse(text):
    """A Script, an Expression or, of "-m MODULE", a Module. Raises a Fault."""
    if not text.strip():
        raise bad_input("missing_target", "No target is given: name a Python file, or FILE_OR_MODULE:EXPR.")
    if text.startswith("-m "):
        return Module(text[3:].strip())
    if os.path.isdir(text):
        raise bad_input("missing_target", f"{text} is a folder: name a Python file in it.")
    if os.path.exists(text):
        return Script(text)
    for position, character in enumerate(text):
        if character == ":" and position > 0:
            node = _expression(text[position + 1 :])
            if node is not None:
                return Expression(text[:position], text[position + 1 :].strip(), node)
    if ":" in text and (os.path.exists(text.partition(":")[0]) or not text.partition(":")[0].endswith(".py")):
        place, _, expression = text.partition(":")
        raise bad_input(
            "missing_target",
            f"'{expression}' is no target: write a name or a call with literal arguments, as in {place}:Net(128, heads=4).",
        )
    raise no_file(text.partition(":")[0])


def no_file(path):
    """The Fault of a path that leads to no file."""
    if os.path.islink(path):
        return bad_input("missing_target", f"{path} is a link to {os.readlink(path)}, which is not there: mend the link or name another file.")
    near = difflib.get_close_matches(os.path.basename(path), _python_files(os.path.dirname(path) or "."), n=1)
    hint = f"; did you mean {os.path.join(os.path.dirname(path), near[0])}?" if near else ": name a Python file, or FILE_OR_MODULE:EXPR."
    return bad_input("missing_target", f"There is no file {path}{hint}")


def _python_files(folder):
    with contextlib.suppress(OSError):
        return [name for name in os.listdir(folder) if name.endswith(".py")]
    return []


def read_source(path):
    """The text of a Python file. Raises a Fault: vanished, unreadable, not UTF-8."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        raise bad_input("unreadable", f"{path} is gone: it was moved or deleted. Save it again or open another file.") from None
    except IsADirectoryError:
        raise bad_input("unreadable", f"{path} is a folder: name a Python file in it.") from None
    except OSError as error:
        raise bad_input("unreadable", f"{path} can't be read ({error.strerror}): check its permissions.") from None
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise bad_input(
            "not_utf8",
            f"{path} is not valid UTF-8 (byte 0x{data[error.start]:02x} in line {line}): save it as UTF-8.",
            file=path,
            line=line,
        ) from None
    except SyntaxError as error:
        raise bad_input("not_utf8", f"{path} is not valid UTF-8 and names no encoding that is known ({error.msg}): save it as UTF-8.") from None


def compile_source(text, path):
    """The code object of a file's text, which tracebacks will show even when it is not saved. Raises a Fault."""
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    try:
        return compile(text, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        place = f", line {error.lineno}" if error.lineno else ""
        raise bad_input(
            "syntax",
            f"{os.path.basename(path)}{place} is no Python that {sys.executable} understands: {error.msg}; mend it and save the file.",
            file=path,
            line=error.lineno or 0,
            column=(error.offset or 1) - 1,
        ) from None
    except ValueError as error:
        raise bad_input("syntax", f"{os.path.basename(path)} is no Python file: {error}.", file=path, line=0, column=0) from None


class Ended(Exception):
    """The user's code raised; `error` is what it raised."""

    def __init__(self, error):
        super().__init__(str(error))
        self.error = error


def _missing_import(error, what):
    if isinstance(error, ModuleNotFoundError) and error.name:
        return bad_input(
            "missing_import",
            f"{what} needs the module '{error.name}', which {sys.executable} doesn't have: install it there, "
            "or choose another interpreter with --python.",
            traceback=user_traceback(error),
        )
    if "no known parent package" in str(error):
        return bad_input(
            "missing_import",
            f"{what} imports relative to a package, which works for a module of one only: "
            f"name its module, as in breakline explain PACKAGE.{os.path.splitext(what)[0]}:NAME, from the folder that holds the package.",
            traceback=user_traceback(error),
        )
    return bad_input("missing_import", f"{what} has an import that fails: {error}; mend that import or what it needs.", traceback=user_traceback(error))


@contextlib.contextmanager
def running_user_code():
    """Turns what user code raises into Ended; a clean sys.exit() is no error."""
    try:
        yield
    except (Cancelled, Fault, Ended):
        raise
    except SystemExit as error:
        if error.code not in (None, 0):
            raise Ended(error) from None
    except BaseException as error:
        raise Ended(error) from None


def fault_of(error, what):
    """The Fault for user code that raised before anything was compiled."""
    if isinstance(error, ImportError):
        return _missing_import(error, what)
    if isinstance(error, SyntaxError) and error.filename:
        place = f"{error.filename}, line {error.lineno}" if error.lineno else error.filename
        return bad_input("syntax", f"{place}: {error.msg}.", file=error.filename, line=error.lineno or 0, column=(error.offset or 0) - 1)
    if isinstance(error, SystemExit):
        return Fault(USER_CODE, f"{what} ended with sys.exit({error.code!r}) before a compiled function was called: give what it asks for, its arguments behind --.")
    if isinstance(error, EOFError):
        return Fault(
            USER_CODE,
            f"{what} asks for input, and there is nobody to type it here: give the values as arguments (after --) or in the code.",
            traceback=user_traceback(error),
        )
    return Fault(
        USER_CODE,
        f"{what} raised {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}".rstrip(": ") + ".",
        traceback=user_traceback(error),
    )


def package_name(path):
    """(dotted name, folder to import from) of a file to be taken as a module: with its packages where it lies in one."""
    folder, name = os.path.split(os.path.realpath(path))
    name = os.path.splitext(name)[0].replace(".", "_")  # a dot would name a package
    while os.path.exists(os.path.join(folder, "__init__.py")) and os.path.basename(folder).isidentifier():
        folder, package = os.path.split(folder)
        name = f"{package}.{name}"
    return name, folder


def _package_to_run_in(source, path):
    """(package, folder to import it from) of a script with relative imports that lies in a package, else ("", "").
    As a plain script it could not run at all."""
    tree = ast.parse(source)
    if not any(isinstance(node, ast.ImportFrom) and node.level for node in ast.walk(tree)):
        return "", ""
    name, folder = package_name(path)
    return name.rpartition(".")[0], folder


class Session:
    """Owns the interpreter state that belongs to the user's program: sys.argv, sys.path[0], `__main__` and the modules
    that came from the program's folder."""

    def __init__(self):
        self._before = set(sys.modules)
        self._folder_entry = None

    def enter(self, folder, argv):
        """Sets sys.argv and sys.path[0] as plain Python does."""
        sys.argv = list(argv)
        if self._folder_entry is not None and self._folder_entry in sys.path:
            sys.path.remove(self._folder_entry)
        if not sys.flags.safe_path:
            sys.path.insert(0, folder)
            self._folder_entry = folder

    def forget_modules(self):
        """Drops the modules that the user's program brought in from user files, so that a rerun loads them anew."""
        from ..regions import is_user_file

        for name in set(sys.modules) - self._before:
            if is_user_file(getattr(sys.modules[name], "__file__", None) or ""):
                del sys.modules[name]
        importlib.invalidate_caches()

    def run_script(self, script, argv, text=None):
        """Runs the file as `__main__`. Raises Fault or Ended."""
        source = read_source(script.file) if text is None else text
        code = compile_source(source, script.file)
        self.enter(os.path.dirname(os.path.realpath(script.file)), [script.given, *argv])
        main = types.ModuleType("__main__")
        main.__file__ = script.file
        spec = getattr(script, "spec", None)
        if spec is not None:
            self.enter(os.getcwd(), [script.given, *argv])
            main.__spec__, main.__loader__, main.__package__ = spec, spec.loader, spec.parent
            if spec.parent:
                with running_user_code():
                    importlib.import_module(spec.parent)
        package, folder = _package_to_run_in(source, script.file) if spec is None else ("", "")
        if package:  # as `python -m package.file` has it
            main.__package__ = package
            self.enter(folder, [script.given, *argv])
        main.__builtins__ = sys.modules["builtins"]
        main.__annotations__ = {}
        main.__dict__["__cached__"] = None
        sys.modules["__main__"] = main
        with running_user_code():
            exec(code, main.__dict__)
        return source

    def load_module(self, expression, argv, text=None):
        """The module that an Expression's place names. Raises Fault or Ended."""
        if expression.file:
            source = read_source(expression.file) if text is None else text
            code = compile_source(source, expression.file)
            name, folder = package_name(expression.file)
            self.enter(folder, [expression.place, *argv])
            module = types.ModuleType(name)
            module.__file__ = expression.file
            module.__package__, _, _ = name.rpartition(".")
            if module.__package__:
                with running_user_code():
                    importlib.import_module(module.__package__)
            sys.modules[name] = module
            with running_user_code():
                exec(code, module.__dict__)
            return module
        self.enter(os.getcwd(), [expression.place, *argv])
        try:
            with running_user_code():
                return importlib.import_module(expression.place)
        except Ended as ended:
            error = ended.error
            if isinstance(error, ModuleNotFoundError) and error.name and expression.place.startswith(error.name):
                raise bad_input("missing_target", f"There is no file and no module named {expression.place}.") from None
            raise
        except (ValueError, TypeError):
            raise bad_input("missing_target", f"'{expression.place}' is neither a file nor a module name.") from None


def _literals(node, text):
    try:
        args = [ast.literal_eval(item) for item in node.args]
        kwargs = {item.arg: ast.literal_eval(item.value) for item in node.keywords}
    except (ValueError, TypeError, SyntaxError):
        raise bad_input("missing_target", f"'{text}' is no target: its arguments must be literals, as in Net(128, heads=4).") from None
    if None in kwargs:
        raise bad_input("missing_target", f"'{text}' is no target: ** is not allowed in it.")
    return args, kwargs


def _look_up(module, node, where):
    if isinstance(node, ast.Attribute):
        owner = _look_up(module, node.value, where)
        name = node.attr
    else:
        owner, name = module, node.id
    try:
        return getattr(owner, name)
    except AttributeError:
        names = [n for n in dir(owner) if not n.startswith("_") and callable(getattr(owner, n, None))]
        near = difflib.get_close_matches(name, names, n=1)
        own = [n for n in names if getattr(getattr(owner, n), "__module__", None) == getattr(owner, "__name__", "")]
        hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(own[:8])}." if own else "it has nothing to call."
        raise bad_input("missing_target", f"{where} has no '{name}'; {hint}") from None


def resolve(expression, module):
    """The function or module instance that an Expression names. Raises Fault or Ended."""
    node = expression.node
    where = expression.place
    if isinstance(node, ast.Call):
        args, kwargs = _literals(node, expression.text)
        factory = _look_up(module, node.func, where)
        with running_user_code():
            return factory(*args, **kwargs)
    value = _look_up(module, node, where)
    if isinstance(value, type):
        signature = api.signature_of(value)
        if signature is not None:
            try:
                signature.bind()
            except TypeError as error:
                raise bad_input(
                    "missing_target", f"{where}:{expression.text} is a class that takes arguments ({error}): give them, as in {where}:{expression.text}(128, heads=4)."
                ) from None
        with running_user_code():
            return value()
    return value


def bind(expression, value, specs, seed):
    """(args, kwargs) for calling `value`. Raises a Fault when they don't fit its signature."""
    args, kwargs = inputs.build(specs, seed)
    subject = getattr(value, "_orig_mod", value)
    signature = api.signature_of(getattr(subject, "forward", subject) if not inspect.isroutine(subject) else subject)
    if signature is not None:
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            raise bad_input(
                "bad_input",
                f"The inputs don't fit {expression.text}{signature}: {error}; give one --input [NAME=]SPEC for each, as in --input f32[8,16].",
            ) from None
    return args, kwargs


def compiled_of(expression, value, options):
    """A compiled form of what the Expression names (itself when it is compiled already). Raises a Fault."""
    if api.is_compiled(value):
        return value
    if not callable(value):
        raise bad_input("missing_target", f"{expression.text} is {type(value).__name__}, which can't be called: name a function or a module.")
    return api.compile(value, name=expression.text, **options)
