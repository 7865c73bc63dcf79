# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine's main loop: one thread reads requests, the main thread answers them one by one and runs the user's code."""

import contextlib
import faulthandler
import inspect
import json
import os
import queue
import signal
import sys
import threading
import traceback

from .. import _native
from .._version import __version__
from . import rpc
from .faults import CANCELLED, Cancelled, Fault, TimeUp, bad_input
from .output import Capture

PROTOCOL = 1


class Requests:
    """The queue between the reader and the main thread, with cancelling."""

    def __init__(self, stream):
        self._stream = stream
        self._queue = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._waiting = {}
        self._running = None
        self._interrupted = False
        threading.Thread(target=self._read, name="breakline-requests", daemon=True).start()

    def _read(self):
        while True:
            try:
                message = self._stream.read()
            except ValueError:
                self._stream.fail(None, rpc.PARSE_ERROR, "The message is not JSON.")
                continue
            except rpc.BadFrame as error:
                self._stream.fail(None, rpc.INVALID_REQUEST, f"The stream is not the engine's protocol: {error}")
                message = None
            if message is None:
                os._exit(0)  # the client is gone; user code may be in the middle of anything
            self._take(message)

    def _take(self, message):
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            number = message.get("id") if isinstance(message, dict) else None
            self._stream.fail(number, rpc.INVALID_REQUEST, "The message is no JSON-RPC request.")
            return
        params = message.get("params") or {}
        if message["method"] == "cancel":
            if isinstance(params, dict):
                self.cancel(params.get("id"))
            if "id" in message:
                self._stream.reply(message["id"], {})
            return
        with self._lock:
            self._waiting[message.get("id")] = message
        self._queue.put(message)

    def cancel(self, number):
        """Ends a request: a waiting one is answered at once, the running one is interrupted."""
        with self._lock:
            if self._waiting.pop(number, None) is not None:
                self._stream.fail(number, CANCELLED, "The request was cancelled.")
            elif self._running is not None and self._running == number:
                self._interrupted = True
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    def next(self):
        """Waits for the next request."""
        while True:
            message = self._queue.get()
            with self._lock:
                if self._waiting.pop(message.get("id"), None) is not None:
                    self._running = message.get("id")
                    self._interrupted = False
                    return message

    def done(self):
        with self._lock:
            self._running = None
            self._interrupted = False

    def interrupted(self):
        return self._interrupted

    @contextlib.contextmanager
    def deadline(self, seconds):
        """Raises TimeUp inside when the body of the running request takes longer."""
        passed = []

        def interrupt():
            with self._lock:
                if passed == [] and self._running is not None and not self._interrupted:
                    passed.append(True)
                    self._interrupted = True
                    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

        timer = threading.Timer(seconds, interrupt)
        timer.daemon = True
        timer.start()
        try:
            yield
        except Cancelled:
            if passed == [True]:
                raise TimeUp from None
            raise
        finally:
            timer.cancel()
            with self._lock:
                if passed == [True]:
                    self._interrupted = False  # a signal still on its way is ignored
                passed.append(False)

    def on_signal(self, number, frame):
        if self._interrupted:
            raise Cancelled
        # a stray Ctrl-C of the terminal reaches the whole group; the client decides what it means


