"""Every message a user can meet, on one page: messages.txt.

A case is a small program with bad input. What it raises is compared with its entry on the page, its
place in the user's program written as <file>:<line>. After a message was changed on purpose, write
the page again and read the difference:

    UPDATE_MESSAGES=1 python -m pytest tests/messages/test_messages.py

Every statement of the source that words an error is reached by at least one case.
"""

from __future__ import annotations

import os

import pytest

from messages.cases import CASES, FOLDER, FORM, SOURCE, Outcome, outcomes, written_at
from messages.sites import Site, sites

PAGE = FOLDER / "messages.txt"
UPDATE = bool(os.environ.get("UPDATE_MESSAGES"))
HEADER = """\
Every error message, by the case that raises it. Written by tests/messages/test_messages.py, which
says how to write it again.
"""

WORDED_BY_NUMPY = {"assignment: into an array of NumPy, differentiated"}  # ours is its cause

# Files whose errors are about graphs that break their own rules, never leave the cache, are told by
# the command line, or are written as scikit-learn writes them, and the tests that reach them.
REACHED_ELSEWHERE = {
    "cli/app.py": "cli/test_commands.py",
    "cli/train_settings.py": "cli/test_settings.py",
    "cli/datasets/builtin_sets.py": "cli/test_bad_data.py",
    "cli/datasets/column_kinds.py": "cli/test_bad_data.py",
    "cli/datasets/data_source.py": "cli/test_bad_data.py",
    "cli/datasets/data_table.py": "cli/test_bad_data.py",
    "cli/datasets/delimited.py": "cli/test_bad_data.py",
    "cli/datasets/learning_task.py": "cli/test_bad_data.py",
    "cli/datasets/numpy_files.py": "cli/test_bad_data.py",
    "cli/datasets/parquet.py": "cli/test_bad_data.py",
    "cli/datasets/preparation.py": "cli/test_bad_data.py",
    "cli/looking/comparing.py": "cli/test_commands.py",
    "cli/looking/predicting.py": "cli/test_not_silent.py",
    "cli/launching_ranks.py": "parallel/test_ranks.py",
    "cli/running/model_file.py": "cli/test_run_files.py",
    "cli/running/table_network.py": "cli/test_settings.py",
    "cli/running/run_folder.py": "cli/test_run_files.py",
    "cli/running/thread_check.py": "cli/test_commands.py",
    "cli/running/train_run.py": "cli/test_run_files.py",
    "codegen/checking.py": "codegen/test_stages.py",
    "codegen/kernel_text/frame_read.py": "codegen/test_kernel_read.py",
    "codegen/kernel_text/kernel_read.py": "codegen/test_kernel_read.py",
    "codegen/llvm/machine/background.py": "runtime/test_cache.py",
    "runtime/caching/cache.py": "runtime/test_cache_faults.py",
    "runtime/caching/cache_key.py": "runtime/test_cache_key.py",
    "runtime/caching/cache_recipe.py": "runtime/test_cache_recipe.py",
    "runtime/caching/cache_store.py": "runtime/test_cache_store.py",
    "core/check.py": "core/test_check.py",
    "core/first_use.py": "core/test_first_use.py",
    "core/text/read.py": "core/test_read.py",
    "core/text/tokens.py": "core/test_read.py",
    "loading.py": "core/test_first_use.py",
    "parallel/mpi_ranks.py": "parallel/test_ranks.py",
    "parallel/rank_watch.py": "parallel/test_ranks.py",
    "train/ranked/agreement.py": "parallel/test_ranks.py",
    "train/ranked/ranked_calls.py": "parallel/test_ranks.py",
    "sklearn/classifier.py": "estimators/test_estimators.py",
    "sklearn/columns.py": "estimators/test_estimators.py",
    "sklearn/estimator.py": "estimators/test_estimators.py",
    "sklearn/estimator_parameters.py": "estimators/test_estimators.py",
    "sklearn/given_tables.py": "estimators/test_tables_not_silent.py",
    "sklearn/minimising.py": "estimators/test_estimators.py",
    "sklearn/regressor.py": "estimators/test_estimators.py",
    "sklearn/training.py": "estimators/test_estimators.py",
}
# Statements no user reaches, and why.
UNREACHABLE = {
    "core/bind.py: raise NotImplementedError": "every level has a process of its own",
    "core/bind.py: raise first from None": "an error that was raised before, once more",
    "core/bind.py: raise error": "an error of code in C, which Python words",
    "core/tensor.py: raise AttributeError(name)": "what Python and NumPy look for by themselves",
    "core/dims.py: raise AttributeError(f": "Python's own words for a number",
    "core/values/number.py: raise AttributeError(f": "Python's own words for a number",
    "ops/indexing/update.py: raise AttributeError(name)": "what Python looks for by itself",
    "core/words/foreign_names/missing.py: raise AttributeError(f": "Python looks for it by itself",
    "core/dims.py: raise SizeNeeded(names": "a signal that trace catches, not an error",
    "interpret/trace.py: raise SizeNeeded(frozenset(closed), misfit)": "the same signal",
    "interpret/bodies/loops.py: raise IndexNeeded(loop)": "a signal that scan catches, no error",
    "train/recorded/known_magnitudes.py: raise NotFollowed": "a signal, not an error",
    "runtime/executable.py: raise error": "what printing raised, in the words of whoever did",
    "runtime/origins/provenance_values.py: raise Failed": "a signal, not an error",
    "runtime/entries/entry_table.py: raise Unsupported": "a signal, not an error",
    "ops/special_functions/special.py: raise TypeError": "leads to the error of the dtype rule",
    "ops/matrices/factors.py: raise not_converged(": "LAPACK gives up on no known finite matrix",
    "ops/matrices/singular.py: raise not_converged(": "LAPACK gives up on no known finite matrix",
    "core/emit.py: raise TypeError from None": "the same",
    "ops/program.py: raise CheckError(": "a fault of ours, should it ever be seen",
    "codegen/llvm/machine/native.py: raise CompileError(": "a fault of ours",
    "core/op_parts/magnitude.py: raise NotFollowed": "a signal, not an error",
}


