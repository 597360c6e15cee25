"""What a call takes beside its work: programs on few elements, a policy asked for one row, and the
smallest training step.

JAX's calls of sums are those of a jitted function of the same arrays, without waiting for the
result; PyTorch and NumPy take one op, called from Python.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial, reduce
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks import case as it
from benchmarks.case import OURS, Case, Contestant, Run, Times, Within
from benchmarks.networks import NETWORKS, Network, data
from benchmarks.peers import jax_library, jitted, torch_library, torch_tensors
from benchmarks.training import our_step

ELEMENTS = 8
LIMIT = 1e-6  # seconds above the work of a call with ten arrays


# Sums of few elements


def add_up(*arrays: Any) -> Any:
    return reduce(lambda x, y: x + y, arrays)


def in_trees(tree: Any) -> Any:
    return add_up(tree["a"], *tree["b"], tree["c"]["d"])


def arrays_for(count: int) -> list[np.ndarray]:
    return [np.full(ELEMENTS, i + 1, np.float32) for i in range(count)]


def trees_for(count: int) -> tuple[dict[str, Any]]:
    first, *rest, last = arrays_for(count)
    return ({"a": first, "b": rest, "c": {"d": last}},)


Arguments = Callable[[int], Sequence[Any]]


def ours(function: Callable[..., Any], arguments: Arguments, count: int) -> Run:
    import wengert as wg

    return partial(wg.compile(function), *arguments(count))


def with_jax(function: Callable[..., Any], arguments: Arguments, count: int) -> Run:
    jax = jax_library()
    return partial(jax.jit(function), *jax.device_put(tuple(arguments(count))))


def torch_add() -> Run:
    torch = torch_library()
    return partial(torch.add, *torch_tensors(arrays_for(2)))


def numpy_add() -> Run:
    return partial(np.add, *arrays_for(2))


def sum_case(name: str, function: Callable[..., Any], arguments: Arguments, count: int) -> Case:
    makers: dict[str, Contestant] = {
        OURS: it.ours(partial(ours, function, arguments, count)),
        "JAX jit": it.jax(partial(with_jax, function, arguments, count)),
    }
    if count == 2:
        makers |= {"torch add": it.torch(torch_add), "NumPy add": it.numpy(numpy_add)}
    goals = (Times(3, "JAX"),) if name == "10 arrays" else ()
    measures = f"sum of {name} of {ELEMENTS} numbers each"
    return Case(f"call {name}", measures, makers, goals)


def above_the_work(count: int) -> Run:
    """Seconds of a call less those of the program inside it, which has clocks of its own."""
    import wengert as wg

    arrays = arrays_for(count)
    step = wg.compile(add_up)
    work = float(step.executable(*arrays).profile(*arrays).seconds)
    repeats = 1000

    def run() -> float:
        times = []
        for _ in range(20):
            start = time.perf_counter()
            for _ in range(repeats):
                step(*arrays)
            times.append((time.perf_counter() - start) / repeats)
        return max(min(times) - work, 0.0)

    return run


# A policy, on the live parameters of a training step


def outputs(tanh: Any, parameters: Sequence[Any], x: Any) -> Any:
    """What the network says to an input, with a library's function."""
    w1, b1, w2, b2, w3, b3 = parameters
    return tanh(tanh(x @ w1 + b1) @ w2 + b2) @ w3 + b3


def row_of(network: Network) -> np.ndarray:
    _, x, _ = data(network)
    return x[:1].copy()


def bound(network: Network) -> Run:
    import wengert as wg

    step = our_step(network)
    return partial(step.bind(lambda p, x: outputs(wg.tanh, p, x)), row_of(network))


def policy_in_jax(network: Network, from_numpy: bool) -> Run:
    jax = jax_library()
    parameters, x = jax.device_put(data(network)[0]), row_of(network)
    function = partial(outputs, jax.numpy.tanh)
    if not from_numpy:
        return jitted(function, parameters, x)
    act = jax.jit(function)
    return lambda: np.asarray(act(parameters, x))


