# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes PyTorch's own names ours: `torch.compile`, `torch._dynamo`, `torch.compiler.*`, for the engine and `breakline run`.

`torch._dynamo` becomes a lazy stand-in that answers the names of `_NAMES` and loads the real module, which is slow to
import, only for names it alone has. A plain script that just imports breakline is not touched.
"""

import contextlib
import functools
import importlib
import importlib.machinery
import inspect
import sys
import threading
import types

from . import _native, api, markers, sizes

_lock = threading.RLock()
_real = None
_installed = None

_COMPILE_KEYWORDS = ("fullgraph", "dynamic", "backend", "mode", "options", "name", "disable", "recompile_limit", "isolate_recompiles", "shapes_spec")


def torch_compile(model=None, **keywords):
    """`torch.compile` as Breakline's: the same keywords, the same errors for others."""
    for keyword in keywords:
        if keyword not in _COMPILE_KEYWORDS and keyword not in ("device", "plan"):
            raise TypeError(f"compile() got an unexpected keyword argument {keyword!r}")
    if (getattr(model, "__module__", None) or "").startswith("torch._higher_order_ops."):
        keywords["fullgraph"] = False  # PyTorch's own wrapper around an operator: what can't be one graph runs as plain Python
    return api.compile(model, **keywords)


torch_compile.__name__ = torch_compile.__qualname__ = "compile"
_native.register(torch_compile, "compile")


def export(f, *args, **kwargs):
    """`torch._dynamo.export`: one graph or an error. Breakline makes no exported programs, so what it can say is whether
    `f` has a graph break; without one the call is refused too, in one sentence."""

    def run(*args, **kwargs):
        api.compile(f, fullgraph=True)(*args, **kwargs)
        raise NotImplementedError("Breakline makes no exported programs: call torch.export.export in a run without breakline.")

    return run(*args, **kwargs) if args or kwargs else run


_native.register(export, "export")


def optimize(backend="inductor", *, nopython=False, error_on_graph_break=None, dynamic=None, **_ignored):
    """`torch._dynamo.optimize`: a decorator that compiles."""

    def decorate(function):
        compiled = api.compile(function, fullgraph=nopython, backend=backend, dynamic=dynamic)
        return compiled if error_on_graph_break is None else markers.error_on_graph_break(error_on_graph_break)(compiled)

    return decorate


def _parameters(function):
    """What two signatures have to share: names of positional parameters and of keywords, and the defaults."""
    starred = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    named = [p for p in inspect.signature(function).parameters.values() if p.kind not in starred]
    words = {p.name for p in named if p.kind is inspect.Parameter.KEYWORD_ONLY}
    return [p.name for p in named if p.name not in words], words, {p.name: p.default for p in named}


def substitute_in_graph(original_fn, *, can_constant_fold_through=False, skip_signature_check=False, is_embedded_type=False):
    """A decorator: traced code follows the decorated Python function where it calls `original_fn`, which is native and has no rule of
    its own here. What the decorator returns calls `original_fn`."""
    routine = (types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, types.MethodWrapperType)
    if not isinstance(original_fn, routine) and not (is_embedded_type and isinstance(original_fn, type)):
        raise TypeError(f"substitute_in_graph expects a function but got {type(original_fn)!r}")

    def decorate(traceable_fn):
        if not isinstance(traceable_fn, types.FunctionType):
            raise TypeError(f"@substitute_in_graph(...) expects a function but got {type(traceable_fn)!r}")
        with contextlib.suppress(ValueError):  # native functions without a signature
            ours, theirs = _parameters(traceable_fn), _parameters(original_fn)
            anything = ([], set(), {})
            if not skip_signature_check and ours != theirs and anything not in (ours, theirs):
                signatures = f"{inspect.signature(original_fn)} != {inspect.signature(traceable_fn)}"
                raise TypeError(f"Signature mismatch between {original_fn} and {traceable_fn}: {signatures}")
        from . import _forms

        _forms.FORMS.append((original_fn, traceable_fn))

        @functools.wraps(traceable_fn)
        def wrapped(*args, **kwargs):
            return original_fn(*args, **kwargs)

        return wrapped

    return decorate


def _no_registration(*args, **kwargs):
    """A registration that only PyTorch's own compiler reads: accepted."""
    if len(args) == 1 and callable(args[0]) and not kwargs:
        return args[0]
    return lambda function: function


