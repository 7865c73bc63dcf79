# SPDX-License-Identifier: GPL-3.0-or-later
"""Random calls of whole recurrent layers, padded and packed."""
import torch
from torch.nn.utils.rnn import pack_padded_sequence


def cases(m):
    layers = {"lstm": (torch.nn.LSTM, torch._VF.lstm), "gru": (torch.nn.GRU, torch._VF.gru),
              "rnn_tanh": (torch.nn.RNN, torch._VF.rnn_tanh), "rnn_relu": (torch.nn.RNN, torch._VF.rnn_relu)}
    for name, (kind, function) in layers.items():
        for _ in range(6):
            dtype = m.rng.choice([torch.float32, torch.float32, torch.float64, torch.bfloat16])
            steps, batch, width, hidden = (m.rng.choice([1, 2, 3]) for _ in range(4))
            projection = m.rng.choice([0, 0, hidden - 1]) if name == "lstm" and hidden > 1 else 0
            count, both, first, biases, train = m.rng.choice([1, 2]), m.chance(0.5), m.chance(0.5), m.chance(0.8), m.chance(0.5)
            module = kind(width, hidden, count, bias=biases, bidirectional=both, proj_size=projection, dtype=dtype) if name == "lstm" else \
                kind(width, hidden, count, bias=biases, bidirectional=both, dtype=dtype)
            module.requires_grad_(m.chance(0.7))
            weights = list(module._flat_weights)
            if m.chance(0.1):
                weights.pop()  # refused
            rows = count * (2 if both else 1)
            layout = m.rng.choice(["contiguous", None])
            states = tuple(m.tensor([rows, batch, size], dtype, "contiguous") for size in (projection or hidden, hidden))
            state = states if name == "lstm" else states[1]
            more = [biases, count, m.rng.choice([0.0, 0.3]), train, both]
            x = m.tensor([batch, steps, width] if first else [steps, batch, width], dtype, layout)
            yield name, function, [x, state, weights, *more, first], {}
            lengths = sorted((m.rng.randint(1, steps) for _ in range(batch)), reverse=True)
            packed = pack_padded_sequence(m.tensor([steps, batch, width], dtype, "contiguous"), torch.tensor(lengths))
            yield name, function, [packed.data, packed.batch_sizes, state, weights, *more], {}
