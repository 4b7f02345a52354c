"""Real logs, read without a word where they say how to be read; written back, they are the same with a field more."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

FILES = Path(__file__).resolve().parents[2].parent / "shared" / "realfiles"
pytestmark = pytest.mark.skipif(not FILES.is_dir(), reason="the real logs are not beside this checkout")

SKIP = ["--on-bad-line", "skip"]
# What is read of each: the name of its figures, the layout, and the options that it cannot be read right without.
READ = [
    ("verl_gsm8k_step1.jsonl", "", "verl", []),
    ("primerl_netlogs_step40.jsonl", "key only", "prime-rl", []),
    ("primerl_netlogs_step40.jsonl", "key + blocks of 8", "prime-rl", ["--group-size", "8"]),
    ("primerl_iiy6.jsonl", "key only", "prime-rl", []),
    ("primerl_iiy6.jsonl", "key + blocks of 8", "prime-rl", ["--group-size", "8"]),
    ("verifiers_wordle_multireward.jsonl", "", "verifiers", []),
    ("verifiers_simplebench_5x8.jsonl", "", "verifiers", []),
    ("verifiers_rewardbench_garbage_head.jsonl", "", "verifiers", SKIP),
    ("atropos_cybersec_objreward.jsonl", "", "atropos", []),
    ("nemogym_scicode.jsonl", "", "nemo-gym", []),
    ("nemogym_missing_reward.jsonl", "", "nemo-gym", []),
    ("nemogym_ruler2_mixed_list_str.jsonl", "", "nemo-gym", []),
    ("nemogym_textworld_mixedlines.jsonl", "", "nemo-gym", SKIP),
    ("fixture_rolloutscope_primerl_step1.jsonl", "", "verifiers", []),
    ("lighteval_details_math500_20docs.parquet", "", "lighteval", []),
    ("trl_run/group_completions_*.parquet", "", "trl",
     ["-r", "digit_reward", "-r", "math_only_reward=0.5", "-r", "const_reward=2"]),
    ("trl_run/none_completions_00001.parquet", "", "trl", []),
    ("trl_run/spg_completions_*.parquet", "step+prompt", "trl", []),
    ("trl_run/spg_completions_*.parquet", "prompt only: duplicates merged", "trl", ["--step", "none"]),
    ("replays/msswift_completions.jsonl", "", "ms-swift", ["-r", "accuracy_orm", "-r", "format=0.5"]),
    ("replays/rollout_dump_data.step_3.jsonl", "", "roll", []),
    ("replays/nemorl_train_data_step1.jsonl", "idx//4", "nemo-rl", ["--group-size", "4"]),
    ("replays/openinstruct_rollouts_000000.jsonl", "", "open-instruct", []),
    ("replays/openinstruct_rollouts_000000.jsonl", "prompt_idx only", "open-instruct", ["--step", "none"]),
    ("replays/tinker_train_rollout_summaries.jsonl", "", "tinker", []),
    ("replays/verl_v0_rollout_5.jsonl", "(string score)", "verl", []),
    ("replays/areal_task7.jsonl", "", "areal", []),
    ("replays/art_0003.jsonl", "", "art-jsonl", []),
    ("replays/art_0003.parquet", "", "art", []),
]  # fmt: skip
OURS = ("n", "scored", "mean", "std", "sample_std")
THEIRS = ("n", "n_scored", "mean", "std0", "std1")
MUST_BE_TOLD = {
    "trl_run/group_completions_*.parquet": "3 fields may be rewards (digit_reward, math_only_reward, const_reward)",
    "replays/msswift_completions.jsonl": "2 fields may be rewards (accuracy_orm[], format[])",
    "replays/nemorl_train_data_step1.jsonl": "--group-size N",
    "verifiers_rewardbench_garbage_head.jsonl": ":1: not valid JSON",
    "nemogym_textworld_mixedlines.jsonl": ":6: a string where a JSON object is needed",
    "verifiers_lfs_pointer.jsonl": "a Git LFS pointer",
    "nemogym_tales_clean.jsonl": "a log of chat turns",
}


def figures(name, how):
    expected = json.loads((FILES / "expected.json").read_text())
    suffix = "" if not how else f" {how}" if how.startswith("(") else f" [{how}]"
    return expected[name + suffix]


def paths(name):
    return sorted(FILES.glob(name))


def facts(grpo, *arguments):
    ran = grpo("inspect", *arguments, "--format", "json")
    assert ran.code == 0, ran.err
    rows = [row for row in ran.rows if row["what"] != "field"]
    return {row["what"]: row["name"] for row in rows}, {row["name"]: row for row in ran.rows if row["what"] == "field"}


@pytest.mark.parametrize(("name", "how", "layout", "options"), READ)
def test_its_groups_have_the_expected_figures(grpo, name, how, layout, options):
    want = figures(name, how)
    ran = grpo("groups", *paths(name), *options, "--format", "json")
    assert ran.code == 0, ran.err
    assert f"({layout}" in ran.err
    assert Counter(str(row["n"]) for row in ran.rows) == want["sizes"]
    assert sum(row["status"] in {"all-pass", "all-fail", "tied"} for row in ran.rows) == want["zero_var_groups"]
    assert sum(row["status"] == "singleton" for row in ran.rows) == want["single_groups"]
    found = sorted(tuple(row[name] or 0.0 for name in OURS) for row in ran.rows)
    listed = sorted(tuple(group[name] or 0.0 for name in THEIRS) for group in want["per_group"])
    if len(listed) < len(found):  # of many groups the first are listed
        found = [row for row in found if any(row[:3] == pytest.approx(one[:3]) for one in listed)][: len(listed)]
    for row, one in zip(found, listed, strict=True):
        assert row == pytest.approx(one, abs=1e-9)


@pytest.mark.parametrize("name", MUST_BE_TOLD)
def test_what_is_not_decidable_is_refused_and_told(grpo, name):
    grpo("groups", *paths(name)).refused(MUST_BE_TOLD[name])


@pytest.mark.parametrize(("name", "how", "layout", "options"), READ)
def test_written_back_it_is_the_same_log_with_a_field_more(grpo, tmp_path, name, how, layout, options):  # noqa: ARG001
    before, fields = facts(grpo, *paths(name), *options)
    assert grpo("compute", *paths(name), *options, "-o", f"{tmp_path}/out/", "-q").code == 0
    written = sorted((tmp_path / "out").iterdir())
    bad = SKIP if options == SKIP else []
    after, more = facts(grpo, *written, *options)
    (new,) = more.keys() - fields.keys()
    assert new.startswith("advantage")
    assert before["layout"] == after["layout"] == layout
    told = ("key", "reward", "step", "records", "rollouts", "groups", "group sizes", "missing rewards", "bad lines")
    assert [before.get(what) for what in told] == [after.get(what) for what in told]
    flags = after["flags"].split(" --group-size")[0].split()
    assert "--layout" in flags
    assert bool(bad) == ("skip" in after["flags"])
    for source, target in zip(paths(name), written, strict=True):
        if source.suffix == ".parquet":
            import pyarrow.parquet as pq

            assert pq.read_table(target).drop_columns([new]).equals(pq.read_table(source))
        else:
            assert without(target.read_bytes(), new) == source.read_bytes()


def without(data, name):
    """The bytes of a JSONL file without the field that was added last to each record."""
    lines = []
    for line in data.splitlines(keepends=True):
        at = line.rfind(f', "{name}": '.encode())
        lines.append(line if at < 0 else line[:at] + line[line.rindex(b"}") :])
    return b"".join(lines)


def test_the_options_that_inspect_shows_give_the_same_groups(grpo):
    import shlex

    for name, _, _, options in READ:
        before, _ = facts(grpo, *paths(name), *options)
        again = grpo("groups", *paths(name), *shlex.split(before["flags"]), "--format", "json")
        first = grpo("groups", *paths(name), *options, "--format", "json")
        assert (again.code, again.rows) == (0, first.rows), name
