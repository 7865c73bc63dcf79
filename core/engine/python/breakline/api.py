# SPDX-License-Identifier: GPL-3.0-or-later
"""`compile` and what belongs to it. What it returns for a function is the engine's own callable object; a bound method
stays a bound method of such an object; a module becomes a module that wraps it."""

import contextlib
import functools
import inspect
import types
import weakref

from . import _native, markers, report

DEVICES = ("cpu", "vulkan")
PLANS = (None, "replay")
MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")

_targets = []  # weak references to every compiled object of the process, in order of making
_on_new_target = None  # the engine server's hook
_stance = "default"
_defaults = {"device": "cpu", "fullgraph": False}


def set_defaults(*, device, fullgraph):
    """What `compile` assumes where the code names no device, and whether every target is fullgraph (command line, window)."""
    _defaults.update(device=device, fullgraph=fullgraph)


def on_new_target(hook):
    """Calls `hook(target)` for each Target made from now on (None ends it). For the engine server."""
    global _on_new_target
    _on_new_target = hook


def targets():
    """The live targets of the process, oldest first."""
    live = [(reference, reference()) for reference in _targets]
    _targets[:] = [reference for reference, compiled in live if compiled is not None]
    return [compiled._breakline_target for _, compiled in live if compiled is not None]


class Target:
    """What one call of `compile` made: the engine's callable and what reports say about it."""

    def __init__(self, compiled, function, *, name, kind, options, place):
        self._compiled = weakref.ref(compiled)
        self.function = function
        self.name = name
        self.kind = kind  # "function", "module" or "method"
        self.options = options  # {fullgraph, device, plan} and what else the engine's compile was given
        self.file, self.line = place
        self.error = None  # {type, message, traceback, break} of the last call that raised, kept by the engine

    @property
    def compiled(self):
        return self._compiled()


def _say(error, sentence):
    raise error(sentence)


def _check(options):
    fullgraph, device, plan = options["fullgraph"], options["device"], options["plan"]
    if isinstance(fullgraph, (str, bytes)) or fullgraph not in (True, False):
        _say(TypeError, f"fullgraph must be True or False, not {fullgraph!r}.")
    if device not in DEVICES:
        _say(ValueError, f'device must be "cpu" or "vulkan", not {device!r}.')
    if plan not in PLANS:
        _say(ValueError, f'plan must be None or "replay", not {plan!r}.')
    backend, mode, dynamic = options["backend"], options["mode"], options["dynamic"]
    if backend is not None and not isinstance(backend, str) and not callable(backend):
        _say(TypeError, f"backend must be a name, a callable or None, not {backend!r}.")
    if mode is not None and mode not in MODES:
        _say(RuntimeError, f"Unrecognized mode={mode}, should be one of: {', '.join(MODES)}")
    if options["name"] is not None and not isinstance(options["name"], str):
        _say(TypeError, f"name must be a text or None, not {options['name']!r}.")
    if options["options"] is not None and not isinstance(options["options"], dict):
        _say(TypeError, f"options must be a dictionary or None, not {options['options']!r}.")
    if mode is not None and options["options"] is not None:
        _say(RuntimeError, "Either mode or options can be specified, but both can't be specified at the same time.")
    if dynamic is not None and not isinstance(dynamic, bool):
        _say(TypeError, f"dynamic must be True, False or None, not {dynamic!r}.")
    limit = options["recompile_limit"]
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        _say(ValueError, f"recompile_limit must be a whole number above 0 or None, not {limit!r}.")


def compile(
    fn_or_module=None,
    *,
    model=None,
    fullgraph=False,
    device=None,
    plan=None,
    backend=None,
    mode=None,
    dynamic=None,
    options=None,
    name=None,
    disable=False,
    recompile_limit=None,
    isolate_recompiles=None,
    shapes_spec=None,
):
    """Compiles a function, a bound method or a module instance; without a first argument, returns a decorator. A class
    is returned as it is, with its `__call__` compiled: that is what its instances then run.

    fullgraph  True: any graph break is an error, and nothing relaxes that.
    device     "cpu" (also None) or "vulkan": where the graphs run.
    plan       "replay" runs the graph's operators one by one with PyTorch; None lets Breakline choose.
    backend    "eager" means plan="replay"; any other name or callable is accepted and means Breakline's own choice.
    name       how reports call the target.
    disable    True returns the argument as it is.
    recompile_limit  how many variants of one place are compiled before it runs as plain Python (config.recompile_limit).
    dynamic    None: sizes and numbers that change are left open from their first change on. True: sizes are left open from the
               start. False: each size is a variant, and those count for that limit too.
    The remaining keywords of torch.compile are accepted; they don't change what is computed.

    The result has `.stats` (a mapping of counts) and `.report()` (the content of `breakline explain --json`).
    """
    settings = dict(
        fullgraph=fullgraph,
        device=_defaults["device"] if device is None else device,
        plan=plan,
        backend=backend,
        mode=mode,
        dynamic=dynamic,
        options=options,
        name=name,
        disable=disable,
        recompile_limit=recompile_limit,
        isolate_recompiles=isolate_recompiles,
        shapes_spec=shapes_spec,
    )
    _check(settings)
    subject = fn_or_module if fn_or_module is not None else model
    if subject is None:
        return functools.partial(compile, **settings)
    if disable:
        return subject
    if backend == "eager" and plan is None:
        plan = "replay"
    options = dict(fullgraph=bool(fullgraph) or _defaults["fullgraph"], device=settings["device"], plan=plan)
    if recompile_limit is not None:
        options["recompile_limit"] = recompile_limit
    if dynamic is False:
        options["static_sizes"] = True
    if dynamic:
        options["open_sizes"] = True
    return _compile_subject(subject, options, name)


