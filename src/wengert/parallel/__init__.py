"""Past one process: training steps that several ranks share."""

from wengert.functions.whole_batch import batch_sum
from wengert.parallel.mpi_ranks import mpi
from wengert.parallel.one_process import one_process
from wengert.parallel.shards import shard

__all__ = ["batch_sum", "mpi", "one_process", "shard"]
