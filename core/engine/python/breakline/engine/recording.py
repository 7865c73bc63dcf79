# SPDX-License-Identifier: GPL-3.0-or-later
"""Recordings: calls of targets that can be made again from the same state (see snapshot.py)."""

import contextlib

import torch

from .. import markers
from .snapshot import Snapshot

_MOST_RECORDINGS = 8


def signature_key(args, kwargs, depth=0):
    """A cheap key that differs where a guard could: types, shapes, dtypes, small constants."""

    def key(value, depth):
        if isinstance(value, torch.Tensor):
            return (type(value), tuple(value.shape), value.dtype, value.stride(), value.requires_grad)
        if isinstance(value, (type(None), bool, int, float, str)):
            return (type(value), value)
        if depth < 3 and isinstance(value, (list, tuple)):
            return (type(value), tuple(key(item, depth + 1) for item in value))
        if depth < 3 and isinstance(value, dict):
            return (dict, tuple((str(name), key(item, depth + 1)) for name, item in value.items()))
        if isinstance(value, torch.nn.Module):
            return (id(value), value.training)
        return (type(value), id(value))

    ambient = (torch.is_grad_enabled(), torch.is_autocast_enabled(), markers.region_flag())
    return (ambient, key(args, 0), key(kwargs, 0))


class Recording:
    """One call of a target that can be made again."""

    def __init__(self, target, args, kwargs):
        self.target, self.args, self.kwargs = target, args, kwargs
        function = target.function
        roots = {"arguments": args, "keyword arguments": kwargs, function.__name__: function}
        self._roots = roots
        self._snapshot = Snapshot(roots)
        self.uncloneable = self._snapshot.uncloneable
        self.region = markers.region_flag()
        self.grad = torch.is_grad_enabled()
        self.inference = torch.is_inference_mode_enabled()
        self.autocast = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
        self.made_before = None  # counts of the target when this call began
        self._users = None

    def restore(self):
        """Puts the recorded state back."""
        self._snapshot.restore()

    def changed(self):
        """Whether the state differs from the recorded one."""
        return self._snapshot.changed()

    @contextlib.contextmanager
    def staged(self, *, no_grad=False):
        """The recorded state and surroundings inside; the user's own state again after. The user's state is copied once:
        nothing but replays runs between two stagings (`forget_users_state` after anything else has run)."""
        if self._users is None:
            self._users = Snapshot(self._roots)
        dtype, flag = torch.get_default_dtype(), markers.region_flag()
        try:
            self.restore()
            with contextlib.ExitStack() as stack:
                stack.enter_context(torch.set_grad_enabled(self.grad and not no_grad))
                if self.inference:
                    stack.enter_context(torch.inference_mode())
                enabled, autocast_dtype = self.autocast
                if enabled:
                    stack.enter_context(torch.autocast("cpu", dtype=autocast_dtype))
                if self.region != flag:
                    stack.enter_context(markers.error_on_graph_break(self.region))
                yield
        finally:
            self._users.restore()
            torch.set_default_dtype(dtype)

    def forget_users_state(self):
        self._users = None


class Recorder:
    """Keeps recordings of the targets of one run. Installed as `on_call` of each compiled function."""

    def __init__(self):
        self.calls = {}  # target → number of calls from plain Python
        self.recordings = {}  # target → [Recording]
        self.last = None  # the target called last
        self._keys = {}
        self.paused = False

    def watch(self, target):
        target.compiled.on_call = self.before

    def before(self, compiled, args, kwargs):
        """Runs before each call of a compiled function from plain Python."""
        if self.paused:
            return
        target = compiled._breakline_target
        self.last = target
        self.calls[target] = self.calls.get(target, 0) + 1
        recordings = self.recordings.setdefault(target, [])
        if len(recordings) >= _MOST_RECORDINGS:
            return
        key = signature_key(args, kwargs)
        if key in self._keys.setdefault(target, set()):
            return
        self._prune(target)
        self._keys[target].add(key)
        recording = Recording(target, args, kwargs)
        recording.made_before = _made(target)
        recordings.append(recording)

    def _prune(self, target):
        """Drops the last recording when its call made nothing new (the same guards held)."""
        recordings = self.recordings[target]
        if len(recordings) > 1 and _made(target) == recordings[-1].made_before:
            recordings.pop()

    def finish(self):
        """Call after the user's code ended."""
        for target in self.recordings:
            self._prune(target)
            for recording in self.recordings[target]:
                recording.forget_users_state()


def _made(target):
    stats = target.compiled.stats
    return tuple(stats.get(name, 0) for name in ("graphs", "breaks", "recompiles", "skipped"))
