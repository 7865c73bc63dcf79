# SPDX-License-Identifier: GPL-3.0-or-later
"""Training steps with each of PyTorch's optimizers, in each configuration of PyTorch's own list and form of implementation: losses,
weights and the optimizer's state after four compiled steps equal eager's; with --cpu by the cpu plan, within tolerance. Needs expecttest, as that list does."""

import os
import sys
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
try:
    import expecttest  # noqa: F401
except ImportError:
    print("SKIP: PyTorch's list of optimizers needs the package expecttest (pip install expecttest)")
    sys.exit(0)

import torch  # noqa: E402
import torch.nn as nn  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from harness import Tally, agrees  # noqa: E402
from torch.testing._internal.common_optimizers import optim_db  # noqa: E402

import breakline  # noqa: E402

warnings.simplefilter("ignore")
EXACT = "--cpu" not in sys.argv
FORMS = ({}, {"foreach": False}, {"foreach": True}, {"fused": True})


def training(info, options):
    """(model, optimizer, step), or None where the optimizer refuses the options."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2))
    weights = [p for p in model.parameters() if p.ndim == 2] if info.name == "Muon" else list(model.parameters())
    try:
        optimizer = info.optim_cls(weights, **options)
    except (RuntimeError, TypeError, ValueError):
        return None

    def step(x, y):
        def closure():
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            return loss

        if info.step_requires_closure:
            return optimizer.step(closure)
        loss = closure()
        optimizer.step()
        return loss.detach()

    return model, optimizer, step


def outcome(info, options, compiled):
    model, optimizer, step = training(info, options)
    run = breakline.compile(step, plan="replay" if EXACT else None) if compiled else step
    draw = torch.Generator().manual_seed(1)
    losses = []
    for _ in range(4):
        try:
            losses.append(run(torch.randn(5, 4, generator=draw), torch.randn(5, 2, generator=draw)).detach().clone())
        except Exception as error:  # what is raised is the outcome
            losses.append(f"{type(error).__name__}: {error}"[:100])
    return [losses, [p.detach().clone() for p in model.parameters()], optimizer.state_dict()], run


if __name__ == "__main__":
    tally, trained = Tally("optimizers"), 0
    for info in optim_db:
        for i, given in enumerate(info.optim_inputs_func(device="cpu")):
            for form in FORMS:
                options = {**given.kwargs, **form}
                if training(info, options) is None:
                    continue
                wanted, _ = outcome(info, options, False)
                got, run = outcome(info, options, True)
                trained += not any(isinstance(loss, str) for loss in wanted[0]) and (run.stats["ops"] > 0 or info.step_requires_closure)
                tally.check(f"{info.name} {i} {form}", agrees(wanted, got, EXACT) and not run.stats["skipped"], (options, wanted[0], got[0], run.stats))
    tally.check("coverage", trained >= 0.95 * tally.passed, trained)
    tally.finish()
