# SPDX-License-Identifier: GPL-3.0-or-later
"""Python that the tracer follows in place of C code of PyTorch which would hide the user's Python from it. Each function
computes exactly what it stands for, under the condition that its text names."""

import gc
import threading
import warnings
import weakref

import torch
from torch.autograd.function import FunctionCtx, _SingleLevelFunction

from ._breakline import enter_inference_mode, leave_inference_mode


class PlainContext(FunctionCtx):
    """The `ctx` of a forward that is traced: what is stored there is handed to autograd's own afterwards (`attach`), or never read."""


class InferenceMode:
    """`torch._C._InferenceMode`: a region of it can be entered in one segment of traced code and left in another."""

    def __init__(self, mode):
        self.mode = mode

    def __enter__(self):
        self.number = enter_inference_mode(self.mode)

    def __exit__(self, *_):
        leave_inference_mode(self.number)


profiler_enabled = torch._C._autograd._profiler_enabled


def record_function_init(self, name, args=None):
    """`record_function.__init__` while no profiler is on; nor is one told of the region's end."""
    self.name = name
    self.args = args
    self.run_callbacks_on_exit = False
    self.record = None
    self._cupti_monitor_external_id = None


def record_function_enter(self):
    return self


def record_function_exit(self, exc_type, exc_value, traceback):
    pass


def apply_without_grad(cls, *args):
    """`torch.autograd.Function.apply` when no argument needs a gradient, or none is recorded."""
    ctx = PlainContext()
    ctx.needs_input_grad = (False,) * len(args)
    ctx.dirty_tensors = None
    with torch.no_grad():
        if cls.setup_context is _SingleLevelFunction.setup_context:
            result = cls.forward(ctx, *args)
        else:
            args = _with_defaults(cls.forward, args)
            result = cls.forward(*args)
            cls.setup_context(ctx, args, result)
            results = result if isinstance(result, tuple) else (result,)
            if any([a is b is c for a in args for b in results for c in getattr(ctx, "to_save", ())]):
                return attach(cls, ctx, args, result)  # autograd refuses that
        if isinstance(result, tuple):
            return tuple([_output(item, args, ctx) for item in result])
        return _output(result, args, ctx)


def ordered_update(self, other=(), /, **words):
    """`OrderedDict.__init__` and `update` where a subclass overrides what they go through."""
    pairs = other
    if type(other) is dict:
        pairs = list(other.items())
    elif hasattr(other, "keys"):
        pairs = ()
        for key in other.keys():
            self[key] = other[key]
    elif hasattr(other, "items"):
        pairs = other.items()
    nothing = object()
    for pair in pairs:
        parts = iter(pair)
        key, value = next(parts, nothing), next(parts, nothing)
        if value is nothing:
            raise ValueError("need more than 0 values to unpack" if key is nothing else "need more than 1 value to unpack")
        if next(parts, nothing) is not nothing:
            raise ValueError("too many values to unpack (expected 2)")
        self[key] = value
    for key, value in words.items():
        self[key] = value


def apply_with_grad(cls, *args):
    """`torch.autograd.Function.apply` when an argument needs a gradient: the forward is Python like any other, then autograd gets to
    know what it left in its context."""
    ctx = PlainContext()
    ctx.dirty_tensors = None
    if cls.setup_context is _SingleLevelFunction.setup_context:
        ctx.needs_input_grad = tuple([isinstance(a, torch.Tensor) and a.requires_grad for a in args])
        with torch.no_grad():
            result = cls.forward(ctx, *args)
    else:
        args = _with_defaults(cls.forward, args)
        ctx.needs_input_grad = tuple([isinstance(a, torch.Tensor) and a.requires_grad for a in args])
        with torch.no_grad():
            result = cls.forward(*args)
            cls.setup_context(ctx, args, result)
    return attach(cls, ctx, args, result)


def _with_defaults(forward, args):
    """As torch.autograd.Function.apply hands them to setup_context."""
    missing = forward.__code__.co_argcount - len(args)
    defaults = forward.__defaults__
    if missing <= 0 or not defaults:
        return args
    return args + defaults[len(defaults) - missing:]


def attach(cls, ctx, args, result):
    """`cls.apply(*args)` where the forward has been run: its context is `ctx`, it returned `result`."""
    names = tuple(ctx.__dict__)
    return attach_parts(cls, names, tuple([ctx.__dict__[name] for name in names]), args, result)