def page() -> str:
    return "\n".join([HEADER, *(f"{outcome.entry}\n" for outcome in outcomes().values())])


@pytest.mark.skipif(not UPDATE, reason="writes the page only when asked")
def test_write_the_page():
    PAGE.write_text(page(), encoding="utf-8")


@pytest.mark.skipif(UPDATE, reason="the page is being written")
@pytest.mark.parametrize("name", CASES)
def test_the_page_has_this_message(name):
    entries = PAGE.read_text(encoding="utf-8").split("\n\n")
    expected = {entry.strip("\n").partition("\n")[0]: entry.strip("\n") for entry in entries}
    assert name in expected, f"{name}: not on the page; write it again"
    assert outcomes()[name].entry == expected[name]


@pytest.mark.skipif(UPDATE, reason="the page is being written")
def test_the_page_has_nothing_else():
    assert PAGE.read_text(encoding="utf-8") == page()


@pytest.mark.parametrize("name", sorted(CASES.keys() - WORDED_BY_NUMPY))
def test_a_message_says_what_was_given_what_is_needed_and_what_to_do(name):
    text = outcomes()[name].text
    assert FORM.fullmatch(text), text
    assert "  " not in text, text


@pytest.mark.parametrize("name", sorted(WORDED_BY_NUMPY))
def test_where_numpy_words_the_error_ours_is_its_cause(name):
    assert FORM.fullmatch(Outcome(name, outcomes()[name].error.__cause__).text)


@pytest.mark.parametrize("name", [name for name in CASES if name.endswith("traced")])
def test_in_traced_code_the_users_line_follows(name):
    assert outcomes()[name].place is not None, outcomes()[name].text


@pytest.mark.parametrize("name", [name for name, found in outcomes().items() if found.place])
def test_the_line_is_one_of_the_users(name):
    file, lines = written_at(CASES[name])
    place = outcomes()[name].place
    assert place[0] == file
    assert place[1] in lines


def _shown(site: Site) -> str:
    return f"{site.path.relative_to(SOURCE).as_posix()}: {site.text}"


def _is_excused(site: Site) -> bool:
    elsewhere = site.path.relative_to(SOURCE).as_posix() in REACHED_ELSEWHERE
    return elsewhere or any(_shown(site).startswith(text) for text in UNREACHABLE)


def test_every_error_of_the_source_is_reached_by_a_case():
    passed = {place for outcome in outcomes().values() for place in outcome.lines()}
    missing = [
        f"{_shown(site)} (line {site.first})"
        for site in sites(SOURCE)
        if not _is_excused(site) and not any(site.covers(*place) for place in passed)
    ]
    assert not missing, "no case in tests/messages reaches\n" + "\n".join(missing)


def test_every_excuse_is_needed():
    shown = [_shown(site) for site in sites(SOURCE)]
    for text in (*REACHED_ELSEWHERE, *UNREACHABLE):
        assert any(each.startswith(text) for each in shown), f"{text}: nothing to excuse"
    for test in REACHED_ELSEWHERE.values():
        assert (FOLDER.parent / test).exists(), test
