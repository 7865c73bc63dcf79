# SPDX-License-Identifier: GPL-3.0-or-later
"""Breakline Studio with an example open: memory, start-up, and a row of toggles without growth.

`build/bin/breakline python tests/bench/ui/bench_studio.py [TOGGLES]` prints one line per example and fails when a limit is
passed. Times are printed only: they depend on the machine.
"""

import json
import os
import subprocess
import sys

ROOT = os.environ.get("BREAKLINE_SOURCE_DIR") or os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
BUILD = os.environ.get("BREAKLINE_BINARY_DIR") or os.path.join(ROOT, "build")
MOST_WINDOW_MB = 250
MOST_GROWTH_MB = 8  # allocators and caches settle; a leak of one report per toggle would be far more
EXAMPLES = ("mlp_branch.py",)  # it has breaks to toggle


def run(example, toggles):
    command = [os.path.join(BUILD, "bin", "breakline-studio"), "--python", sys.executable, "--bench-toggle", str(toggles)]
    command.append(os.path.join(ROOT, "resources", "examples", example))
    environment = dict(os.environ, QT_QPA_PLATFORM="offscreen", XDG_RUNTIME_DIR="/tmp")
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=550)
    if done.returncode:
        sys.exit(f"{example}: exit {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def main():
    toggles = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    studio = os.path.join(BUILD, "bin", "breakline-studio")
    if not os.path.exists(studio):
        print(f"{studio} is not built")
        return 77
    faults = []
    for example in EXAMPLES:
        r = run(example, toggles)
        mb = {name: r[name] / 1024 for name in ("window_rss_kb", "window_rss_growth_kb", "engine_rss_kb", "engine_rss_growth_kb")}
        print(
            f"{example}: first result {r['first_result_ms']} ms; toggle p50 {r['p50_ms']:.0f} ms, p95 {r['p95_ms']:.0f} ms; "
            f"window {mb['window_rss_kb']:.0f} MB ({mb['window_rss_growth_kb']:+.1f}), "
            f"engine {mb['engine_rss_kb']:.0f} MB ({mb['engine_rss_growth_kb']:+.1f} over {toggles} toggles)"
        )
        if mb["window_rss_kb"] > MOST_WINDOW_MB:
            faults.append(f"{example}: the window holds {mb['window_rss_kb']:.0f} MB, more than {MOST_WINDOW_MB}")
        for who in ("window", "engine"):
            if mb[f"{who}_rss_growth_kb"] > MOST_GROWTH_MB:
                faults.append(f"{example}: the {who} grew by {mb[f'{who}_rss_growth_kb']:.1f} MB over {toggles} toggles")
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