def _null_region(function=None, **_ignored):
    """A context manager and decorator without effect."""
    if function is not None:
        return function

    class Null(contextlib.ContextDecorator):
        def __enter__(self):
            return self

        def __exit__(self, *exception):
            return False

    return Null()


class _Config(types.ModuleType):
    """`torch._dynamo.config`: takes any setting, answers what was set or PyTorch 2.13's default. Names that are not in
    the table are asked of the real module, which is then loaded; settings go there too once it is."""

    _DEFAULTS = dict(
        suppress_errors=False,
        verbose=False,
        recompile_limit=8,
        cache_size_limit=8,
        accumulated_recompile_limit=256,
        fail_on_recompile_limit_hit=False,
        error_on_recompile=False,
        capture_scalar_outputs=False,
        capture_dynamic_output_shape_ops=False,
        allow_empty_graphs=False,
        nested_graph_breaks=False,
        replay_side_effects=True,
        disable=False,
        automatic_dynamic_shapes=True,
        assume_static_by_default=True,
        specialize_int=False,
        specialize_float=False,
        inline_inbuilt_nn_modules=True,
        allow_rnn=False,
        trace_numpy=True,
        compiled_autograd=False,
        optimize_ddp=True,
        guard_nn_modules=True,
    )

    def __getattr__(self, name):
        if name in self._DEFAULTS:
            return self._DEFAULTS[name]
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return getattr(_real_config(load=True), name)

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        real = _real_config(load=False)
        if real is not None:
            setattr(real, name, value)
        if name in ("recompile_limit", "cache_size_limit") and isinstance(value, int) and value > 0:
            _native.load().set_option("recompile_limit", value)

    def patch(self, changes=None, value=None, **more):
        """A context manager and decorator that changes settings for a while: `patch(name=value)`, `patch("name", value)` or `patch({"name": value})`."""
        named = {changes: value} if isinstance(changes, str) else changes or {}
        return _Patch(self, {**named, **more})


def _real_config(load):
    """PyTorch's own `torch._dynamo.config`, or None while it is not loaded and need not be."""
    if _real is None and not load:
        return None
    return vars(real_dynamo()).get("config")


class _Patch(contextlib.ContextDecorator):
    def __init__(self, config, changes):
        self._config, self.changes, self._outer = config, changes, []

    def _recreate_cm(self):
        return self

    def __enter__(self):
        self._outer.append({name: getattr(self._config, name, None) for name in self.changes})
        for name, value in self.changes.items():
            setattr(self._config, name, value)

    def __exit__(self, *exception):
        for name, value in self._outer.pop().items():
            setattr(self._config, name, value)
        return False


_TRACED_SETTINGS = (
    "verbose", "verify_correctness", "rewrite_assert_with_torch_assert", "capture_scalar_outputs", "allow_unspec_int_on_nn_module",
    "skip_torchrec", "dont_skip_tracing", "nested_graph_breaks",
)  # fmt: skip


def patch_dynamo_config(changes=None, value=None, **more):
    """`config.patch` for settings that compiled code may change."""
    patch = _installed.config.patch(changes, value, **more)
    for name, wanted in patch.changes.items():
        if name not in _TRACED_SETTINGS:
            raise ValueError(f"patch_dynamo_config does not support patching config {name}")
        if not isinstance(wanted, (bool, int, float, str, type(None))):
            raise ValueError(f"patch_dynamo_config does not support patching config {name} with non-safe-constant value {wanted}")
    return patch


def _optimized_module():
    from .module import OptimizedModule

    return OptimizedModule


# What the stand-in answers without loading the real module.
_NAMES = {
    "error_on_graph_break": markers.error_on_graph_break,
    "graph_break": markers.graph_break,
    "skip_frame": markers.skip_frame,
    "step_unsupported": markers.step_unsupported,
    "disable": markers.disable,
    "allow_in_graph": markers.allow_in_graph,
    "nonstrict_trace": markers.nonstrict_trace,
    "assume_constant_result": markers.assume_constant_result,
    "is_compiling": markers.is_compiling,
    "reset": api.reset,
    "explain": api.explain,
    "export": export,
    "optimize": optimize,
    "optimize_assert": functools.partial(optimize, nopython=True),
    "set_stance": api.set_stance,
    "mark_dynamic": sizes.mark_dynamic,
    "maybe_mark_dynamic": sizes.maybe_mark_dynamic,
    "mark_static": sizes.mark_static,
    "mark_static_address": sizes.mark_static_address,
    "mark_unbacked": sizes.mark_unbacked,
    "substitute_in_graph": substitute_in_graph,
    "disallow_in_graph": markers.disallow_in_graph,
    "forbid_in_graph": _no_registration,
    "dont_skip_tracing": _null_region,
    "disable_nested_graph_breaks": _null_region,
    "patch_dynamo_config": patch_dynamo_config,
    "override_cudagraphs": _null_region,
    "list_backends": lambda *args, **kwargs: ["breakline", "eager", "inductor"],
}

