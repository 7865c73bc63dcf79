# SPDX-License-Identifier: GPL-3.0-or-later
"""The model of report.json: regions, a break of each policy, a skipped frame, a recompile, output and an error."""
import torch


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 4)

    def forward(self, x):
        x = torch.relu(self.fc(x))
        print("in forward")
        return x * 2


@torch.compile
def numbers(x):
    yield x + 1
    yield x + 2


@torch.compile
def strict(x):
    y = x + 1
    with torch._dynamo.error_on_graph_break(False):
        torch._dynamo.graph_break()
    y = y * 2
    with torch._dynamo.error_on_graph_break(True):
        torch._dynamo.graph_break()
    return y


torch.manual_seed(0)
with torch.no_grad():
    block = torch.compile(Block())
    block(torch.ones(2, 4))
    block(torch.ones(3, 4))
    list(numbers(torch.ones(1)))
    strict(torch.ones(2))
