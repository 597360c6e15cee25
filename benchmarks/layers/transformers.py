"""Transformers, decoder only, with norms in front: an attention block, a stack of whole blocks, and
the generation of one word through the cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.case import Run
from benchmarks.layers.layer_steps import (
    given_and_wanted,
    jax_layer_step,
    our_layer_step,
    torch_layer_step,
    torch_parameters,
    weights,
)
from benchmarks.peers import (
    jax_cross_entropy,
    jax_layer_norm,
    jax_library,
    torch_library,
    torch_tensors,
)

EPS = 1e-5


@dataclass(frozen=True)
class Stack:
    """Sizes of a stack of blocks, and of a batch. With no layers it is one block of attention."""

    layers: int = 6
    width: int = 256
    heads: int = 8
    words: int = 256
    length: int = 128
    batch: int = 16

    def __str__(self) -> str:
        return f"{self.width} wide, {self.heads} heads, context {self.length}, batch {self.batch}"

    def attention(self, rng: np.random.Generator, name: str) -> dict[str, np.ndarray]:
        width = self.width
        return {
            **norm(f"{name}attention_norm", width),
            f"{name}attention.in_proj_weight": weights(rng, 3 * width, width),
            f"{name}attention.in_proj_bias": np.zeros(3 * width, np.float32),
            f"{name}attention.out_proj.weight": weights(rng, width, width),
            f"{name}attention.out_proj.bias": np.zeros(width, np.float32),
        }

    def arrays(self) -> dict[str, np.ndarray]:
        rng, width = np.random.default_rng(0), self.width
        if not self.layers:
            return self.attention(rng, "")
        by_name = {"words": weights(rng, self.words, width)}
        by_name["places"] = 0.1 * weights(rng, self.length, width)
        for i in range(self.layers):
            name = f"blocks.{i}."
            by_name |= self.attention(rng, name) | norm(f"{name}norm", width)
            by_name[f"{name}up.weight"] = weights(rng, 4 * width, width)
            by_name[f"{name}up.bias"] = np.zeros(4 * width, np.float32)
            by_name[f"{name}down.weight"] = weights(rng, width, 4 * width)
            by_name[f"{name}down.bias"] = np.zeros(width, np.float32)
        return by_name | norm("norm", width)

    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Inputs and wanted outputs of the attention block."""
        return given_and_wanted(self.batch, self.length, self.width)

    def text(self) -> tuple[np.ndarray, np.ndarray]:
        """Words, and the ones that follow them."""
        rng = np.random.default_rng(1)
        words = rng.integers(0, self.words, (self.batch, self.length + 1))
        return words[:, :-1].copy(), words[:, 1:].copy()


def norm(name: str, width: int) -> dict[str, np.ndarray]:
    ones, zeros = np.ones(width, np.float32), np.zeros(width, np.float32)
    return {f"{name}.weight": ones, f"{name}.bias": zeros}


# Ours


def our_blocks(stack: Stack) -> dict[str, Any]:
    import wengert as wg

    nn = wg.nn
    arrays = stack.arrays()
    model = {
        "words": arrays["words"],
        "places": arrays["places"],
        "blocks": [
            nn.TransformerBlock(stack.width, stack.heads, causal=True) for _ in range(stack.layers)
        ],
        "norm": nn.LayerNorm(stack.width),
    }
    return nn.from_torch_names(model, arrays)


def our_text_loss(model: Any, x: Any, y: Any) -> Any:
    import wengert as wg

    h = model["words"][x] + model["places"]
    for block in model["blocks"]:
        h = block(h)
    logits = model["norm"](h) @ model["words"].T
    return wg.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1))


def ours(stack: Stack) -> Run:
    return our_layer_step(our_text_loss, our_blocks(stack), stack.text())


def our_attention(stack: Stack) -> Run:
    import wengert as wg

    nn = wg.nn
    made = {
        "attention_norm": nn.LayerNorm(stack.width),
        "attention": nn.MultiheadAttention(stack.width, stack.heads, causal=True),
    }

    def loss(model: Any, x: Any, wanted: Any) -> Any:
        y = x + model["attention"](model["attention_norm"](x))
        return wg.mean((y - wanted) ** 2)

    return our_layer_step(loss, nn.from_torch_names(made, stack.arrays()), stack.rows())


# JAX


