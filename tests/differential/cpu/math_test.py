# SPDX-License-Identifier: GPL-3.0-or-later
"""Accuracy of the inline vector functions in float32 over the whole range of arguments, in ulp against float64."""
import sys

import torch

from tape import Tape, load_extension, scalar_numbers, ulp

# Largest error allowed, ulp. Powers are by float64 inside, so nearly exact.
LIMITS = {"Exp": 1.5, "Exp2": 1.5, "Expm1": 2.0, "Log": 1.5, "Log2": 2.0, "Log10": 2.0, "Log1p": 2.5, "Sin": 1.75, "Cos": 1.75,
          "Tan": 3.5, "Tanh": 2.5, "Sinh": 3.0, "Cosh": 2.5, "Atan": 2.5, "Erf": 2.0, "Sigmoid": 3.0}
FUNCTIONS = {name: getattr(torch, name.lower()) for name in LIMITS}


def arguments():
    """Every 4,099th float32 bit pattern (both signs, all binades), and a fine grid where the functions bend."""
    patterns = torch.arange(-(2**31), 2**31, 4099, dtype=torch.int64).to(torch.int32)
    whole = patterns.view(torch.float32)
    fine = torch.linspace(-12, 12, 300001)
    near = torch.linspace(-100, 100, 200001)
    return torch.cat([whole, fine, near, 1 + fine / 100])


def main(folder):
    extension, scalar = load_extension(folder), scalar_numbers()
    x = arguments()
    wide = x.double()
    bad = []
    for name, function in FUNCTIONS.items():
        tape = Tape([x])
        y = tape.call(function, x, row=name.lower(), scalar=scalar[name])
        z = tape.call(torch.clone, y, row="clone", scalar=scalar["Copy"])
        plan = tape.plan(extension, [z])
        assert any(kernel[1] == "cpu" for kernel in extension.info(plan)["kernels"]), name
        got = extension.run(plan, [x])[0]
        reference = function(wide)
        rounded = reference.float()
        settled = rounded.isfinite() & got.isfinite()
        # At the edge of the range either neighbour of the last finite number will do.
        edge = reference.abs() > torch.finfo(torch.float32).max * (1 - 1e-6)
        wrong = ~settled & ~((got == rounded) | (got.isnan() & rounded.isnan())) & ~edge
        error = (got.double() - reference).abs() / torch.maximum(ulp(reference, torch.float32), torch.tensor(2.0**-149).double())
        error[~settled] = 0
        if name == "Sigmoid":  # 1 / (1 + exp(-x)), as in eager, flushes what is below the normal range
            error[reference < 2.0**-126] = 0
        worst = int(error.argmax())
        print(f"{name:>8}: {float(error[worst]):.2f} ulp at {x[worst].item():.9g} (limit {LIMITS[name]}), "
              f"{int(wrong.sum())} wrong at NaN or infinity")
        if float(error[worst]) > LIMITS[name] or bool(wrong.any()):
            bad.append(name)
            if bool(wrong.any()):
                at = int(torch.nonzero(wrong)[0])
                print(f"          {x[at].item()!r}: {got[at].item()} instead of {rounded[at].item()}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
