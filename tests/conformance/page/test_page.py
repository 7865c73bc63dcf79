# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation page on toggling error_on_graph_break: every program of the page and a twin of each.

Each program runs three times in children: eagerly, under PyTorch's own compiler, under Breakline (torch.compile ours). Values must
equal eager's, success or error must agree with PyTorch, and an error's text must have the same sections and the same user frames
(function, line, source, caret); frames of PyTorch's or our own files are left out.
"""

import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "support")]

from harness import Tally, bits_equal, run_child, seed_all  # noqa: E402
from programs import TWINS, page_programs  # noqa: E402

PAGE = os.path.join(HERE, "..", "..", "..", "..", "shared", "seeds", "toggling_error_on_graph_break.txt")
PREFIX = "import torch\n"


def identity(f=None, **_):
    return f if f is not None else (lambda g: g)


def execute(path, how):
    import torch

    if how == "eager":
        torch.compile = identity
    elif how == "torch":
        real = torch.compile

        def counted(f=None, **kw):
            kw.setdefault("backend", "eager")
            return real(f, **kw)

        torch.compile = counted
    else:
        from breakline import standin

        standin.install()
    seed_all()
    with open(path) as src:
        code = compile(src.read(), path, "exec")
    space = {"__name__": "__main__", "__file__": path}
    exec(code, space)
    result = space.get("result")
    return {"error": space.get("error"), "result": None if result is None else result.detach()}


FRAME = re.compile(r'^\s+File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>\S+)')


def sections(text, path):
    """(text before the stack, user frames with their source and caret lines)."""
    head, _, stack = text.partition("from user code:")
    frames, lines = [], stack.splitlines()
    i = 0
    while i < len(lines):
        match = FRAME.match(lines[i])
        i += 1
        if not match:
            continue
        body = []
        while i < len(lines) and lines[i].startswith("    "):
            body.append(lines[i].strip())
            i += 1
        if os.path.samefile(match["file"], path) if os.path.exists(match["file"]) else False:
            frames.append((match["function"], int(match["line"]), tuple(body)))
    return head, frames


def labels(text):
    """First line, section labels in order, context and link."""
    out = [text.strip().splitlines()[0]]
    for line in text.splitlines()[1:]:
        label = re.match(r"\s+(Explanation|Hint|Developer debug context|For more details[^:]*):", line)
        if label:
            out.append(line.strip() if label[1][0] in "DF" else label[1])
    return out


def check(tally, name, source):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "prog.py")
        with open(path, "w") as out:
            out.write(PREFIX + source)
        eager = run_child(lambda: execute(path, "eager"))
        peer = run_child(lambda: execute(path, "torch"))
        ours = run_child(lambda: execute(path, "breakline"))
        for label, got in (("eager", eager), ("torch", peer), ("breakline", ours)):
            if not tally.check(f"{name}.{label}", "crash" not in got, str(got.get("crash"))[-1500:]):
                return
        if not tally.check(name + ".outcome", (peer["error"] is None) == (ours["error"] is None),
                           f"PyTorch: {peer['error']}\nBreakline: {ours['error']}"):
            return
        if ours["error"] is None:
            tally.check(name + ".value", bits_equal(eager["result"], ours["result"]), f"{eager} {ours}")
            return
        want_head, want_frames = sections(peer["error"], path)
        head, frames = sections(ours["error"], path)
        # Texts of explanations and hints are our own where the reason is not a marker of the user's: labels and order must agree.
        same = head.strip() == want_head.strip() if head.startswith("Call to") else labels(head) == labels(want_head)
        tally.check(name + ".text", same, f"\n--- PyTorch\n{want_head}\n--- Breakline\n{head}")
        tally.check(name + ".frames", frames == want_frames, f"\n--- PyTorch\n{want_frames}\n--- Breakline\n{frames}")


def main():
    tally = Tally("page")
    wanted = sys.argv[1:]
    if os.path.exists(PAGE):
        with open(PAGE, encoding="utf-8") as src:
            found = page_programs(src.read())
        tally.check("page.extracted", len(found) >= 9, f"only {len(found)} programs found on the page")
        for number, source in enumerate(found, 1):
            if not wanted or f"page{number}" in wanted:
                check(tally, f"page{number}", source)
    else:
        print("note: ../shared/seeds is not there, so only the twins run")
    for name, source in TWINS.items():
        if not wanted or name in wanted:
            check(tally, name, source.lstrip("\n"))
    tally.finish()


if __name__ == "__main__":
    main()
