# SPDX-License-Identifier: GPL-3.0-or-later
"""JSON-RPC 2.0 with Content-Length framing over two file descriptors."""

import json
import math
import os
import threading

PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
_LONGEST_HEADER = 4096
_LONGEST_BODY = 1 << 30


class BadFrame(Exception):
    """The stream is not what the protocol says; nothing more can be read from it."""


def _finite(value):
    """`value` with infinities and NaN, which JSON lacks, as None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


def dump(message):
    """A message's JSON text as bytes: UTF-8, lone surrogates replaced, no NaN."""
    try:
        text = json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError:
        text = json.dumps(_finite(message), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


class Stream:
    """Reads and writes whole messages. One thread may read; any thread may write."""

    def __init__(self, read_fd, write_fd):
        self._input = os.fdopen(read_fd, "rb")
        self._write_fd = write_fd
        self._lock = threading.Lock()

    def read(self):
        """The next message, or None at the end of the stream. Raises BadFrame, or ValueError for a body that is no JSON."""
        length = None
        while True:
            line = self._input.readline(_LONGEST_HEADER)
            if not line:
                return None
            line = line.strip()
            if not line:
                break
            name, colon, value = line.partition(b":")
            if not colon:
                raise BadFrame(f"not a header: {line[:60]!r}")
            if name.strip().lower() == b"content-length":
                if not value.strip().isdigit():
                    raise BadFrame(f"not a length: {value[:60]!r}")
                length = int(value)
        if length is None or length > _LONGEST_BODY:
            raise BadFrame("a frame without a usable Content-Length")
        body = self._input.read(length)
        if len(body) < length:
            return None
        return json.loads(body)

    def write(self, message):
        """Sends one message; quietly does nothing once the other side is gone."""
        body = dump(message)
        data = memoryview(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        with self._lock:
            try:
                while data:
                    data = data[os.write(self._write_fd, data) :]
            except (BrokenPipeError, OSError):
                pass  # the client went away; the reader sees the end of its stream and stops the engine

    def notify(self, method, **params):
        self.write({"jsonrpc": "2.0", "method": method, "params": params})

    def reply(self, request, result):
        self.write({"jsonrpc": "2.0", "id": request, "result": result})

    def fail(self, request, code, sentence, data=None):
        error = {"code": code, "message": sentence}
        if data:
            error["data"] = data
        self.write({"jsonrpc": "2.0", "id": request, "error": error})