# What `torch.compiler` gets.
_COMPILER_NAMES = {
    "compile": torch_compile,
    "disable": markers.disable,
    "is_compiling": markers.is_compiling,
    "is_dynamo_compiling": markers.is_compiling,
    "reset": api.reset,
    "allow_in_graph": markers.allow_in_graph,
    "assume_constant_result": markers.assume_constant_result,
    "set_stance": api.set_stance,
    "error_on_graph_break": markers.error_on_graph_break,
    "substitute_in_graph": substitute_in_graph,
    "list_backends": _NAMES["list_backends"],
    "cudagraph_mark_step_begin": lambda: None,
    "nested_compile_region": _null_region,
}


class _DynamoStandin(types.ModuleType):
    """Stands where `torch._dynamo` does. Submodules are PyTorch's own and load when asked for."""

    _breakline_standin = True

    def __getattr__(self, name):
        if name == "OptimizedModule":
            return _optimized_module()
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return getattr(real_dynamo(), name)

    def __dir__(self):
        return sorted({*super().__dir__(), *_NAMES})


def real_dynamo():
    """PyTorch's own `torch._dynamo`, imported now if need be; the stand-in stays in its place."""
    global _real
    with _lock:
        current = sys.modules.get("torch._dynamo")
        if current is not None and current is not _installed:
            return current
        if _real is None:
            import torch

            kept = {name: sys.modules.pop(name) for name in ("torch._dynamo", "torch._dynamo.config") if name in sys.modules}
            kept_attributes = {name: vars(torch.compiler)[name] for name in _COMPILER_NAMES if name in vars(torch.compiler)}
            compile_ = torch.compile
            vars(torch).pop("_dynamo", None)
            try:
                _real = importlib.import_module("torch._dynamo")
            finally:
                if _installed is not None:
                    sys.modules.update(kept)
                    torch._dynamo = _installed
                    torch.compile = compile_
                    for name, value in kept_attributes.items():
                        setattr(torch.compiler, name, value)
            _native.register_torch()
            if _installed is not None:
                for name, value in vars(_installed.config).items():
                    if not name.startswith("__"):
                        setattr(_real.config, name, value)
        return _real


class _Submodules:
    """Finds submodules of torch._dynamo: they import each other by way of the real package, so that one is loaded first."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if not name.startswith("torch._dynamo.") or _real is not None:
            return None
        real_dynamo()
        module = sys.modules.get(name)
        if module is None:
            return None
        spec = importlib.machinery.ModuleSpec(name, _Loaded(module))
        module.__spec__ = spec  # what importlib takes for a module that came in the meantime; put back once it has been
        return spec


class _Loaded:
    """Gives a module that is there already."""

    def __init__(self, module):
        self._module, self._spec = module, module.__spec__

    def create_module(self, spec):
        return self._module

    def exec_module(self, module):
        module.__spec__ = self._spec


def is_installed():
    """Whether `torch.compile` is ours."""
    return _installed is not None


def install():
    """Makes PyTorch's names ours in this process. Imports torch; safe to call again."""
    global _installed, _real
    with _lock:
        if _installed is not None:
            return
        import torch

        loaded = sys.modules.get("torch._dynamo")
        if loaded is not None:
            _real = loaded
        standin = _DynamoStandin("torch._dynamo", "Breakline's stand-in for torch._dynamo.")
        standin.__path__ = [f"{path}/_dynamo" for path in torch.__path__]
        standin.__package__ = "torch._dynamo"
        for name, value in _NAMES.items():
            setattr(standin, name, value)
        standin.config = _Config("torch._dynamo.config")
        _installed = standin
        sys.meta_path.insert(0, _Submodules)
        sys.modules["torch._dynamo"] = standin
        sys.modules["torch._dynamo.config"] = standin.config
        torch._dynamo = standin
        torch.compile = torch_compile
        for name, value in _COMPILER_NAMES.items():
            setattr(torch.compiler, name, value)
        torch._utils.is_compiling = markers.is_compiling
        _native.register(torch.compiler.is_exporting, "is_exporting")


