# SPDX-License-Identifier: GPL-3.0-or-later
"""A small convolutional classifier with one residual stage: nothing breaks."""
import torch
from torch import nn
from torch.nn import functional as F


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        y = self.norm2(self.conv2(y))
        return F.relu(x + y)


class Classifier(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, stride=2, padding=1)
        self.stage = nn.Sequential(Residual(16), Residual(16))
        self.grow = nn.Conv2d(16, 32, 3, stride=2, padding=1)
        self.head = nn.Linear(32, classes)

    def forward(self, images):
        # Contrast of each image, as a chain of pointwise operations.
        x = (images - images.mean(dim=(2, 3), keepdim=True)) * 2.0
        x = torch.clamp(x, -3.0, 3.0)
        x = F.max_pool2d(F.relu(self.stem(x)), 2)
        x = self.stage(x)
        x = F.silu(self.grow(x))
        x = x.mean(dim=(2, 3))
        return F.log_softmax(self.head(x), dim=1)


def main():
    torch.manual_seed(0)
    model = Classifier().eval()
    classify = torch.compile(model)
    images = torch.rand(8, 3, 64, 64)
    with torch.no_grad():
        for _ in range(3):
            scores = classify(images)
    print("output", tuple(scores.shape))


if __name__ == "__main__":
    main()
