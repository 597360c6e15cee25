"""What the learners of reinforcement learning take: rounds of PPO, and updates of SAC."""

from __future__ import annotations

from functools import partial

from benchmarks import case as it
from benchmarks.case import OURS, Case, Times
from benchmarks.reinforcement import Learning, our_ppo, our_sac, torch_ppo, torch_sac

GOAL = Times(5, "torch")
PPO = Learning(64, 256)
SAC = {"": Learning(64, 128), ", wide": Learning(256, 256)}


def ppo_case(learning: Learning) -> Case:
    count = learning.epochs * -(-learning.rows // learning.batch)
    return Case(
        "PPO learner",
        f"{count} updates of PPO's networks 4-{learning.width}-{learning.width}, minibatches of "
        f"{learning.batch}: what is learned from {learning.rows} steps",
        {
            OURS: it.ours(partial(our_ppo, learning)),
            "torch foreach": (foreach := it.torch(partial(torch_ppo, learning, "foreach"))),
            "torch fused": (fused := it.torch(partial(torch_ppo, learning, "fused"))),
            "torch foreach one thread": it.one_thread(foreach),
            "torch fused one thread": it.one_thread(fused),
        },
        (GOAL,),
        weight=3,
    )


def sac_case(name: str, learning: Learning) -> Case:
    return Case(
        f"SAC learner{name}",
        "one update of SAC: both critics and their averages, the actor and the temperature; "
        f"{learning.width} units, minibatches of {learning.batch} from a replay",
        {
            OURS: it.ours(partial(our_sac, learning)),
            "torch foreach": (foreach := it.torch(partial(torch_sac, learning, "foreach"))),
            "torch fused": (fused := it.torch(partial(torch_sac, learning, "fused"))),
            "torch foreach one thread": it.one_thread(foreach),
            "torch fused one thread": it.one_thread(fused),
        },
        (GOAL,) if not name else (),
        weight=3,
    )


CASES = (ppo_case(PPO), *(sac_case(name, learning) for name, learning in SAC.items()))
