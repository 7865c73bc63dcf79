# SPDX-License-Identifier: GPL-3.0-or-later
"""What the passes of the cpu plan compute ahead of the calls: weights in the forms that libraries want. Raises where the form
would not give the same results; the plan then does without it."""
import torch


def _finite(*tensors):
    for tensor in tensors:
        if not bool(torch.isfinite(tensor).all()):
            raise ValueError("a prepared weight is not finite")
    return tensors


def _terms(mean, var, weight, bias, eps):
    """Scale and shift of a batch norm with given statistics, in float64."""
    scale = torch.rsqrt(var.double() + eps)
    if weight is not None:
        scale = scale * weight.double()
    shift = -mean.double() * scale
    return scale, shift if bias is None else shift + bias.double()


def batch_norm_terms(mean, var, weight, bias, eps, rank):
    """Scale and shift that broadcast over the channels of a tensor of this rank."""
    shape = (-1,) + (1,) * (rank - 2)
    return tuple(t.float().reshape(shape) for t in _finite(*_terms(mean, var, weight, bias, eps)))


def folded_weights(weight, bias, mean, var, scale, shift, eps):
    """Weight and bias of a convolution with the batch norm behind it."""
    factor, rest = _terms(mean, var, scale, shift, eps)
    if bias is not None:
        rest = rest + bias.double() * factor
    made = weight.double() * factor.reshape((-1,) + (1,) * (weight.dim() - 1))
    return _finite(made.float(), rest.float())


def conv_weight(weight, padding, stride, dilation, groups, input_size):
    dense = weight.detach().contiguous().to_mkldnn()
    return torch._C._nn.mkldnn_reorder_conv2d_weight(dense, padding, stride, dilation, groups, input_size)


def with_strides(x, sizes, strides):
    """A copy of `x` that lies in memory as told."""
    return torch.empty_strided(sizes, strides, dtype=x.dtype).copy_(x)


def linear_weight(weight, rows):
    return torch.ops.mkl._mkl_reorder_linear_weight(weight.detach().contiguous(), rows)


def turned_linear_weight(weight, rows):
    """Of a weight [inside, outside]; with it the weight as `linear` wants it."""
    dense = weight.detach().t().clone(memory_format=torch.contiguous_format)
    return linear_weight(dense, rows), dense
