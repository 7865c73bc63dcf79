# SPDX-License-Identifier: GPL-3.0-or-later
"""Library calls that passes of the cpu plan put in place of several operations, with the operations themselves for operands on
which the two would differ."""
import torch
from torch.nn.functional import scaled_dot_product_attention as fused


def _four(x):
    return x if x.dim() == 4 else x.unsqueeze(0)


def _spread(mask, q, kt):
    full = mask.expand(*q.shape[:-1], kt.shape[-1])
    return full if q.dim() == 4 else full.unsqueeze(0)


def _attend(q, kt, v, mask, scale):
    out = fused(_four(q), _four(kt).transpose(-1, -2), _four(v), attn_mask=mask, scale=scale)
    return out if q.dim() == 4 else out.squeeze(0)


def attention(q, kt, v, scale):
    """softmax(q @ kt * scale) @ v"""
    return _attend(q, kt, v, None, scale)


def _written(scores, v, like):
    return like.copy_(torch.matmul(torch.softmax(scores, -1), v))


def _like(q, v):
    """Memory as the fused call lays it out: heads inside of the sequence."""
    *lead, length, size = *q.shape[:-1], v.shape[-1]
    if len(lead) == 1:
        return q.new_empty(length, lead[0], size).transpose(0, 1)
    return q.new_empty(lead[0], length, lead[1], size).transpose(1, 2)


def attention_added(q, kt, v, mask, scale):
    """softmax(q @ kt * scale + mask) @ v. A row of the mask that is -inf throughout gives NaN here and zeros there."""
    if not float(mask.min()) > -torch.inf:
        return _written(torch.matmul(q, kt) * scale + mask, v, _like(q, v))
    return _attend(q, kt, v, _spread(mask, q, kt), scale)


def _chosen(q, kt, v, keep, scores, value, scale):
    if not bool(keep.any(-1).all()):
        return _written(torch.where(keep, scores(), value), v, _like(q, v))
    return _attend(q, kt, v, _spread(keep, q, kt), scale)


def attention_kept(q, kt, v, keep, value, scale):
    """softmax(where(keep, q @ kt * scale, value)) @ v, where `value` is so low that it counts for nothing beside a kept one."""
    return _chosen(q, kt, v, keep, lambda: torch.matmul(q, kt) * scale, value, scale)


def attention_filled(q, kt, v, drop, value, scale):
    """The same with masked_fill(…, drop, value)."""
    return _chosen(q, kt, v, ~drop, lambda: torch.matmul(q, kt) * scale, value, scale)
