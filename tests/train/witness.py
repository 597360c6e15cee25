"""A step whose state shows whether its parts belong together."""

import numpy as np

import wengert as wg

ROWS = np.ones((64, 1))


def loss(model, state, x):
    return wg.mean(x) * wg.sum(model["w"]), {"seen": state["seen"] + 1}


def make(accumulate=1, **options):
    return wg.TrainStep(
        loss,
        {"w": np.zeros(3), "v": np.zeros(2, np.float32)},
        {"v": wg.optim.SGD(1.0), "*": wg.optim.SGD(1.0, momentum=0.0)},
        state={"seen": np.zeros(())},
        accumulate=accumulate,
        **options,
    )


def require_whole(state, accumulate=1):
    """Every call adds 1 to what the state has seen, and every update takes 1 from the weights; how
    many calls the state is that after.
    """
    counts, arrays = state["counts"], state["arrays"]
    calls = counts["calls"]
    assert counts["updates"] == calls // accumulate
    assert counts["phase"] == calls % accumulate
    assert arrays["state"]["seen"] == calls
    np.testing.assert_array_equal(arrays["model"]["w"], -(calls // accumulate))
    if accumulate > 1 and counts["phase"]:
        expected = counts["phase"] / accumulate
        np.testing.assert_array_equal(arrays["gradients"]["w"], expected)
    return calls
