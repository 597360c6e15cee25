"""Record what torch computes, for `test_torch_names.py`: state_dicts, inputs and outputs as JSON.

Run by hand, with torch 2.13.0 installed: python tests/nn/record_torch.py
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
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


class Named(nn.Module):
    """A layer under a name, whose call is a function of it and x."""

    def __init__(self, name: str, layer: Any, call: Callable[[Any, Any], Any]) -> None:
        super().__init__()
        setattr(self, name, layer)
        self.call = lambda x: call(layer, x)

    def forward(self, x: Any) -> Any:
        return self.call(x)


def sequence_models() -> dict[str, tuple[Any, tuple[int, ...]]]:
    """Recurrent layers, time first: outputs, and the last states behind them. Attention of x to
    itself: all to all, in order, and with a table that is added to the scores.
    """

    def recurrent(layer: Any, x: Any) -> Any:
        hs, last = layer(x)
        return torch.cat([hs, *(last if isinstance(last, tuple) else (last,))])

    def attending(mask: Any) -> Any:
        return lambda layer, x: layer(x, x, x, attn_mask=mask, need_weights=False)[0]

    def attention() -> Any:
        return nn.MultiheadAttention(6, 2, batch_first=True)

    after = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
    added = torch.arange(25.0).reshape(5, 5) / 10
    return {
        "rnn": (nn.RNN(3, 4), (5, 2, 3)),
        "rnn with relu": (nn.RNN(3, 4, nonlinearity="relu"), (5, 2, 3)),
        "lstm": (Named("layer", nn.LSTM(3, 4), recurrent), (5, 2, 3)),
        "gru": (Named("layer", nn.GRU(3, 4), recurrent), (5, 2, 3)),
        "gru of one sequence": (Named("layer", nn.GRU(2, 3), recurrent), (17, 1, 2)),
        "bidirectional lstm": (nn.LSTM(3, 2, bidirectional=True), (5, 2, 3)),
        "attention": (Named("layer", attention(), attending(None)), (2, 5, 6)),
        "causal attention": (Named("layer", attention(), attending(after)), (2, 5, 6)),
        "attention with a mask": (Named("layer", attention(), attending(added)), (2, 5, 6)),
    }


def shaken(model: Any, draw: Callable[..., Any]) -> None:
    """Parameters and statistics that are neither zero nor one."""
    with torch.no_grad():
        for name, x in model.state_dict().items():
            if x.dtype.is_floating_point:
                x += 0.3 * draw(x.shape).abs() if "var" in name else 0.3 * draw(x.shape)


def outputs(found: Any) -> Any:
    """Those of a recurrent layer without its last state."""
    return found[0] if isinstance(found, tuple) else found


def digits(x: Any) -> Any:
    """Numbers in lists, with as many digits as float32 needs to be read back."""
    if isinstance(x, list):
        return [digits(each) for each in x]
    return float(str(np.float32(x))) if isinstance(x, float) else x


def recorded() -> dict[str, Any]:
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)

    def draw(shape: Any) -> Any:
        # Of few digits, for a small file.
        return torch.round(torch.randn(*shape, generator=generator), decimals=2)

    found = {}
    for name, (model, shape) in (models() | sequence_models()).items():
        shaken(model, draw)
        with torch.no_grad():
            for x in model.parameters():
                x.copy_(torch.round(x, decimals=3))
        x = draw(shape)
        model.eval()
        arrays = {key: digits(value.tolist()) for key, value in model.state_dict().items()}
        y = digits(outputs(model(x)).tolist())
        found[name] = {"tensors": arrays, "x": digits(x.tolist()), "y": y}
    return {"torch": torch.__version__.partition("+")[0], "models": found}


if __name__ == "__main__":
    RECORDED.write_text(json.dumps(recorded(), indent=None, separators=(",", ":")) + "\n")
