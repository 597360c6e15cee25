"""check_grads: what it moves, and what it leaves as it is."""

import numpy as np

import wengert as wg


def test_numbers_in_layers_and_trees_are_settings():
    x = np.ones((2, 3)) * [1, 2, 4]
    wg.check_grads(lambda f: wg.sum(wg.sin(f(x))), [wg.nn.LayerNorm(3, dtype=np.float64)])
    wg.check_grads(lambda m, y: wg.sum(m["w"]) * m["rate"] * y, [{"w": x, "rate": 2.0}, 3.0])
