# SPDX-License-Identifier: GPL-3.0-or-later
"""Without a driver or a device of the wanted name: one sentence, and every plan is a replay that works."""
import os
import subprocess
import sys

CHILD = """
import torch
from recorder import Recorder, bl, difference
x = torch.randn(8)
record = Recorder(x)
y = record(torch.relu, record(torch.add, x, 1))
device = bl.device()
assert not device["available"] and device["name"] == "", device
for name in ("vulkan", "vulkan_eager"):
    plan = record.plan(name, y)
    assert plan.info["plan"] == "replay", plan.info
    assert plan.info["reason"] == "no Vulkan device: " + device["reason"], plan.info
    assert difference(plan(x)[0], y) == ""
print(device["reason"])
"""


def reason(**environment):
    here = os.path.dirname(os.path.abspath(__file__))
    result = subprocess.run([sys.executable, "-c", CHILD, sys.argv[1]], capture_output=True, text=True, cwd=here,
                            env={**os.environ, "PYTHONPATH": here, **environment})
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


text = reason(VK_ICD_FILENAMES="/nonexistent", VK_DRIVER_FILES="/nonexistent")
assert "driver" in text and "install" in text and text.count(".") == 1, text
text = reason(BREAKLINE_VULKAN_DEVICE="no such card")
assert "no such card" in text or "driver" in text, text
print("2 tests, 0 failures")
