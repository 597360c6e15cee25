"""What `import wengert` leaves for later, and how it comes."""

from __future__ import annotations

import ast
import os
import pickle
import subprocess
import sys
import textwrap
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import wengert as wg

# What only compiling, training and files need: folders of the package, and other packages.
LATER = ("api", "codegen", "compiler", "nn", "optim", "passes", "runtime", "train")
OTHERS = ("llvmlite", "safetensors")


def run_alone(program: str, **environment: str) -> str:
    """What a program prints in a process of its own, where nothing was imported yet."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=os.environ | environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def loaded_by(statement: str) -> set[str]:
    """The packages, and of ours the folders, that are there after a statement."""
    modules = run_alone(f"import sys\n{statement}\nprint(*sys.modules)").split()
    below = {name.split(".")[1] for name in modules if name.startswith("wengert.")}
    return below | {name.partition(".")[0] for name in modules}


def test_the_import_loads_nothing_that_only_compiling_needs():
    assert loaded_by("import wengert").isdisjoint((*LATER, *OTHERS))


@pytest.mark.parametrize(
    ("used", "spared"),
    {
        "wg.tanh(0.5)": (*LATER, *OTHERS),
        "wg.linalg.det, wg.random.key(0), wg.tree.leaves([1])": (*LATER, *OTHERS),
        "wg.grad(wg.tanh)(0.5)": (*(set(LATER) - {"api"}), *OTHERS),
        "wg.trace(wg.tanh, 0.5)": ("codegen", "runtime", "nn", "optim", "train", *OTHERS),
        "wg.compile": ("nn", "optim", "train", "safetensors"),
    }.items(),
)
def test_what_is_used_loads_what_it_needs(used, spared):
    assert loaded_by(f"import wengert as wg\n{used}").isdisjoint(spared)


def test_a_name_is_imported_once():
    program = """
        import wengert as wg
        assert "compile" not in vars(wg)
        first = wg.compile
        assert vars(wg)["compile"] is first is wg.compile
    """
    run_alone(program)


def public_names() -> dict[str, str]:
    """Each public name that is not an op, with the module that the stub has it from."""
    tree = ast.parse(Path(f"{wg.__file__}i").read_text(encoding="utf-8"))
    return {
        alias.asname: node.module or ""
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }


@pytest.mark.parametrize(("name", "module"), public_names().items())
def test_a_name_is_what_its_module_has(name, module):
    found = getattr(wg, name)
    assert found is getattr(import_module(module), name)
    assert name in dir(wg)


def test_tools_see_all_names():
    program = """
        import inspect
        import wengert as wg
        print(*(name for name, _ in inspect.getmembers(wg)))
    """
    assert set(run_alone(program).split()) >= {*wg.__all__, *LATER}
    assert isinstance(wg.codegen, ModuleType)


def test_a_star_imports_everything():
    run_alone(
        "from wengert import *\n"
        "assert compile.__module__ == 'wengert.api.compiling.compile'; nn.Linear"
    )


def test_a_module_can_be_imported_before_its_name_is_used():
    run_alone("import wengert.nn.linear\nassert wengert.nn.Linear is wengert.nn.linear.Linear")


def test_what_was_pickled_is_read_by_a_new_process():
    program = """
        import pickle
        model, optimizer, graph = pickle.loads(bytes.fromhex({!r}))
        assert graph.run(x=0.0) == [0.0]
        assert model.weight.shape == (2, 3)
        assert optimizer.lr == 0.5
    """
    kept = pickle.dumps((wg.nn.Linear(3, 2), wg.optim.Adam(0.5), wg.trace(wg.tanh, np.ones(()))))
    run_alone(program.format(kept.hex()))


def test_threads_may_be_first_together():
    program = """
        import threading
        import numpy as np
        import wengert as wg

        names = ["compile", "TrainStep", "nn", "optim", "save", "grad", "train", "Graph"] * 2
        together, found = threading.Barrier(len(names)), []

        def use(name):
            together.wait()
            thing = getattr(wg, name)
            found.append((name, thing, float(wg.compile(np.tanh)(np.zeros(3)).sum())))

        threads = [threading.Thread(target=use, args=(name,)) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == len(names), found
        assert all(getattr(wg, name) is thing for name, thing, _ in found)
    """
    run_alone(program)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_a_fork_waits_for_an_import():
    program = """
        import os, sys, threading, time
        import numpy as np
        import wengert as wg

        halfway = threading.Event()

        class Slow:
            def find_spec(self, name, path, target=None):
                if name == "wengert.codegen.kernel":
                    halfway.set()
                    time.sleep(0.3)

        sys.meta_path.insert(0, Slow())
        thread = threading.Thread(target=lambda: wg.compile)
        thread.start()
        halfway.wait()
        child = os.fork()
        if not child:  # it would wait for ever for a module that nobody goes on importing
            os._exit(int(wg.compile(np.tanh)(np.zeros(3)).any()))
        thread.join()
        assert os.waitpid(child, 0)[1] == 0
    """
    run_alone(program)


@pytest.mark.parametrize(
    "use",
    [
        "wg.compile(lambda x: x + np.random.rand())(np.ones(3))",
        "wg.scan(lambda c, x: (c + np.random.rand(), x), 0.0, np.ones(3))",
    ],
)
def test_numbers_are_drawn_in_the_open_although_nobody_drew_before(use):
    program = f"""
        import sys, warnings
        import numpy as np
        import wengert as wg

        assert "numpy.random" not in sys.modules
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            {use}
        (found,) = caught
        print(found.message)
    """
    assert "np.random was used" in run_alone(program)


@pytest.mark.parametrize("name", OTHERS)
def test_a_package_that_is_missing_is_missed_at_once(name):
    program = f"""
        import sys
        sys.modules["{name}"] = None  # as if it were not installed
        try:
            import wengert
        except ModuleNotFoundError as error:
            print(error.name, error)
    """
    assert run_alone(program).strip() == (
        f"{name} wengert: no module named '{name}'; Wengert cannot work without. "
        f"Run pip install {name}."
    )


def test_an_import_that_fails_is_not_taken_for_a_missing_name():
    program = """
        import sys, types
        import wengert as wg
        name = "wengert.api.compiling.compile"
        sys.modules[name] = types.ModuleType(name)
        try:
            hasattr(wg, "compile")
        except ImportError as error:
            print(error)
        del sys.modules["wengert.api.compiling.compile"]
        wg.compile  # it is tried again
    """
    assert run_alone(program).strip() == (
        "wengert.api.compiling.compile: was needed for the first time, and its import raised "
        "AttributeError (module 'wengert.api.compiling.compile' has no attribute 'compile'); what "
        "it imports must be of the versions that it was written for. Run pip check."
    )


def test_ops_of_a_user_are_not_ours_although_they_come_before_the_compiler(tmp_path):
    program = """
        import numpy as np
        import wengert as wg

        @wg.op.elementwise(numpy=np.exp2, opaque="none", emit=lambda e, x: e.exp2(x))
        def doubled_again(x):
            "2**x"

        wg.op.tanh.commutative = True  # changed by a user
        for f in (wg.sin, doubled_again, wg.tanh):
            print(wg.compile(f).executable(np.ones(3)).cached)
    """
    kept, *not_kept = run_alone(
        program, WENGERT_CACHE="1", WENGERT_CACHE_DIR=str(tmp_path)
    ).splitlines()
    assert not kept.startswith("not kept")
    assert not_kept == [
        f"not kept: {name} is no op of Wengert, or was changed"
        for name in ("doubled_again", "tanh")
    ]
