"""Write torch_lbfgs.json: trajectories of torch.optim.LBFGS, which the tests compare with ours.

    python tests/optim/golden/make_torch_lbfgs.py        (needs torch 2.13, the `bench` extra)

Torch gets values and gradients from the same formulas as ours, so that only the searches differ.
"""

import json
import sys
from pathlib import Path

import torch

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from optim.lbfgs_problems import CASES, KEPT, PROBLEMS, STEPS, Problem  # noqa: E402


def follow(problem: Problem, settings: dict) -> list[list[float]]:
    parameters = {name: torch.tensor(x) for name, x in problem.start.items()}
    optimizer = torch.optim.LBFGS(parameters.values(), **settings)

    def closure():
        value, gradients = problem.value_and_grad({n: x.numpy() for n, x in parameters.items()})
        for name, parameter in parameters.items():
            parameter.grad = torch.tensor(gradients[name])
        return torch.tensor(value, dtype=torch.float64)

    found = []
    for step in range(1, STEPS + 1):
        optimizer.step(closure)
        if step in KEPT:
            found.append([float(x) for p in parameters.values() for x in p.ravel()])
    return found


def main() -> None:
    found = {
        case: {name: follow(problem, settings) for name, problem in PROBLEMS.items()}
        for case, settings in CASES.items()
    }
    text = json.dumps({"torch": torch.__version__.split("+")[0], "trajectories": found})
    path = HERE / "torch_lbfgs.json"
    path.write_text(text.replace('"valley"', '\n"valley"') + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
