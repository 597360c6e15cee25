"""Benchmarks: Wengert beside NumPy, JAX and PyTorch, case by case. `make bench`, or
`python -m benchmarks --help`; docs/benchmarks.md says how things are measured, and why so.

A case is a value (`benchmarks/case.py`): a name, what one call does, a contestant for each way to
do it, and goals. Cases stand in `benchmarks/cases`, in a module for each group that has a tuple
CASES and is named in `catalog.GROUPS`. To add a case, write makers and enter it there:

    def ours() -> Run:  # called once, in the process of its system; not timed
        import wengert as wg  # here, not above: other systems' processes import this module, too

        x = operand()
        out = np.empty_like(x)
        compiled = wg.compile(lambda x, out: wg.exp(x), donate="out")
        return lambda: compiled(x, out)  # timed, and its result compared with the others'

    def with_torch() -> Run:
        torch = torch_library()  # of peers.py: with as many threads as the case has
        ...

    CASES = (
        Case(
            "elementwise exp",
            "exp of 1,000,000 numbers, float32",
            {
                OURS: it.ours(ours),
                "NumPy": it.numpy(with_numpy),
                "torch": it.torch(with_torch),
                "JAX jit": it.jax(with_jax),
                "copy": it.yardstick(copy),  # other work of ours to measure this by
            },
            (Times(1.2), Times(0.8, "copy")),
            disturbed=True,  # measured again beside other work
        ),
    )

The label of a peer begins with its library: NumPy, JAX or torch. `Times(1.2)` is a goal beside the
best peer, `Times(10, "JAX")` beside the best of one library, `Times(0.8, "copy")` beside one
contestant, and `Within(0.2)` in seconds. `threads=1` runs every library with one thread. Makers
with sizes are partials of functions with parameters, so that tests can make them small.

A disturbance (`disturbance.py`) applies to every case with `disturbed=True`. The figures are judged
in `record.py` and shown by `table.py`, `picture.py` and `page.py`.
"""
