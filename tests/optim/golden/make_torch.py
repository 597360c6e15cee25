"""Write torch.json: trajectories of torch's optimizers, which the tests compare with ours.

    python tests/optim/golden/make_torch.py        (needs torch 2.13, the `bench` extra)

Torch gets its gradients from the same formulas as ours, so that only the optimizers differ.
"""

import json
import sys
from pathlib import Path

import torch

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from optim.problems import PROBLEMS, Problem, trajectory  # noqa: E402
from optim.torch_cases import CASES  # noqa: E402


def follow(problem: Problem, kind: str, settings: dict) -> list[dict]:
    parameters = {name: torch.tensor(x) for name, x in problem.start.items()}
    made = getattr(torch.optim, {"RMSProp": "RMSprop"}.get(kind, kind))
    optimizer = made(parameters.values(), **settings)

    def update(_, gradients):
        for name, parameter in parameters.items():
            parameter.grad = torch.tensor(gradients[name])
        optimizer.step()
        return {name: x.numpy().copy() for name, x in parameters.items()}

    found = trajectory(problem, update)
    return [{name: x.ravel().tolist() for name, x in point.items()} for point in found]


def main() -> None:
    found = {
        case: {name: follow(problem, *settings) for name, problem in PROBLEMS.items()}
        for case, settings in CASES.items()
    }
    version = torch.__version__.partition("+")[0]
    text = json.dumps({"torch": version, "trajectories": found})
    (HERE / "torch.json").write_text(text.replace('"bowl"', '\n"bowl"') + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