def _compile_subject(subject, options, name):
    if isinstance(subject, type):
        return _compile_class(subject, options, name)
    if isinstance(subject, staticmethod):
        return staticmethod(_compile_subject(subject.__func__, options, name))
    if isinstance(subject, classmethod):
        return classmethod(_compile_subject(subject.__func__, options, name))
    subject = markers.innermost(_original(subject))
    if isinstance(subject, types.FunctionType) and not is_compiled(subject):
        return _compile_function(subject, options, name or subject.__qualname__.replace("<locals>.", ""), "function")
    if isinstance(subject, types.MethodType):
        return _compile_method(subject, options, name)
    if markers._is_module(subject):
        from .module import OptimizedModule

        return OptimizedModule(subject, options, name)
    if not callable(subject):
        _say(TypeError, f"breakline.compile takes a function or a module, not {subject!r}.")
    call = getattr(type(subject), "__call__", None)
    if isinstance(call, types.FunctionType):
        return _compile_method(types.MethodType(call, subject), options, name or type(subject).__name__)
    return _compile_function(_as_function(subject), options, name or _callable_name(subject), "function")


def _compile_class(cls, options, name):
    """Lets calls of the class's instances run compiled, as PyTorch does with a class; a class whose instances can't be
    called is left as it is."""
    call = getattr(cls, "__call__", None)
    if is_compiled(call):
        call = call._breakline_target.function
    if isinstance(call, types.FunctionType):
        forward = getattr(cls, "forward", None)
        kind = "module" if markers._is_module_class(cls) else "method"
        place = place_of(forward if hasattr(forward, "__code__") else call)
        cls.__call__ = _compile_function(call, options, name or cls.__name__, kind, place)
    return cls


def _callable_name(subject):
    if isinstance(subject, functools.partial):
        return _callable_name(subject.func)
    return getattr(subject, "__qualname__", None) or getattr(subject, "__name__", None) or type(subject).__name__


def _as_function(subject):
    """A Python function that calls a builtin or a partial."""

    def call(*args, **kwargs):
        return subject(*args, **kwargs)

    functools.update_wrapper(call, subject, updated=())
    return call


def is_compiled(value):
    """Whether `value` was made by `compile`."""
    return getattr(value, "_breakline_target", None) is not None


def _original(subject):
    """The user's own object behind one that is compiled already."""
    target = getattr(subject, "_breakline_target", None)
    if target is None:
        return subject
    if isinstance(subject, types.MethodType):
        return types.MethodType(target.function, subject.__self__)
    return getattr(subject, "_orig_mod", None) or target.function


def _compile_method(method, options, name):
    function = method.__func__
    if is_compiled(function):
        function = function._breakline_target.function
    if not isinstance(function, types.FunctionType):
        return _compile_function(_as_function(method), options, name or _callable_name(method), "function")
    owner = method.__self__ if isinstance(method.__self__, type) else type(method.__self__)
    name = name or f"{owner.__name__}.{function.__name__}"
    return types.MethodType(_compile_function(function, options, name, "method"), method.__self__)


_DECORATORS = ("torch/utils/_contextlib.py", "torch/amp/autocast_mode.py")  # torch.no_grad() and the like as decorators


