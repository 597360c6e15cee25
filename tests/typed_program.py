"""A program as users write it, for the type checker: `make check` holds the stubs against it.

An ignored error must be one: a name that a function has not is found before the program runs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import wengert as wg

x = np.ones((3, 4), np.float32)


def loss(model: wg.nn.Sequential, x: Any, y: Any) -> Any:
    return wg.cross_entropy(model(x), y, axis=-1)


total = wg.sum(x, axis=0, keepdims=True)
wg.sum(x, dim=0)  # type: ignore[call-arg]
wg.sum(x, axis="first")  # type: ignore[arg-type]
wg.softmax(x, axis=-1)
wg.concat([x, x], axis=1)
wg.scan(lambda c, x: (c, x), 0.0, x, reverse=True)
wg.scan(lambda c, x: (c, x), 0.0, x, unroll=2)  # type: ignore[call-arg]
wg.linalg.solve(np.eye(2), np.ones(2))
wg.linalg.norm(x, axis=0)
wg.random.normal(wg.random.key(0), (3,))
wg.random.Generator(wg.random.key(0)).normal((3,))
wg.no_such_function(x)  # type: ignore[attr-defined]
wg.nn.Linear(4, 3, bias=False)
wg.nn.Linear(4, 3, biased=False)  # type: ignore[call-arg]
model = wg.nn.Sequential(wg.nn.Linear(4, 3), "relu")
step = wg.TrainStep(loss, model, wg.optim.Adam(learning_rate=1e-3), clip_norm=1.0)
wg.optim.Lars(learning_rate=0.1)
wg.optim.Adam(rate=0.1)  # type: ignore[call-arg]
step.run(x, np.zeros(3, int), batch_size=2)
history = wg.train.fit(step, (x, np.zeros(3, int)), epochs=1, batch_size=2, validation=0.5)
wg.train.fit(step, (x,), epochs=1, batchsize=2)  # type: ignore[call-arg]
history.plot().save("curves.svg")
wg.grad(loss)(model, x, np.zeros(3, int))
wg.tree.map(np.shape, model)
wg.errors.WengertWarning("")