class Server:
    """Answers requests. `workspace` is made on first use, since it needs PyTorch."""

    def __init__(self, stream, capture):
        self.stream, self.capture = stream, capture
        self.requests = Requests(stream)
        self.current = None
        self._workspace = None
        self._methods = {
            "hello": self.hello,
            "open": self.open,
            "policy.set": self.policy_set,
            "reload": self.reload,
            "option.set": self.option_set,
            "time": self.time,
            "profile": self.profile,
            "timeline": self.timeline,
            "parity": self.parity,
            "dump": self.dump,
            "diagnose": self.diagnose,
            "shutdown": self.shutdown,
        }

    def progress(self, phase, text, fraction=None):
        params = {"request": self.current, "phase": phase, "text": text}
        if fraction is not None:
            params["fraction"] = fraction
        self.stream.notify("progress", **params)

    def workspace(self):
        if self._workspace is None:
            self._extension()
            from .workspace import Workspace

            self._workspace = Workspace(self)
        return self._workspace

    def _extension(self):
        try:
            return _native.ready()
        except _native.EngineMissing as error:
            kind = "no_torch" if "torch" in str(error).lower() else "wrong_python"
            raise bad_input(kind, str(error)) from None

    def hello(self, protocol=None, client=""):
        if protocol != PROTOCOL:
            raise bad_input("bad_input", f"This engine speaks protocol {PROTOCOL}, the client {protocol}: update the older of the two.")
        self.progress("import", "importing PyTorch")
        extension = self._extension()
        import torch

        return {
            "protocol": PROTOCOL,
            "engine": __version__,
            "python": "%d.%d.%d" % sys.version_info[:3],
            "python_path": sys.executable,
            "torch": torch.__version__,
            "torch_note": _native.torch_version_note(torch.__version__)[1],
            "threads": torch.get_num_threads(),
            "pid": os.getpid(),
            "devices": extension.devices(),
        }

    def open(self, **params):
        return _call(self.workspace().open, "open", params)

    def policy_set(self, overlays):
        return self.workspace().set_policy(overlays)

    def reload(self, text=None):
        return self.workspace().reload(text)

    def option_set(self, **options):
        return _call(self.workspace().set_options, "option.set", options)

    def time(self, **params):
        return _call(self.workspace().time, "time", params)

    def profile(self, **params):
        return _call(self.workspace().profile, "profile", params)

    def timeline(self, **params):
        return _call(self.workspace().timeline, "timeline", params)

    def parity(self):
        return self.workspace().parity()

    def dump(self, **params):
        return _call(self.workspace().dump, "dump", params)

    def diagnose(self, text, reason=None):
        try:
            extension = _native.load()
        except _native.EngineMissing as error:
            raise bad_input("wrong_python", str(error)) from None
        if not isinstance(text, str) or not isinstance(reason, (str, type(None))):
            raise bad_input("bad_input", "diagnose takes a text and, if known, the id of a break reason.")
        return {"records": json.loads(extension.diagnose_json(text.encode("utf-8", "replace").decode("utf-8"), reason))}

    def shutdown(self):
        return {}

    def answer(self, message):
        """Runs one request; returns whether to go on."""
        number, method = message.get("id"), message["method"]
        self.current = number
        handler = self._methods.get(method)
        params = message.get("params") or {}
        try:
            if handler is None:
                raise Fault(rpc.NO_METHOD, f"The engine has no method {method!r}.")
            if not isinstance(params, dict):
                raise Fault(rpc.INVALID_PARAMS, f"{method}: params must be an object.")
            result = _call(handler, method, params)
            self.capture.flush()
            self.stream.reply(number, result)
        except Cancelled:
            self.capture.flush()
            self.stream.fail(number, CANCELLED, "The request was cancelled.")
        except Fault as fault:
            self.capture.flush()
            self.stream.fail(number, fault.code, fault.sentence, fault.data)
        except Exception as error:
            self.capture.flush()
            self.stream.fail(
                number,
                rpc.INTERNAL,
                f"The engine failed in {method} ({type(error).__name__}: {error}); this is a fault of Breakline, please report it.",
                {"traceback": traceback.format_exc()},
            )
        finally:
            self.requests.done()
            self.current = None
        return method != "shutdown"

    def serve(self):
        while self.answer(self.requests.next()):
            pass


def _call(handler, method, params):
    try:
        inspect.signature(handler).bind(**params)
    except TypeError as error:
        raise Fault(rpc.INVALID_PARAMS, f"{method}: {error}.") from None
    return handler(**params)


def main():
    """Runs the engine on the process's standard streams until its client shuts it down or goes away."""
    read_fd, write_fd = os.dup(0), os.dup(1)
    crash_report = os.fdopen(os.dup(2), "w", buffering=1)  # the client reads it when the engine dies
    faulthandler.enable(crash_report)
    try:
        return _serve(read_fd, write_fd)
    except BaseException:
        traceback.print_exc(file=crash_report)
        os._exit(1)


def _serve(read_fd, write_fd):
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    stream = rpc.Stream(read_fd, write_fd)
    capture = Capture(lambda name, text, label: stream.notify("output", stream=name, text=text, label=label))
    if not sys.flags.safe_path and sys.path and os.path.realpath(sys.path[0] or os.getcwd()) == os.path.realpath(os.getcwd()):
        del sys.path[0]  # `-m` put the working folder there; the target's own folder takes its place
    server = Server(stream, capture)
    signal.signal(signal.SIGINT, server.requests.on_signal)
    server.serve()
    capture.flush()
    os._exit(0)  # threads that the user's code left running must not keep the engine alive
