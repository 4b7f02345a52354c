"""What people reported, case by case: extra checks over a collection that stands beside the checkout."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CASES = Path(__file__).resolve().parents[1] / ".." / "shared" / "bugcases"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the collection is not here")

COLUMNS = {
    "center": ("--scale", "none"),
    "ddof1_eps1e-4": ("--ddof", "1", "--eps", "1e-4"),
    "ddof1_eps1e-6": ("--ddof", "1", "--eps", "1e-6"),
    "ddof1_eps0": ("--ddof", "1"),
    "ddof0_eps0": (),
}
TORCH = COLUMNS["ddof1_eps1e-4"]
EXACT = 1e-12


class Case:
    """One case in a folder of its own."""

    def __init__(self, grpo, name: str, folder: Path) -> None:
        (found,) = CASES.glob(f"{name}-*")
        self.folder, self._grpo = folder, grpo
        for path in found.iterdir():
            shutil.copyfile(path, folder / path.name)
        if (folder / "make.py").exists():
            subprocess.run([sys.executable, "make.py", "."], cwd=folder, check=True, capture_output=True)
        self.expect = json.loads((folder / "expect.json").read_text())

    def run(self, *arguments: str, command: str = "compute"):
        return self._grpo(command, *arguments)

    def compute(self, *options: str, file: str = "in.jsonl"):
        return self.run(file, "-o", "-", *options)

    def groups(self, *options: str, file: str = "in.jsonl"):
        return self.run(file, "--format", "json", *options, command="groups").rows

    def parquet(self, *options: str, file: str = "in.parquet", column: str = "advantage") -> list:
        import pyarrow.parquet as pq

        ran = self.run(file, "-o", "made.parquet", "--force", *options)
        assert ran.code == 0, ran.err
        return pq.read_table(self.folder / "made.parquet")[column].to_pylist()


def near(values, within=EXACT):
    return [value if value is None else pytest.approx(value, rel=0, abs=within) for value in values]


@pytest.fixture
def case(grpo, here):
    return lambda name: Case(grpo, name, here)


PLAIN = ["001", "005", "006", "009", "013", "014", "016", "017", "019", "024", "026", "029", "030", "033", "036", "038",
         "039", "055"]  # fmt: skip


@pytest.mark.parametrize("name", PLAIN)
def test_values_of_every_row(case, name):
    case = case(name)
    loose = {row - 1 for row in case.expect.get("loose_rows", ())}
    for column, options in COLUMNS.items():
        ran = case.compute(*options)
        assert ran.code == 0, ran.err
        expected = near([row[column] for row in case.expect["rows"]], 1e-9 if name == "006" else EXACT)
        for row, (got, want) in enumerate(zip(ran.advantages, expected, strict=True)):
            assert got == want or (row in loose and got == 0.0), (column, row)


@pytest.mark.parametrize("name", [name for name in PLAIN if name not in {"039", "055"}])
def test_statistics_of_every_group(case, name):
    case = case(name)
    rows = case.groups("--pass-threshold", "1")
    expected = case.expect["groups"]
    assert len(rows) == len(expected)
    for row, want in zip(rows, expected, strict=True):
        step, key = want["group"] if isinstance(want["group"], list) else (None, want["group"])
        assert (row.get("step"), row["key"]) == (step, key)
        assert (row["n"], row["scored"]) == (want["n"], want["n_scored"])
        got = [row[column] for column in ("mean", "std", "sample_std", "min", "max")]
        assert got == near([want[column] for column in ("mean", "std_ddof0", "std_ddof1", "min", "max")])
        if key != "ulp":
            assert (row["status"] in {"all-pass", "all-fail", "tied"}) == want["zero_variance"]
        assert (row["status"] == "singleton") == (want["n_scored"] == 1)


def test_008_leave_one_out(case):
    case = case("008")
    assert case.compute("-e", "rloo").advantages == near(case.expect["loo_center"])
    scaled = case.compute("--baseline", "loo", "--scale", "loo-std").advantages
    assert max(map(abs, scaled)) <= case.expect["max_abs_allowed"]


def test_013_and_014_scale_of_the_batch(case):
    expected = [
        0.202649651001,
        -0.0675498836669,
        -0.0675498836669,
        -0.0675498836669,
        1.35099767334,
        -1.35099767334,
        0,
        0,
    ]
    ran = case("013").compute("--scale", "batch-std", *TORCH)
    assert ran.advantages == near(expected, 1e-11)
    ran = case("014").compute("--scale", "batch-std", *TORCH)
    assert ran.advantages == near([0, 0, 0, 0, *[1.0798901668, -1.0798901668] * 2], 1e-10)


def test_021_fan_out(case):
    case = case("021")
    for column, expected in case.expect["with_rollout_col"].items():
        assert case.compute("--rollout-id", "rollout_id", *COLUMNS[column]).advantages == near(expected)
    case.compute("--rollout-id", "rollout_id", file="bad.jsonl").refused("bad.jsonl:4:")


def test_024_and_026_keys(case, grpo, tmp_path_factory, monkeypatch):
    one = case("024")
    (merged,) = one.groups("-g", "prompt")
    assert merged["sample_std"] == pytest.approx(one.expect["grouped_by_prompt"][0]["std_ddof1"], abs=EXACT)
    monkeypatch.chdir(other := tmp_path_factory.mktemp("other"))
    (merged,) = Case(grpo, "026", other).groups("--step", "none")
    assert merged["n"] == 8


def test_031_two_rewards(case):
    case = case("031")
    both = ("-r", "r_math", "-r", "r_code")
    assert case.compute(*both, *TORCH).advantages == near(case.expect["sum_then_normalise"])
    parts = case.compute(*both, "-e", "gdpo:whiten=none", *TORCH)
    assert parts.advantages == near(case.expect["normalise_then_sum"])
    assert "r_code" in parts.err


def test_033_excluded(case):
    case = case("033")
    for column, expected in case.expect["excluded"].items():
        assert case.compute("--unscored-if", "status <> 'ok'", *COLUMNS[column]).advantages == near(expected)


def test_039_kinds_of_dead(case):
    statuses = {row["key"]: row["status"] for row in case("039").groups("--pass-threshold", "1")}
    assert statuses["always"] == "all-pass"
    assert statuses["mid"] == "mixed"
    assert statuses["never"] == "all-fail"
    assert statuses["stuck"] in {"all-fail", "tied"}, "below the threshold is failed"


def test_042_one_reward_swamps(case):
    case = case("042")
    assert case.compute(*TORCH).advantages == near(case.expect["sum_then_normalise"])
    both = ("-r", "correct", "-r", "len_score")
    assert case.compute(*both, "-e", "gdpo:whiten=none", *TORCH).advantages == near(case.expect["normalise_then_sum"])


@pytest.mark.parametrize(
    ("name", "file", "said"),
    [
        ("054", "in.jsonl", "in.jsonl:2: column reward: "),
        ("065", "in.jsonl", "in.jsonl:4: column reward: "),
        ("069", "in.jsonl", "in.jsonl:3: "),
        ("074", "in.jsonl", "in.jsonl:2: no prompt_id"),
        ("076", "bad.jsonl", "bad.jsonl:6: "),
        ("077", "in.jsonl", "in.jsonl:1: column reward: "),
        ("079", "in.jsonl", "in.jsonl:5: "),
        ("079", "glued.jsonl", "glued.jsonl:1: "),
        ("079", "torn-utf8.jsonl", "torn-utf8.jsonl:5: "),
        ("083", "cut.jsonl.gz", "cut.jsonl.gz: compressed data ends early"),
        ("093", "in.jsonl", "in.jsonl:121: column reward: "),
        ("095", "in.parquet", "in.parquet:4: column reward: "),
        ("111", "in.jsonl", "in.jsonl:2: column reward: "),
    ],
)
def test_errors_name_the_line_and_change_nothing(case, untouched, name, file, said):
    case = case(name)
    unchanged = untouched()
    ran = case.run(file).refused(said)
    assert "PRIVATE-TEXT" not in ran.err
    unchanged()


def test_061_a_logged_advantage_is_never_lost(case):
    case = case("061")
    options = ("-g", "step,prompt", "-r", "accuracy_reward", "-r", "format_reward", *TORCH)
    assert case.parquet(*options, column="advantage_grpo") == near(case.expect["ddof1_eps1e-4"])
    assert case.parquet(*options)[0] == 0.3
    case.run("in.parquet", "--column", "advantage", "-o", "other.parquet", *options).refused("advantage")


def test_067_a_late_key(case):
    case = case("067")
    ran = case.compute(*TORCH)
    assert ran.advantages == near(case.expect["group"] * 50)
    assert ["judge_note" in record for record in ran.records] == [False] * 150 + [True] * 50


def test_068_late_floats_and_late_values(case):
    case = case("068")
    ran = case.compute(*TORCH)
    assert ran.advantages == near(case.expect["int_group"] * 50 + case.expect["late"])
    assert '"reward": 1,' in ran.out
    ran = case.compute(*TORCH, file="nulls-first.jsonl")
    assert ran.advantages == near([None] * 150 + case.expect["late"])


def test_070_files_in_either_order(case):
    case = case("070")
    for files in (("part-1.jsonl", "part-2.jsonl"), ("part-2.jsonl", "part-1.jsonl")):
        records = case.run(*files, "-o", "-", *TORCH).records
        for key in "ac":
            got = sorted((r["reward"], r["advantage"]) for r in records if r["prompt_id"] == key)
            assert [advantage for _, advantage in got] == near(sorted(case.expect[key]))


def test_071_keys_are_exact(case):
    case = case("071")
    assert case.compute(*TORCH).advantages == near(case.expect["each"] * 5)
    assert len(case.groups()) == 5


@pytest.mark.parametrize("name", ["073", "076", "102"])
def test_only_a_field_is_added(case, name):
    case = case(name)
    ran = case.compute(*TORCH)
    assert ran.advantages == near(case.expect["ddof1_eps1e-4"])
    before = [json.loads(line) for line in (case.folder / "in.jsonl").read_bytes().splitlines() if line.strip()]
    assert [{k: v for k, v in record.items() if k != "advantage"} for record in ran.records] == before


def test_079_a_torn_line_can_be_skipped(case):
    case = case("079")
    ran = case.compute("--on-bad-line", "skip", *TORCH)
    assert ran.code == 0
    assert ran.raw.endswith((case.folder / "in.jsonl").read_bytes().rpartition(b"\n")[2])
    assert len(case.compute(file="complete-no-newline.jsonl").records) == 4


def test_081_lone_surrogates(case):
    case = case("081")
    before, after = (case.folder / "in.jsonl").read_bytes().splitlines(), case.compute().raw.splitlines()
    assert [line.replace(b', "advantage": 0.0', b"") for line in after] == before
    assert len(case.groups()) == 2


def test_083_gzip(case):
    case = case("083")
    assert case.compute(*TORCH, file="in.jsonl.gz").advantages == near(case.expect["ddof1_eps1e-4"])
    assert case.run("in.jsonl.gz", "-o", "made.jsonl.gz").code == 0
    assert (case.folder / "made.jsonl.gz").read_bytes()[:2] == b"\x1f\x8b"
    assert case.compute(file="liar.jsonl.gz").code == 0


@pytest.mark.parametrize(("name", "files"), [("084", 3), ("087", 4)])
def test_several_parquet_files(case, name, files):
    import pyarrow.parquet as pq

    case = case(name)
    names = sorted(path.name for path in case.folder.glob("*.parquet"))
    assert len(names) == files
    case.run(*names, "-o", "one.parquet").refused("-o DIR/")
    assert case.run(*names, "-o", "made/", *TORCH).code == 0
    got: dict[str, list] = {}
    for file in names:
        old, new = pq.read_table(case.folder / file), pq.read_table(case.folder / "made" / file)
        assert new.drop(["advantage"]).equals(old)
        for key, reward, advantage in zip(
            *(new[c].to_pylist() for c in ("prompt_id", "reward", "advantage")), strict=True
        ):
            got.setdefault(key, []).append((reward, advantage))
    if name == "084":
        pair = (-0.707006795327, 0.707006795327)
        assert [a for key in "abc" for _, a in sorted(got[key])] == near([*pair, 0, 0, *pair], 1e-11)
    else:
        for key in "ac":
            assert [advantage for _, advantage in sorted(got[key])] == near(sorted(case.expect[key]))


def test_086_hive_folders_are_never_merged(case):
    ran = case("086").run("ds", "--format", "json", command="groups")
    if ran.code == 0:
        assert sorted(row["key"] for row in ran.rows) == ["007", "7"]
    else:
        ran.refused("no field names the prompt")


def test_089_decimals(case):
    case = case("089")
    got = case.parquet(*TORCH)
    rewards = case.parquet(column="reward")
    assert got == near(case.expect["a"] + case.expect["b"])
    assert str(rewards[0]).count(".") == 1


def test_090_metadata(case):
    import pyarrow.parquet as pq

    case = case("090")
    assert case.parquet(*TORCH) == near(case.expect["ddof1_eps1e-4"])
    old, new = (pq.read_schema(case.folder / name) for name in ("in.parquet", "made.parquet"))
    assert new.metadata[b"run_id"] == old.metadata[b"run_id"]
    assert "advantage" in json.loads(new.metadata[b"huggingface"])["info"]["features"]
    assert [new.field(field.name).metadata for field in old] == [field.metadata for field in old]


def test_092_the_input_is_never_the_output(case, untouched):
    case = case("092")
    unchanged = untouched()
    for name in ("in.parquet", "./in.parquet", "sym.parquet", "hard.parquet"):
        for force in ((), ("--force",)):
            case.run("in.parquet", "-o", name, *force).refused("is the input")
    unchanged()


def test_093_a_failure_leaves_old_output_alone(case, untouched):
    case = case("093")
    unchanged = untouched()
    case.run("in.jsonl", "-o", "new.jsonl").refused(":121: ")
    case.run("in.jsonl", "-o", "old-output.jsonl", "--force").refused(":121: ")
    unchanged()


@pytest.mark.parametrize("file", ["in.parquet", "nulltype.parquet"])
def test_096_nothing_scored(case, file):
    case = case("096")
    assert set(case.parquet(file=file)) == {None}
    (group,) = case.groups(file=file)
    assert group["n"] == (1200 if file == "in.parquet" else 3)
    assert (group["mean"], group["std"], group["status"]) == (None, None, "unscored")


def test_099_a_large_constant_group(case):
    case = case("099")
    assert case.compute().advantages == [0.0] * case.expect["rows"]
    assert [row["mean"] for row in case.groups()] == [1.81, 36743.6]


@pytest.mark.parametrize("name", ["104", "105", "106", "108", "113"])
@pytest.mark.parametrize("form", ["auto", "table", "md", "csv", "json"])
def test_what_is_shown(case, monkeypatch, name, form):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    case = case(name)
    ran = case.run("in.jsonl", "--format", form, command="groups")
    assert ran.code == 0
    if (name, form) != ("113", "csv"):  # CSV has no escapes: it keeps what the log holds
        assert "\x1b" not in ran.out
    assert "\x1b" not in ran.err
    for text in case.expect.get("stdout_has", ()):
        shown = ran.out.replace("\\\\", "\\") if form in {"json", "auto"} else ran.out
        assert text in shown or (form == "md" and text.replace("\\", "\\\\") in shown)
    assert "…" not in ran.out
