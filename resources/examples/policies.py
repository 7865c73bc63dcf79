# SPDX-License-Identifier: GPL-3.0-or-later
"""Nested error_on_graph_break regions: the innermost one rules. Everything that breaks here is allowed to.

In Breakline set the overlay of `tally` or of a `with` block to *error*: the break there becomes the error that a strict
caller would get. Set it back to *inherit* and the program runs again.
"""
import torch
import torch._dynamo


def tally(x):
    """Breaks, and has no region of its own: what rules it is the region around its caller."""
    y = torch.sigmoid(x) * 3.0
    torch._dynamo.graph_break()  # [break]
    return y - y.mean()


@torch._dynamo.error_on_graph_break(False)
def lenient(x):
    """Allowed to break, whoever calls it."""
    z = torch.tanh(x)
    torch._dynamo.graph_break()  # [break]
    return z + 0.5


@torch._dynamo.error_on_graph_break(True)
def strict(x):
    """May not break itself; what it lets `lenient` do is lenient's own."""
    y = torch.relu(x) + 1.0
    y = lenient(y)
    with torch._dynamo.error_on_graph_break(False):
        y = tally(y * 2.0)
    return torch.exp(-y)


def score(x):
    h = x * 0.5 + 1.0
    h = strict(h)
    torch._dynamo.graph_break()  # [break]
    return h.sum(dim=-1)


def main():
    torch.manual_seed(0)
    run = torch.compile(score)
    x = torch.randn(32, 64)
    with torch.no_grad():
        for _ in range(2):
            y = run(x)
    print("output", tuple(y.shape))


if __name__ == "__main__":
    main()