def jax_attention(stack: Stack, arrays: Any, x: Any, name: str = "") -> Any:
    jax = jax_library()
    jnp = jax.numpy
    batch, length, width = x.shape
    future = np.triu(np.full((length, length), -np.inf, np.float32), 1)
    h = jax_norm(x, arrays, f"{name}attention_norm")
    h = h @ arrays[f"{name}attention.in_proj_weight"].T + arrays[f"{name}attention.in_proj_bias"]
    h = jnp.reshape(h, (batch, length, 3, stack.heads, width // stack.heads))
    q, k, v = jnp.transpose(h, (2, 0, 3, 1, 4))
    scores = q @ jnp.swapaxes(k, -1, -2) / np.float32(np.sqrt(width // stack.heads))
    y = jax.nn.softmax(scores + future) @ v
    y = jnp.reshape(jnp.swapaxes(y, 1, 2), (batch, length, width))
    w, b = (arrays[f"{name}attention.out_proj.{each}"] for each in ("weight", "bias"))
    return x + y @ w.T + b


def jax_norm(x: Any, arrays: Any, name: str) -> Any:
    return jax_layer_norm(x, arrays[f"{name}.weight"], arrays[f"{name}.bias"], EPS)


def attention_in_jax(stack: Stack) -> Run:
    jnp = jax_library().numpy

    def loss(arrays: Any, x: Any, wanted: Any) -> Any:
        return jnp.mean((jax_attention(stack, arrays, x) - wanted) ** 2)

    return jax_layer_step(loss, stack.arrays(), stack.rows())


def in_jax(stack: Stack) -> Run:
    jax = jax_library()

    def loss(arrays: Any, x: Any, y: Any) -> Any:
        h = arrays["words"][x] + arrays["places"]
        for i in range(stack.layers):
            name = f"blocks.{i}."
            h = jax_attention(stack, arrays, h, name)
            inner = jax_norm(h, arrays, f"{name}norm") @ arrays[f"{name}up.weight"].T
            inner = jax.nn.gelu(inner + arrays[f"{name}up.bias"], approximate=False)
            h = h + inner @ arrays[f"{name}down.weight"].T + arrays[f"{name}down.bias"]
        return jax_cross_entropy(jax_norm(h, arrays, "norm") @ arrays["words"].T, y)

    return jax_layer_step(loss, stack.arrays(), stack.text())


# PyTorch


def torch_attention(stack: Stack, arrays: Any, x: Any, name: str = "", cache: Any = None) -> Any:
    """With a cache, x is one position, which is written into it."""
    of = torch_library().nn.functional
    batch, length, width = x.shape
    h = torch_norm(stack, x, arrays, f"{name}attention_norm")
    weight, bias = (arrays[f"{name}attention.in_proj_{each}"] for each in ("weight", "bias"))
    h = of.linear(h, weight, bias).view(batch, length, 3, stack.heads, width // stack.heads)
    q, k, v = h.permute(2, 0, 3, 1, 4).unbind()
    if cache is not None:
        taken, keys, values = cache
        keys[:, :, taken], values[:, :, taken] = k[:, :, 0], v[:, :, 0]
        k, v = keys[:, :, : taken + 1], values[:, :, : taken + 1]
    y = of.scaled_dot_product_attention(q, k, v, is_causal=cache is None)
    y = y.transpose(1, 2).reshape(batch, length, width)
    weight, bias = (arrays[f"{name}attention.out_proj.{each}"] for each in ("weight", "bias"))
    return x + of.linear(y, weight, bias)


def torch_norm(stack: Stack, x: Any, arrays: Any, name: str) -> Any:
    of = torch_library().nn.functional
    return of.layer_norm(x, (stack.width,), arrays[f"{name}.weight"], arrays[f"{name}.bias"], EPS)


def torch_blocks(stack: Stack, arrays: Any, h: Any, caches: Any = None) -> Any:
    """Logits of what the words and places are."""
    of = torch_library().nn.functional
    for i in range(stack.layers):
        name = f"blocks.{i}."
        h = torch_attention(stack, arrays, h, name, None if caches is None else caches[i])
        inner = torch_norm(stack, h, arrays, f"{name}norm")
        inner = of.gelu(of.linear(inner, arrays[f"{name}up.weight"], arrays[f"{name}up.bias"]))
        h = h + of.linear(inner, arrays[f"{name}down.weight"], arrays[f"{name}down.bias"])
    return of.linear(torch_norm(stack, h, arrays, "norm"), arrays["words"])


def attention_in_torch(stack: Stack) -> Run:
    arrays = torch_parameters(stack.arrays())

    def loss(x: Any, wanted: Any) -> Any:
        return (torch_attention(stack, arrays, x) - wanted).square().mean()

    return torch_layer_step(loss, list(arrays.values()), torch_tensors(stack.rows()))


def in_torch(stack: Stack) -> Run:
    of = torch_library().nn.functional
    arrays = torch_parameters(stack.arrays())

    def loss(x: Any, y: Any) -> Any:
        logits = torch_blocks(stack, arrays, arrays["words"][x] + arrays["places"])
        return of.cross_entropy(logits.flatten(0, 1), y.flatten())

    return torch_layer_step(loss, list(arrays.values()), torch_tensors(stack.text()))


# Generation: the last word of a context


def our_word(stack: Stack) -> Run:
    import wengert as wg

    model = our_blocks(stack)
    caches = [block.cache(stack.length, batch=1) for block in model["blocks"]]
    (text, _), taken = stack.text(), stack.length - 1

    def logits(model: Any, h: Any, caches: Any, way: str) -> tuple[Any, Any]:
        after = []
        for block, cache in zip(model["blocks"], caches, strict=True):
            h, kept = getattr(block, way)(h, cache)
            after.append(kept)
        return model["norm"](h) @ model["words"].T, after

    def prompt(model: Any, words: Any, caches: Any) -> Any:
        h = model["words"][words] + model["places"][: words.shape[1]]
        return logits(model, h, caches, "extend")[1]

    def one(model: Any, word: Any, caches: Any) -> tuple[Any, Any]:
        place = caches[0].length
        return logits(model, model["words"][word] + model["places"][place], caches, "step")

    caches = wg.compile(prompt)(model, text[:1, :taken], caches)
    step = wg.compile(one, donate="caches")
    word = text[:1, taken]

    def run() -> Any:
        for cache in caches:
            cache.length[...] = taken
        return step(model, word, caches)[0]

    return run


def word_in_torch(stack: Stack) -> Run:
    torch = torch_library()
    arrays = {name: torch.tensor(x) for name, x in stack.arrays().items()}
    (text, _), taken = stack.text(), stack.length - 1
    words = torch.tensor(text[:1])
    shape = (1, stack.heads, stack.length, stack.width // stack.heads)
    rooms = [(torch.zeros(shape), torch.zeros(shape)) for _ in range(stack.layers)]

    def at(place: int) -> Any:
        with torch.inference_mode():
            h = (arrays["words"][words[:, place]] + arrays["places"][place])[:, None]
            return torch_blocks(stack, arrays, h, [(place, *room) for room in rooms])[:, 0]

    for place in range(taken):
        at(place)
    return lambda: at(taken)
