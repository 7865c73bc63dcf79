# SPDX-License-Identifier: GPL-3.0-or-later
"""torch.compile with Inductor as an arm: a process of its own (Breakline stands in torch.compile's place in this one), which
makes blocks of calls when it is asked to, in turn with the arms of this process."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile



class Unavailable(Exception):
    """Why there is no such arm, one sentence."""


def _compiler():
    for name in (os.environ.get("CXX"), "g++", "clang++", "c++"):
        if name and shutil.which(name):
            return name
    return None


class Inductor:
    """The process. `facts` is what its opening answered (see inductor_peer.py)."""

    def __init__(self, request):
        if _compiler() is None:
            raise Unavailable("Inductor needs a C++ compiler, and there is no g++ or clang++ here")
        self._cache = tempfile.mkdtemp(prefix="breakline-inductor-")  # empty: its compile time is a cold one
        self._errors = tempfile.TemporaryFile()
        environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": self._cache}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "breakline.engine.inductor_peer"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            encoding="utf-8",
            env=environment,
            start_new_session=True,
        )
        try:
            self.facts = self._ask(request)
        except BaseException:
            self.close()
            raise

    def _ask(self, request):
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            answer = json.loads(self._process.stdout.readline())
        except (OSError, ValueError):
            raise Unavailable("the process of torch.compile ended: " + self._last_words()) from None
        if "fault" in answer:
            raise Unavailable(answer["fault"])
        return answer

    def _last_words(self):
        with contextlib.suppress(OSError, ValueError):
            self._errors.seek(0)
            lines = [line for line in self._errors.read().decode("utf-8", "replace").splitlines() if line.strip()]
            return lines[-1] if lines else "it said nothing"
        return "it said nothing"

    def block(self, arm, calls, group, settle):
        answer = self._ask({"block": arm, "calls": calls, "group": group, "settle": settle})
        return answer["median_us"], answer["mean_us"], answer["waiting"]

    def recompiles(self):
        """Graphs compiled since the timed calls began."""
        return self._ask({"recompiles": True})["recompiles"]

    def close(self):
        """Ends the process and the compile workers it started."""
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()
        self._errors.close()
        shutil.rmtree(self._cache, ignore_errors=True)


