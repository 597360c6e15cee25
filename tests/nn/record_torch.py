"""Record what torch computes, for `test_torch_names.py`: state_dicts, inputs and outputs as JSON.

Run by hand, with torch 2.13.0 installed: python tests/nn/record_torch.py
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

RECORDED = Path(__file__).with_name("torch_outputs.json")


def models() -> dict[str, tuple[Any, tuple[int, ...]]]:
    """Each with the shape of its input."""
    return {
        "linear": (nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)), (5, 3)),
        "conv1d": (nn.Conv1d(2, 3, 3, padding=2, dilation=2), (2, 2, 7)),
        "conv2d": (nn.Conv2d(2, 3, 3, stride=2, padding=1), (2, 2, 5, 6)),
        "conv2d in groups": (nn.Conv2d(4, 6, (3, 1), groups=2, bias=False), (1, 4, 5, 3)),
        "conv3d": (nn.Conv3d(1, 2, 2), (1, 1, 3, 3, 4)),
        "conv_transpose1d": (nn.ConvTranspose1d(2, 3, 4, stride=3, padding=1), (2, 2, 4)),
        "conv_transpose2d": (
            nn.ConvTranspose2d(4, 2, 3, stride=2, padding=1, output_padding=1, groups=2),
            (1, 4, 3, 2),
        ),
        "layer_norm": (nn.LayerNorm((2, 3)), (4, 2, 3)),
        "rms_norm": (nn.RMSNorm(5, eps=1e-6), (3, 5)),
        "group_norm": (nn.GroupNorm(2, 4), (2, 4, 3)),
        "instance_norm": (nn.InstanceNorm2d(3, affine=True), (2, 3, 2, 4)),
        "batch_norm": (nn.BatchNorm2d(3), (2, 3, 2, 4)),
        "convnet": (
            nn.Sequential(
                nn.Conv2d(1, 3, 3, padding=1),
                nn.ReLU(),
                nn.MaxPool2d(2),
                nn.Conv2d(3, 4, 3, padding="same"),
                nn.GroupNorm(2, 4),
                nn.AvgPool2d(2, stride=1, padding=1),
                nn.AdaptiveAvgPool2d(2),
                nn.Flatten(),
                nn.Linear(16, 2),
            ),
            (2, 1, 6, 7),
        ),
    }


def shaken(model: Any, draw: Callable[..., Any]) -> None:
    """Parameters and statistics that are neither zero nor one."""
    with torch.no_grad():
        for name, x in model.state_dict().items():
            if x.dtype.is_floating_point:
                x += 0.3 * draw(x.shape).abs() if "var" in name else 0.3 * draw(x.shape)


def recorded() -> dict[str, Any]:
    generator = torch.Generator().manual_seed(0)

    def draw(shape: Any) -> Any:
        # Of few digits, for a small file.
        return torch.round(torch.randn(*shape, generator=generator), decimals=2)

    found = {}
    for name, (model, shape) in models().items():
        shaken(model, draw)
        with torch.no_grad():
            for x in model.parameters():
                x.copy_(torch.round(x, decimals=3))
        x = draw(shape)
        model.eval()
        arrays = {key: value.tolist() for key, value in model.state_dict().items()}
        found[name] = {"tensors": arrays, "x": x.tolist(), "y": model(x).tolist()}
    return {"torch": torch.__version__.partition("+")[0], "models": found}


if __name__ == "__main__":
    RECORDED.write_text(json.dumps(recorded(), indent=None, separators=(",", ":")) + "\n")
