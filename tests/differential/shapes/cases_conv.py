# SPDX-License-Identifier: GPL-3.0-or-later
"""Random calls of convolutions and pooling."""
import torch


def cases(m):
    nn = torch._C._nn
    for _ in range(16):
        dtype = m.rng.choice([torch.float32, torch.float32, torch.float64, torch.bfloat16])
        n = m.rng.choice([1, 2])
        groups = m.rng.choice([1, 1, 2])
        channels, out = groups * m.rng.choice([1, 2]), groups * m.rng.choice([1, 2, 3])
        for spatial, op in ((1, torch.conv1d), (2, torch.conv2d)):
            kernel = [m.rng.choice([1, 2, 3]) for _ in range(spatial)]
            image = [m.rng.choice([3, 4, 5, 6]) for _ in range(spatial)]
            x = m.tensor([n, channels, *image], dtype)
            w = m.tensor([out, channels // groups, *kernel], dtype)
            bias = m.rng.choice([None, m.tensor([out], dtype)])
            stride = m.rng.choice([1, 2, [1] * spatial])
            padding = m.rng.choice([0, 1, [1] * spatial, "valid", "same" if stride != 2 else 0])
            yield op.__name__, op, [x, w, bias, stride, padding, m.rng.choice([1, 1, 2]), groups], {}
            yield op.__name__, op, [x, w], {"bias": bias, "groups": groups}
        dtype = m.rng.choice([torch.float32, torch.float64, torch.bfloat16])
        lead = m.rng.choice([[n, channels], [channels]])
        row = m.tensor([*lead, m.rng.choice([4, 5, 6])], dtype)
        image = m.tensor([*lead, m.rng.choice([4, 5]), m.rng.choice([4, 6])], dtype)
        kernel, padding, ceil = m.rng.choice([1, 2, 3]), m.rng.choice([0, 0, 1]), m.chance(0.4)
        padding = min(padding, kernel // 2)
        stride = m.rng.choice([1, 2, 3])
        yield "max_pool1d", torch.max_pool1d, [row, kernel, stride, padding, 1, ceil], {}
        yield "max_pool2d", torch.max_pool2d, [image, m.rng.choice([kernel, [kernel, kernel]]), stride, padding, 1, ceil], {}
        yield "max_pool2d", torch.max_pool2d, [image, 2], {}
        yield "avg_pool1d", torch.avg_pool1d, [row, kernel, stride, padding, ceil], {}
        yield "avg_pool2d", nn.avg_pool2d, [image, kernel, m.rng.choice([stride, None]), padding, ceil, True, None], {}
        yield "adaptive_avg_pool1d", torch.adaptive_avg_pool1d, [row, m.rng.choice([1, 2])], {}
        yield "adaptive_avg_pool2d", nn.adaptive_avg_pool2d, [image, m.rng.choice([1, (1, 1), (2, 3)])], {}
