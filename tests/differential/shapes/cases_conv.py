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
        for spatial, op in ((1, torch.conv1d), (2, torch.conv2d), (3, torch.conv3d)):
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
        cube = m.tensor([*lead, *(m.rng.choice([3, 4]) for _ in range(3))], dtype)
        yield "max_pool3d", torch.max_pool3d, [cube, kernel, stride, padding, 1, ceil], {}
        yield "avg_pool3d", nn.avg_pool3d, [cube, kernel, stride, padding, ceil, True, None], {}
        yield "adaptive_avg_pool3d", nn.adaptive_avg_pool3d, [cube, m.rng.choice([1, (1, 2, 3)])], {}
        for spatial in (1, 2, 3):
            sizes = [n, channels, *(m.rng.choice([2, 3, 5]) for _ in range(spatial))]
            x = m.tensor(sizes, m.rng.choice([torch.float32, torch.float64]))
            larger = [m.rng.choice([2, 4, 7]) for _ in range(spatial)]
            factors = [m.rng.choice([1.5, 2.0, 0.7]) for _ in range(spatial)]
            how = m.rng.choice([(larger, None), (None, factors)])
            yield f"upsample_nearest{spatial}d", getattr(nn, f"upsample_nearest{spatial}d"), [x, *how], {}
            for name in (("linear1d",), ("bilinear2d", "bicubic2d"), ("trilinear3d",))[spatial - 1]:
                yield f"upsample_{name}", getattr(nn, f"upsample_{name}"), [x, how[0], m.chance(0.5), how[1]], {}
            w = m.tensor([channels, m.rng.choice([1, 2]), *[m.rng.choice([1, 2, 3]) for _ in range(spatial)]], x.dtype,
                         "contiguous")
            x = m.tensor(sizes, x.dtype, m.rng.choice(["contiguous", None]))
            op = getattr(torch, f"conv_transpose{spatial}d")
            step = m.rng.choice([1, 2, 3])
            yield op.__name__, op, [x, w], {}
            yield op.__name__, op, [x, w, m.rng.choice([None, m.tensor([w.shape[1] * groups], x.dtype)]), step,
                                    m.rng.choice([0, 1]), m.rng.choice([0, step - 1]), groups, m.rng.choice([1, 2])], {}
        yield "adaptive_avg_pool1d", torch.adaptive_avg_pool1d, [row, m.rng.choice([1, 2])], {}
        yield "adaptive_avg_pool2d", nn.adaptive_avg_pool2d, [image, m.rng.choice([1, (1, 1), (2, 3)])], {}