def attach_parts(cls, names, values, args, result):
    _attaching.append((names, values, result))
    try:
        return _attached_class(cls).apply(*args)
    finally:
        _attaching.pop()


_attaching = []  # calls under way: autograd calls the forward below with the arguments alone
_classes = weakref.WeakKeyDictionary()
_TOLD = {"to_save": "save_for_backward", "saved_for_forward": "save_for_forward", "dirty_tensors": "mark_dirty",
         "non_differentiable": "mark_non_differentiable"}


def _attached_class(cls):
    """`cls` with a forward that only tells what the traced one did. Its gradients, its name and grad_fn's are those of `cls`."""
    made = _classes.get(cls)
    if made is None:
        if cls.setup_context is _SingleLevelFunction.setup_context:
            body = {"forward": staticmethod(_tell)}
        else:  # autograd is stricter with these
            body = {"forward": staticmethod(_result), "setup_context": staticmethod(_tell)}
        body.update(__module__=cls.__module__, __qualname__=cls.__qualname__)
        made = _classes[cls] = type(cls)(cls.__name__, (cls,), body)
    return made


DICT = type("DICT", (), {})


def _as_it_was(value):
    """What the tracer hands over as (DICT, keys, values) is a dict."""
    if type(value) is tuple:
        if value and value[0] is DICT:
            return dict(zip(value[1], map(_as_it_was, value[2])))
        return tuple(map(_as_it_was, value))
    return value


def _tell(ctx, *args):
    names, values, result = _attaching[-1]
    for name, value in zip(names, values):
        if name in _TOLD:
            if value is not None:
                getattr(ctx, _TOLD[name])(*value)
        elif name != "needs_input_grad":
            setattr(ctx, name, _as_it_was(value))
    return result


def _result(*_):
    return _attaching[-1][2]


def _output(item, args, ctx):
    """What autograd makes of an output of a forward that it does not record: an input that comes back unchanged is an alias."""
    if not isinstance(item, torch.Tensor):
        return item
    given = any([item is other for other in args])
    if not item.requires_grad:
        if any([item is other for other in ctx.dirty_tensors or ()]):
            torch.autograd.graph.increment_version(item)
            return item
        return item.view_as(item) if given else item
    if given:
        return item.detach()
    return item if item._is_view() else item.detach_()


def call_wrapped(self, func, /, *args, **kwargs):
    """`torch._higher_order_ops.wrap`, which calls its function."""
    return func(*args, **kwargs)


def group_of_tensors(tensorlistlist, with_indices=False):
    """`torch._C._group_tensors_by_device_and_dtype` of lists whose items are tensors of one device and dtype, the first not empty."""
    first = tensorlistlist[0]
    indices = list(range(len(first))) if with_indices else []
    return {(first[0].device, first[0].dtype): ([list(tensors) for tensors in tensorlistlist], indices)}


def array_layout(array):
    """Type and layout of an array of plain numbers; None for others."""
    if array.dtype.kind not in "biufc" or not array.dtype.isnative:
        return None
    return array.dtype.char, array.shape, array.strides


class _Warnings:
    """A region where all that this thread warns of is an error, or ignored. Not `warnings.catch_warnings`, which forgets what was warned of
    before and so lets it be said once more."""

    def __init__(self, action):
        self.thread = threading.get_ident()
        self.action = action

    def match(self, _text):
        """As the message of a warnings filter."""
        return threading.get_ident() == self.thread

    def __enter__(self):
        self.filters = warnings.filters
        self.entry = (self.action, self, Warning, None, 0)
        self.filters.insert(0, self.entry)

    def __exit__(self, *_):
        self.filters.remove(self.entry)
        del self.entry, self.filters  # a circle of references, else


def of_numpy(function, *args, **kwargs):
    """A call of numpy; what it would warn of is an error, since a warning has to come from the program's own line."""
    import numpy

    with _Warnings("error"), numpy.errstate(all="raise"):
        return function(*args, **kwargs)


def call_quietly(function, args, kwargs):
    import numpy

    with _Warnings("ignore"), numpy.errstate(all="ignore"):
        return function(*args, **kwargs)


def _locked(item, views):
    """`item` with a view that can't be written in place of each array; views: id of an array -> (array, view)."""
    import numpy

    if type(item) in (tuple, list):
        return type(item)([_locked(part, views) for part in item])
    if not isinstance(item, numpy.ndarray) or not item.flags.writeable:
        return item
    if id(item) not in views:
        view = item.view()
        view.setflags(write=False)
        views[id(item)] = item, view
    return views[id(item)][1]


