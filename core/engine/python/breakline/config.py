# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of the whole process. `get` and `set` are the plain form; the extension checks names and values."""

_values = {"recompile_limit": 8, "trace_limit": None}


def get(name):
    """The value of a setting."""
    if name not in _values:
        raise AttributeError(f"breakline.config has no setting {name!r}; it has {', '.join(sorted(_values))}.")
    return _values[name]


def set(name, value):
    """Changes a setting for everything compiled from now on."""
    get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"breakline.config.{name} must be a whole number above 0, not {value!r}.")
    from . import _native

    _native.load().set_option(name, value)
    _values[name] = value
