# SPDX-License-Identifier: GPL-3.0-or-later
"""torchvision and torchaudio beside a CPU-only PyTorch: their own libraries may not load there, and the import fails.
The Python model code needs the operators' names and non-maximum suppression only; both are given here."""

import importlib.util
import pathlib
import sys

import torch

VISION_OPERATORS = """
nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor
qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor
roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, int sampling_ratio, bool aligned) -> Tensor
qroi_align(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int pooled_width, int sampling_ratio, bool aligned) -> Tensor
_roi_align_backward(Tensor x) -> Tensor
roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width) -> (Tensor, Tensor)
_roi_pool_backward(Tensor x) -> Tensor
ps_roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, int sampling_ratio) -> (Tensor, Tensor)
_ps_roi_align_backward(Tensor x) -> Tensor
ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width) -> (Tensor, Tensor)
_ps_roi_pool_backward(Tensor x) -> Tensor
deform_conv2d(Tensor x) -> Tensor
_deform_conv2d_backward(Tensor x) -> Tensor
box_iou_rotated(Tensor boxes1, Tensor boxes2) -> Tensor
_cuda_version() -> int
"""

kept = []  # libraries of operators live as long as this list


def suppress(boxes, scores, threshold):
    """Non-maximum suppression: the indices kept, best score first."""
    order = scores.argsort(descending=True, stable=True)
    low, high = boxes[:, :2], boxes[:, 2:]
    area = (high - low).prod(1)
    chosen = []
    while order.numel():
        best, order = order[0], order[1:]
        chosen.append(best)
        shared = (torch.minimum(high[best], high[order]) - torch.maximum(low[best], low[order])).clamp(min=0).prod(1)
        order = order[shared / (area[best] + area[order] - shared) <= threshold]
    return torch.stack(chosen) if chosen else boxes.new_zeros(0, dtype=torch.long)


def loads(package):
    """Whether it can be imported as it is; if not, what was imported of it is forgotten."""
    try:
        importlib.import_module(package)
        return True
    except (RuntimeError, OSError):
        for name in [n for n in sys.modules if n.partition(".")[0] == package]:
            del sys.modules[name]
        return False


def install():
    """Makes both importable where they are installed."""
    if importlib.util.find_spec("torchvision") and not loads("torchvision"):
        library = torch.library.Library("torchvision", "FRAGMENT")
        for line in VISION_OPERATORS.strip().splitlines():
            library.define(line)
        library.impl("nms", suppress, "CPU")
        kept.append(library)
        ops = importlib.import_module("torchvision").ops
        ops.boxes._assert_has_ops = lambda: None
        # Without its own kernel the package compiles this function with PyTorch's compiler; here it is plain Python in every leg.
        align = importlib.import_module("torchvision.ops.roi_align")
        align._roi_align = align._roi_align.__wrapped__
    if importlib.util.find_spec("torchaudio") and not loads("torchaudio"):
        search = pathlib.Path.glob
        pathlib.Path.glob = lambda path, pattern, **more: iter(()) if "torchaudio" in pattern else search(path, pattern, **more)
        try:
            importlib.import_module("torchaudio")
        finally:
            pathlib.Path.glob = search
