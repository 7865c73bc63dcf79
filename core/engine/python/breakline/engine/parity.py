# SPDX-License-Identifier: GPL-3.0-or-later
"""Our breaks against those of the user's own torch.compile on the same target, place by place."""

import json
import os
import subprocess
import sys
import tempfile

from .faults import USER_CODE, Fault


def ask_peer(params):
    """What `peer` says about a target. Raises a Fault; ends the peer when it is interrupted."""
    with tempfile.TemporaryFile() as errors:
        peer = subprocess.Popen(
            [sys.executable, "-m", "breakline.engine.peer"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, encoding="utf-8"
        )
        try:
            peer.stdin.write(json.dumps(params) + "\n")
            peer.stdin.flush()
            answer = peer.stdout.read()
        except OSError:
            answer = ""
        finally:
            peer.kill()
            peer.wait()
            peer.stdout.close()
            peer.stdin.close()
        errors.seek(0)
        said = errors.read().decode("utf-8", "replace")[-4000:]
    try:
        facts = json.loads(answer)
    except ValueError:
        raise Fault(
            USER_CODE, "The run under torch.compile ended without an answer (what it printed is above): run the script with plain PyTorch first.", traceback=said
        ) from None
    if "fault" in facts:
        raise Fault(USER_CODE, f"Under torch.compile: {facts['fault']}")
    return facts


def compare(report, facts):
    """A Parity from a Report and the peer's facts."""
    places = {}
    for item in report["breaks"]:
        key = (os.path.realpath(item["file"]), item["line"])
        places.setdefault(key, {"file": item["file"], "ours": item["type"]})
    for item in facts["breaks"]:
        places.setdefault((item["file"], item["line"]), {"file": item["file"]})["theirs"] = item["reason"]
    rows = [
        {
            "verdict": "agree" if "ours" in place and "theirs" in place else "only ours" if "ours" in place else "only theirs",
            "file": place["file"],
            "line": key[1],
            "ours": place.get("ours", ""),
            "theirs": place.get("theirs", ""),
        }
        for key, place in sorted(places.items())
    ]
    errors = [entry["error"] for entry in report["targets"] if entry["error"]]
    first = errors[0] if errors else None
    return {
        "schema": 1,
        "torch": facts["torch"],
        "ours": {
            "graphs": sum(entry["graphs"] for entry in report["targets"]),
            "ops": sum(entry["ops"] for entry in report["targets"]),
            "places": sum("ours" in place for place in places.values()),
            "given_up": sum(len(entry["skipped_frames"]) for entry in report["targets"]),
            "trace_ms": report["timing_ms"]["trace"],
            "error": f"{first['type'].rpartition('.')[2]}: {first['message'].splitlines()[0] if first['message'] else ''}".rstrip(": ") if first else "",
        },
        "theirs": {
            "graphs": facts["graphs"],
            "ops": facts["ops"],
            "places": sum("theirs" in place for place in places.values()),
            "given_up": facts["given_up"],
            "trace_ms": facts["trace_ms"],
            "error": facts["error"],
        },
        "places": rows,
    }