def policy_in_torch(network: Network, from_numpy: bool) -> Run:
    """With functions, on parameters that are not differentiated: the least it can do."""
    torch = torch_library()
    parameters, x = torch_tensors(data(network)[0]), row_of(network)
    if from_numpy:
        return lambda: outputs(torch.tanh, parameters, torch.from_numpy(x)).numpy()
    (given,) = torch_tensors([x])
    return lambda: outputs(torch.tanh, parameters, given)


def policy_in_module(network: Network) -> Run:
    """As most people write it: layers, asked without gradients, from NumPy to NumPy."""
    torch = torch_library()
    arrays, *_ = data(network)
    layers: list[Any] = []
    for i, o in pairwise(network.sizes):
        w, b = arrays[len(layers) : len(layers) + 2]
        linear = torch.nn.Linear(i, o)
        with torch.no_grad():
            linear.weight.copy_(torch.tensor(w.T))
            linear.bias.copy_(torch.tensor(b))
        layers += [linear, torch.nn.Tanh()]
    net, x = torch.nn.Sequential(*layers[:-1]), row_of(network)

    def run() -> object:
        with torch.no_grad():
            return net(torch.from_numpy(x)).numpy()

    return run


def policy_in_numpy(network: Network) -> Run:
    parameters, x = data(network)[0], row_of(network)
    return lambda: outputs(np.tanh, parameters, x)


def policy_case(network: Network, from_numpy: bool) -> Case:
    makers = {
        OURS: it.ours(partial(bound, network)),
        "JAX jit": it.jax(partial(policy_in_jax, network, from_numpy)),
        "torch": it.torch(partial(policy_in_torch, network, from_numpy)),
        "NumPy": it.numpy(partial(policy_in_numpy, network)),
    }
    if from_numpy:
        makers["torch nn.Module"] = it.torch(partial(policy_in_module, network))
    way = "from NumPy to NumPy" if from_numpy else "each library's own arrays"
    sizes = "-".join(map(str, network.sizes))
    return Case(
        f"bound call, {way}",
        f"one row through {sizes}: step.bind, {way}",
        makers,
        (Times(5, "JAX"), Times(20, "torch")),
    )


# The smallest training step


def smallest_step() -> Run:
    import wengert as wg

    step = wg.TrainStep(lambda w, x: w * x, np.float32(1), wg.optim.SGD(1e-9))
    x = np.float32(1)
    first = float(step(x))

    def run() -> float:
        step(x)
        return first

    return run


def smallest_in_jax() -> Run:
    jax = jax_library()
    rate = np.float32(1e-9)

    def step(w: Any, x: Any) -> tuple[Any, Any]:
        value, g = jax.value_and_grad(lambda w: w * x)(w)
        return w - rate * g, value

    compiled = jax.jit(step, donate_argnums=0)
    w, x = jax.device_put((np.float32(1), np.float32(1)))

    def run() -> Any:
        nonlocal w
        w, value = jax.block_until_ready(compiled(w, x))
        return value

    return run


def smallest_in_torch() -> Run:
    torch = torch_library()
    w, x = torch.tensor(1.0, requires_grad=True), torch.tensor(1.0)
    sgd = torch.optim.SGD([w], 1e-9)

    def run() -> Any:
        sgd.zero_grad()
        value = w * x
        value.backward()
        sgd.step()
        return value

    return run


SMALLEST = Case(
    "call smallest step",
    "training step of one number by SGD: what a step costs beside its work",
    {
        OURS: it.ours(smallest_step),
        "JAX jit": it.jax(smallest_in_jax),
        "torch": it.torch(smallest_in_torch),
    },
)
ABOVE = Case(
    "call above the work",
    "sum of 10 arrays of 8 numbers: the time of a call less that of its program",
    {OURS: it.ours(partial(above_the_work, 10))},
    (Within(LIMIT),),
    tolerance=None,
    reports=True,
)
CASES = (
    sum_case("1 array", add_up, arrays_for, 1),
    sum_case("2 arrays", add_up, arrays_for, 2),
    sum_case("10 arrays", add_up, arrays_for, 10),
    sum_case("10 arrays in a tree", in_trees, trees_for, 10),
    ABOVE,
    SMALLEST,
    policy_case(NETWORKS["tiny"], from_numpy=False),
    policy_case(NETWORKS["tiny"], from_numpy=True),
)
