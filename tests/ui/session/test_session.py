# SPDX-License-Identifier: GPL-3.0-or-later
"""The program as a user starts it stays open: after the first report it takes up a change of the file.

A relay between window and engine writes each request's name to a pipe. The test blocks on that pipe; when the window goes away
by itself, the pipe ends before the request that it waits for.
"""

import os
import subprocess
import sys
import tempfile

MODEL = "import torch\nimport breakline\n\n\n@breakline.compile\ndef f(x):\n    return x + 1\n\n\nf(torch.ones(2))\n"

RELAY = """
import os, re, subprocess, sys
names = open(os.environ["NAMES"], "wb", buffering=0)
engine = subprocess.Popen([sys.executable, "-m", "breakline.engine"], stdin=subprocess.PIPE)
while data := os.read(0, 1 << 16):
    for name in re.findall(rb'"method":\\s*"([^"]+)"', data):
        names.write(name + b"\\n")
    engine.stdin.write(data)
    engine.stdin.flush()
engine.stdin.close()
sys.exit(engine.wait())
"""


def main():
    studio = sys.argv[1]
    with tempfile.TemporaryDirectory() as home:
        model, relay, names = (os.path.join(home, n) for n in ("model.py", "relay.py", "names"))
        for path, text in ((model, MODEL), (relay, RELAY)):
            with open(path, "w") as out:
                out.write(text)
        os.mkfifo(names)
        env = {**os.environ, "NAMES": names, "QT_QPA_PLATFORM": "offscreen", "HOME": home, "XDG_CONFIG_HOME": home}
        window = subprocess.Popen([studio, "--engine", f"{sys.executable} {relay}", model], env=env)
        seen, changed = [], False
        with open(names) as lines:
            for line in lines:
                seen.append(line.strip())
                print(seen[-1], flush=True)
                if seen[-1] == "profile" and not changed:  # the window is idle: the first report is on the screen
                    changed = True
                    with open(model, "w") as out:
                        out.write(MODEL.replace("x + 1", "x * 3"))
                if changed and seen[-1] in ("reload", "open"):
                    break
        alive = window.poll() is None
        window.terminate()
        window.wait()
    ok = alive and changed and seen[-1] in ("reload", "open")
    print("requests:", seen)
    print(f"session: {int(ok)} passed, {int(not ok)} failed")
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
