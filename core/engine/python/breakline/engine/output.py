# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps the user's output apart from the protocol: file descriptors 1 and 2 become pipes, whose text is forwarded with a
label. C code and child processes that write there are caught too."""

import codecs
import os
import select
import sys
import threading

_MOST_KEPT = 200_000  # characters kept for the report; forwarding goes on beyond it
_MOST_FORWARDED = 2_000_000  # characters of one run that a client gets; a program in a printing loop must not drown it


class Capture:
    """Redirects descriptors 1 and 2 for the life of the process. `forward(stream, text, label)` gets each piece."""

    def __init__(self, forward):
        self._forward = forward
        self._label = "run"
        self._muted = False
        self._lock = threading.Lock()
        self._pipes = {}
        self._kept, self._kept_size = [], 0
        self._forwarded = 0
        self.muted_bytes = 0
        for fd, name in ((1, "stdout"), (2, "stderr")):
            read_end, write_end = os.pipe()
            os.dup2(write_end, fd)
            os.close(write_end)
            os.set_blocking(read_end, False)
            self._pipes[read_end] = (name, codecs.getincrementaldecoder("utf-8")("replace"))
        for fd, name in ((1, "stdout"), (2, "stderr")):
            # fresh objects: the old ones may believe that they write to a file, and could not be reconfigured
            stream = open(fd, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
        threading.Thread(target=self._pump, name="breakline-output", daemon=True).start()
        self._flush_before_exit()

    def _flush_before_exit(self):
        """os._exit ends the process at once: what was written before has to be forwarded first."""
        leave, own = os._exit, os.getpid()

        def _exit(status):
            if os.getpid() == own:
                for stream in (sys.stdout, sys.stderr):  # plain Python drops what is buffered; a line is not, as on a terminal
                    if stream.line_buffering:
                        stream.flush()
                with self._lock:
                    for read_end in self._pipes:
                        self._drain(read_end)
            leave(status)

        os._exit = _exit

    def _pump(self):
        while True:
            ready, _, _ = select.select(list(self._pipes), [], [])
            with self._lock:
                for read_end in ready:
                    self._drain(read_end)

    def _drain(self, read_end):
        name, decoder = self._pipes[read_end]
        while True:
            try:
                data = os.read(read_end, 65536)
            except BlockingIOError:
                return
            if not data:
                return
            text = decoder.decode(data)
            if self._muted:
                self.muted_bytes += len(data)
            elif text:
                self._keep(name, text)
                self._pass_on(name, text)

    def _pass_on(self, name, text):
        room = _MOST_FORWARDED - self._forwarded
        self._forwarded += len(text)
        if room <= 0:
            return
        self._forward(name, text[:room], self._label)
        if len(text) >= room:
            self._forward(name, f"\n[more than {_MOST_FORWARDED:,} characters: the rest of this run's output is not shown]\n", self._label)

    def _keep(self, name, text):
        if self._kept_size >= _MOST_KEPT:
            return
        text = text[: _MOST_KEPT - self._kept_size]
        self._kept_size += len(text)
        last = self._kept[-1] if self._kept else None
        if last and last["stream"] == name and last["label"] == self._label:
            last["text"] += text
        else:
            self._kept.append({"stream": name, "text": text, "label": self._label})

    def flush(self):
        """Forwards everything written so far."""
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                pass  # the user's script closed it
        with self._lock:
            for read_end in self._pipes:
                self._drain(read_end)

    def begin(self, label, *, muted=False):
        """Text from now on carries `label`; muted text is counted and dropped."""
        self.flush()
        with self._lock:
            self._label, self._muted, self.muted_bytes = label, muted, 0
            self._forwarded = 0

    def take(self, label=None):
        """The pieces kept since the last take (all labels, or one), and forgets them."""
        self.flush()
        with self._lock:
            pieces, self._kept, self._kept_size = self._kept, [], 0
        return [piece for piece in pieces if label in (None, piece["label"])]
