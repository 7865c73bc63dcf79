# SPDX-License-Identifier: GPL-3.0-or-later
import torch
import torch.nn.functional as F


def turned(x, scale):
    return [row * scale for row in x.unbind(0)][-1]


@torch.compile
def block(x, weight):
    y = F.layer_norm(x @ weight, (8,)) + x
    print("half", y.shape)
    try:
        return torch.softmax(turned(y, 0.5).gelu() if hasattr(y, "gelu") else F.gelu(turned(y, 0.5)), -1)
    except RuntimeError:
        return y.sum(0)


with torch.no_grad():
    block(torch.ones(3, 4, 8), torch.eye(8))
