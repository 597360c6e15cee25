"""The end of the process waits for threads inside C++, and lets no daemon in."""

import ast
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import wengert
from wengert.core.process.ending import Ending

SOURCE = Path(wengert.__file__).parent
# The functions of other libraries, and of objects of theirs, that must not be cut in two.
FOREIGN = {"optree", "safe_open", "save_file", "llvm", "ffi"}
SPEC = {"accessors", "children", "entries", "flatten_up_to", "one_level"}

LINES = count(1)


class Place:
    """A function that the end waits for, and that returns when it is told to."""

    def __init__(self) -> None:
        self.ending = Ending()
        self.inside, self.leave = threading.Event(), threading.Event()

        def wait(then: Callable[[], object] = lambda: None) -> None:
            if self.ending.near:
                self.ending.pass_or_stay()
            self.inside.set()
            self.leave.wait()
            then()

        # Code of its own: a thread that stays in another place must not seem to be in this one.
        wait.__code__ = wait.__code__.replace(co_firstlineno=next(LINES))
        self.wait = self.ending.whole(wait)

    def begin(self, daemon: bool = True, **given: Callable[[], object]) -> threading.Thread:
        thread = threading.Thread(target=self.wait, kwargs=given, daemon=daemon)
        thread.start()
        return thread

    def until(self, condition: Callable[[], object]) -> None:
        while not condition():
            pass


def test_the_end_waits_for_who_is_inside_and_what_they_call_inside():
    place = Place()
    inner = threading.Event()

    def go_further() -> None:
        place.until(lambda: place.ending.near)
        place.wait(inner.set)

    thread = place.begin(then=go_further)
    place.inside.wait()
    end = threading.Thread(target=place.ending.come)
    end.start()
    place.until(lambda: place.ending.near)
    assert place.ending._others_are_inside()
    place.leave.set()
    end.join()
    thread.join()
    assert inner.is_set()
    assert not place.ending._others_are_inside()


def test_a_daemon_stays_in_front_and_the_end_does_not_wait_for_it():
    place = Place()
    place.leave.set()
    place.ending.come()
    thread = place.begin()
    place.until(lambda: thread.ident in place.ending._staying)
    place.ending.come()
    assert not place.inside.is_set()
    assert thread.is_alive()


def test_a_thread_that_is_no_daemon_goes_on():
    place = Place()
    place.leave.set()
    place.ending.come()
    place.begin(daemon=False).join()
    assert place.inside.is_set()
    place.wait()  # the main thread, too


def test_a_new_process_has_an_end_of_its_own():
    place = Place()
    place.leave.set()
    place.ending.come()
    place.ending.go_on()
    place.begin().join()
    assert place.inside.is_set()


AT_THE_END = """
from dataclasses import dataclass
from wengert.core import tree
from wengert.core.process.ending import Ending

@dataclass
class Pair:
    x: float
    y: float

def look(self):
    print(len(tree.values(Pair(1.0, 2.0))))

tree.values(Pair(1.0, 2.0))
Ending._others_are_inside = look
"""


def test_trees_are_known_while_the_end_waits():
    """Optree forgets the dataclasses at an end of its own: threads must have left by then."""
    done = subprocess.run(
        [sys.executable, "-c", AT_THE_END], capture_output=True, check=True, timeout=60
    )
    assert done.stdout.split() == [b"2"]


def functions() -> Iterator[tuple[str, ast.FunctionDef]]:
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                yield f"{path.relative_to(SOURCE)}: {node.name}", node


def is_whole(node: ast.FunctionDef) -> bool:
    return "ending.whole" in map(ast.unparse, node.decorator_list)


def test_each_function_that_is_whole_looks_whether_the_end_is_near():
    found = [(name, node) for name, node in functions() if is_whole(node)]
    assert len(found) > 10
    for name, node in found:
        first = node.body[1] if ast.get_docstring(node) is not None else node.body[0]
        assert isinstance(first, ast.If), name
        assert ast.unparse(first.test) == "ending.near", name


def calls_of_others(node: ast.FunctionDef) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Call):
            called = ast.unparse(each.func)
            if called.partition(".")[0] in FOREIGN or called.rpartition(".")[2] in SPEC:
                yield called


def test_functions_of_others_are_called_in_whole_ones():
    """Or in helpers of these alone, which are named here."""
    helpers = {
        "codegen/llvm/machine/native.py: _new_machine",
        "codegen/targets/cpu/target.py: _asked",
        "codegen/llvm/machine/native.py: _parsed",
        "codegen/llvm/machine/native.py: _emitted",
        "codegen/llvm/machine/native.py: _link",
        "codegen/llvm/machine/strength_reduction.py: __enter__",  # of what native.py makes
        "codegen/llvm/machine/strength_reduction.py: __exit__",
        "core/trees/tree_nodes.py: _register",
        "runtime/entries/entry_table.py: _open",
        "runtime/entries/entry_table.py: _build",
        "runtime/entries/entry_table.py: _kind",
        "runtime/entries/entry_table.py: _buildable",
        "train/checkpoints/files.py: save",  # what it hands to replace_file
        "train/checkpoints/files.py: load_state",
        "train/checkpoints/files.py: fitted",
    }
    found = {
        name for name, node in functions() if not is_whole(node) and any(calls_of_others(node))
    }
    assert found == helpers