def _unlocked(item, views, broadcast):
    """What a call gave for locked arrays, as it would have given it for the arrays themselves."""
    import numpy

    for array, view in views.values():
        if item is view:
            return array
    if isinstance(item, numpy.ndarray) and not item.flags.writeable and not broadcast:
        if any([numpy.may_share_memory(item, view) for _, view in views.values()]):
            item.setflags(write=True)
    return item


def call_without_writes(function, args, kwargs):
    """`call_quietly` of a function of numpy, which fails where it would write to one of its arrays (`out`, and many by other names)."""
    views = {}
    result = call_quietly(function, _locked(args, views), {name: _locked(item, views) for name, item in kwargs.items()})
    broadcast = "broadcast" in function.__name__  # those can't be written anyway
    parts = [_unlocked(item, views, broadcast) for item in (result if type(result) in (tuple, list) else [result])]
    return type(result)(parts) if type(result) in (tuple, list) else parts[0]


def call_without_warnings(function, args, kwargs):
    with _Warnings("ignore"):
        return function(*args, **kwargs)


def get_attribute(value, name):
    return getattr(value, name)


def call_without_grad(function, *args):
    with torch.no_grad():
        return function(*args)


def run_checkpoint(options):
    """Calls a region of a segment, a function of tensors, as the program asked `torch.utils.checkpoint.checkpoint` to call its own."""
    from torch.utils.checkpoint import checkpoint

    def call(region, operands):
        return checkpoint(region, *operands, **options)

    return call


def not_cached(wrapper, *args):
    """What the cache of functools.lru_cache holds for a call; this function itself when it holds nothing. Asks nobody but the cache."""
    if wrapper.cache_parameters()["typed"]:
        return not_cached
    key = args[0] if len(args) == 1 and type(args[0]) in (int, str) else args
    own = wrapper.__dict__
    for part in gc.get_referents(wrapper):
        if type(part) is dict and part is not own and key in part:
            return wrapper(*args)
    return not_cached


def set_hook(tensor, hook):
    tensor.register_hook(hook)


def set_data(tensor, other):
    """`tensor.data = other` as a call."""
    tensor.data = other
    return tensor


class OverridesDisabled:
    """`torch._C.DisableTorchFunctionSubclass`: inside, tensors of classes with a `__torch_function__` are plain ones."""

    def __enter__(self):
        self.changes = torch._C._is_torch_function_enabled()
        if self.changes:
            disable_overrides()

    def __exit__(self, *error):
        if self.changes:
            enable_overrides()


def disable_overrides():
    torch._C._set_torch_function_state(torch._C._TorchFunctionState.SUBCLASSES_DISABLED)


def enable_overrides():
    torch._C._set_torch_function_state(torch._C._TorchFunctionState.ENABLED)


def torch_function_by_default(cls, func, types, args=(), kwargs=None):
    """`torch.Tensor.__torch_function__`."""
    if kwargs is None:
        kwargs = {}
    for kind in types:
        if not issubclass(cls, kind):
            return NotImplemented
    with OverridesDisabled():
        result = func(*args, **kwargs)
    if _stays_plain(func):
        return result
    return _converted(result, cls)


def _stays_plain(func):
    return func in torch.overrides.get_default_nowrap_functions()


_stays_plain._dynamo_marked_constant = True


def _converted(result, cls):
    if cls is torch.Tensor:
        return result
    if isinstance(result, torch.Tensor) and not isinstance(result, cls):
        return result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        return type(result)([_converted(item, cls) for item in result])
    return result


class _Asked(Exception):
    pass


class _TensorProbe(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        raise _Asked(func, args, kwargs)


class ObjectProbe:
    """In place of an operand that is no tensor but has a `__torch_function__`."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        raise _Asked(func, args, kwargs)


class _ModeProbe(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise _Asked(func, types, args, kwargs or {})


def ask_mode(callable, args, kwargs):
    """(func, types, args, kwargs) with which PyTorch calls the `__torch_function__` of a mode in force; None where it doesn't."""
    try:
        with _ModeProbe():
            callable(*args, **kwargs)
    except _Asked as asked:
        return asked.args
    return None


def tensor_probe(twin):
    return twin.as_subclass(_TensorProbe)


def ask_override(callable, args, kwargs):
    """(func, args, kwargs) with which PyTorch calls the `__torch_function__` of an operand that is a probe; None where it doesn't."""
    try:
        callable(*args, **kwargs)
    except _Asked as asked:
        return asked.args
    return None