def place_of(function):
    """(file, first line) of the code that the user wrote: under a decorator such as torch.no_grad() that of what it wraps.
    ("", 0) of what is no Python."""
    while hasattr(function, "__wrapped__") and getattr(getattr(function, "__code__", None), "co_filename", "").endswith(_DECORATORS):
        function = function.__wrapped__
    code = getattr(function, "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code is not None else ("", 0)


def _compile_function(function, options, name, kind, place=None):
    extension = _native.ready_for_code()
    compiled = extension.compile(function, name=name, target_id=name, **options)
    for attribute in functools.WRAPPER_ASSIGNMENTS:
        with contextlib.suppress(AttributeError, TypeError):
            setattr(compiled, attribute, getattr(function, attribute))
    notes = {key: value for key, value in vars(function).items() if not key.startswith(_OWN_NOTES)}
    compiled.__dict__.update(notes)
    compiled.__wrapped__ = function
    compiled._torchdynamo_orig_callable = function
    compiled._torchdynamo_wrapper_id = id(compiled)
    _finish_type(type(compiled))
    target = Target(compiled, function, name=name, kind=kind, options=options, place=place or place_of(function))
    compiled._breakline_target = target
    _targets.append(weakref.ref(compiled))
    if len(_targets) > 1000 and len(_targets) & (len(_targets) - 1) == 0:
        targets()  # forgets the dead ones
    if _on_new_target is not None:
        _on_new_target(target)
    return compiled


_OWN_NOTES = ("_torchdynamo_", "_breakline_")  # what compile and disable write into a wrapper's __dict__
_FUNCTION_ATTRIBUTES = ("__code__", "__globals__", "__closure__", "__defaults__", "__kwdefaults__", "__builtins__")


def _of_the_function(name):
    return property(
        lambda self: getattr(self.function, name),
        lambda self, value: setattr(self.function, name, value),
        doc=f"The function's own {name}.",
    )


def _finish_type(kind):
    """Gives the engine's class what is easier said in Python: `report()` gives a whole report (one target's stays as
    `target_report()`), and a compiled function is copied and pickled, by its name, as a function is."""
    if hasattr(kind, "target_report"):
        return
    kind.target_report = kind.report
    kind.report = lambda self: report.of_targets([self._breakline_target])
    for name in _FUNCTION_ATTRIBUTES:
        setattr(kind, name, _of_the_function(name))
    kind.__copy__ = lambda self: self
    kind.__deepcopy__ = lambda self, memo: self
    kind.__reduce_ex__ = lambda self, protocol: self.__qualname__


def explain(fn, *args, **kwargs):
    """`explain(fn)(*args)` or `explain(fn, *args)`: runs `fn` compiled and returns what became of it (see Explanation)."""

    def run(*args, **kwargs):
        return report.Explanation(_run_for_report(fn, args, kwargs))

    return run(*args, **kwargs) if args or kwargs else run


def _run_for_report(fn, args, kwargs):
    compiled = compile(fn)
    compiled(*args, **kwargs)
    return compiled.report()


def reset():
    """Forgets everything compiled and gives back memory kept for results; the next call of each compiled function traces anew."""
    extension = _native.loaded()
    if extension is not None:
        extension.reset()


def tally():
    """The counts of `.stats`, summed over everything compiled in this process."""
    extension = _native.loaded()
    if extension is None:
        return dict.fromkeys(report.COUNTS, 0)
    return dict(extension.tally())


# PyTorch's stances; those of a first eager call only choose when to compile, and are the default here.
_STANCES = ("default", "force_eager", "eager_on_recompile", "fail_on_recompile", "eager_then_compile", "aot_eager_then_compile")
_ON_RECOMPILE = {"eager_on_recompile": 1, "fail_on_recompile": 2}


class set_stance:
    """`set_stance(stance)`, as a call, a context manager or a decorator. "force_eager" runs everything as plain Python;
    "eager_on_recompile" does so where a call fits nothing that is compiled, and "fail_on_recompile" raises a RuntimeError there. The others
    mean "default" here."""

    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        global _stance
        if force_backend is not None and stance != "default":
            raise RuntimeError("A stance that is not the default can't have a force_backend.")
        if stance not in _STANCES:
            raise ValueError(f"The stance must be one of {', '.join(_STANCES)}, not {stance!r}.")
        self._stance, self._outer = stance, _stance
        self._apply(stance)

    @staticmethod
    def _apply(stance):
        global _stance
        _stance = stance
        extension = _native.load()
        extension.set_option("force_eager", stance == "force_eager")
        extension.set_option("on_recompile", _ON_RECOMPILE.get(stance, 0))

    def __enter__(self):
        self._apply(self._stance)

    def __exit__(self, exc_type, exc_value, traceback):
        self._apply(self._outer)

    def __call__(self, function):
        self._apply(self._outer)

        @functools.wraps(function)
        def inner(*args, **kwargs):
            with set_stance(self._stance):
                return function(*args, **kwargs)

        return inner


_native.register(compile, "compile")


def signature_of(target):
    """The call signature of a target's own function or module, or None when it has none."""
    with contextlib.suppress(TypeError, ValueError):
        return inspect.signature(target)
    return None
