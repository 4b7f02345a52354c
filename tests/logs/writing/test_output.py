from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path, PurePath

import pytest

from grpo_cli.errors import OutputError, UsageError
from grpo_cli.logs.files.source import LogFile
from grpo_cli.logs.writing.output import plan
from grpo_cli.logs.writing.replacement import Replacement, sweep


def log_file(path, kind="jsonl", compression=None, *, is_stdin=False):
    return LogFile(Path(path), str(path), kind, compression, PurePath(Path(path).name), is_stdin)


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"old\n")
    return log_file(path)


def paths(targets):
    return [target.path for target in targets]


def plan_one(file, **options):
    return plan([file], **{"output": None, "in_place": False, "force": False} | options)


def test_one_file_is_written_beside_itself(tmp_path):
    for name, beside in (
        ("a.jsonl", "a.advantages.jsonl"),
        ("a.b.jsonl.gz", "a.b.advantages.jsonl.gz"),
        ("a.parquet", "a.advantages.parquet"),
        ("log", "log.advantages"),
    ):
        (tmp_path / name).write_bytes(b"x")
        kind = "parquet" if name.endswith("parquet") else "jsonl"
        assert paths(plan_one(log_file(tmp_path / name, kind))) == [tmp_path / beside]


def test_standard_input_goes_to_standard_output(tmp_path):
    (tmp_path / "spool").write_bytes(b"x")
    assert paths(plan_one(log_file(tmp_path / "spool", is_stdin=True))) == [None]
    with pytest.raises(UsageError, match="is a stream"):
        plan_one(log_file(tmp_path / "spool", is_stdin=True), in_place=True)


def test_a_folder_mirrors_the_tree(tmp_path):
    files = []
    for name in ("step_1/r.jsonl", "step_2/r.jsonl"):
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True)
        path.write_bytes(b"x")
        files.append(LogFile(path, str(path), "jsonl", None, PurePath(name)))
    targets = plan(files, output=f"{tmp_path}/out/", in_place=False, force=False)
    assert paths(targets) == [tmp_path / "out/step_1/r.jsonl", tmp_path / "out/step_2/r.jsonl"]


def test_two_files_at_one_place_are_refused(tmp_path):
    files = []
    for name in ("x/r.jsonl", "y/r.jsonl"):
        path = tmp_path / name
        path.parent.mkdir()
        path.write_bytes(b"x")
        files.append(log_file(path))
    with pytest.raises(UsageError, match="would both be written to"):
        plan(files, output=f"{tmp_path}/out/", in_place=False, force=False)
    targets = plan(files, output=f"{tmp_path}/one.jsonl", in_place=False, force=False)
    assert paths(targets) == [tmp_path / "one.jsonl"] * 2


def test_several_inputs_need_a_place(tmp_path):
    files = [log_file(tmp_path / "a.parquet", "parquet"), log_file(tmp_path / "b.parquet", "parquet")]
    for file in files:
        file.path.write_bytes(b"x")
    with pytest.raises(UsageError, match="2 input files, and nothing says") as caught:
        plan(files, output=None, in_place=False, force=False)
    assert "-o DIR/" in caught.value.hint
    for one in (str(tmp_path / "out.parquet"), "-"):
        with pytest.raises(UsageError, match="cannot become one Parquet file"):
            plan(files, output=one, in_place=False, force=False)


@pytest.mark.parametrize("how", ["name", "dotted", "symlink", "hard link"])
def test_the_input_is_never_the_output_by_any_name(tmp_path, log, how):
    other = tmp_path / "other.jsonl"
    if how == "symlink":
        other.symlink_to(log.path)
    elif how == "hard link":
        os.link(log.path, other)
    name = {"name": str(log.path), "dotted": f"{tmp_path}/./a.jsonl"}.get(how, str(other))
    for force in (False, True):
        with pytest.raises(OutputError, match="is the input"):
            plan_one(log, output=name, force=force)
    assert log.path.read_bytes() == b"old\n"


def test_what_exists_is_refused_without_force(tmp_path, log):
    (tmp_path / "b.jsonl").write_bytes(b"keep me")
    with pytest.raises(OutputError, match=r"b\.jsonl exists"):
        plan_one(log, output=str(tmp_path / "b.jsonl"))
    assert paths(plan_one(log, output=str(tmp_path / "b.jsonl"), force=True)) == [tmp_path / "b.jsonl"]


def test_the_output_keeps_the_format_and_is_packed_as_its_name_says(tmp_path, log):
    with pytest.raises(UsageError, match=r"is JSONL, and .*b\.parquet would be \.parquet"):
        plan_one(log, output=str(tmp_path / "b.parquet"))
    assert plan_one(log, output=str(tmp_path / "b.jsonl.gz"))[0].compression == "gzip"
    assert plan_one(log, output=str(tmp_path / "b.jsonl.zst"))[0].compression == "zstd"
    packed = log_file(log.path, compression="gzip")
    assert plan_one(packed, output=str(tmp_path / "b.jsonl"))[0].compression is None
    assert plan_one(packed)[0].compression == "gzip"


def test_options_that_exclude_each_other(log):
    with pytest.raises(UsageError, match="exclude each other"):
        plan_one(log, output="b.jsonl", in_place=True)


def test_a_device_is_written_through_and_stays_a_device(log):
    targets = plan_one(log, output="/dev/null")
    with Replacement() as replacement:
        replacement.open(targets[0].path).write(b"gone")
        replacement.commit()
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_nothing_is_there_before_commit_and_nothing_is_left_without_it(tmp_path):
    target = tmp_path / "made" / "deep" / "b.jsonl"
    with Replacement() as replacement:
        replacement.open(target).write(b"new")
        assert not target.exists()
    assert list(tmp_path.iterdir()) == []
    with Replacement() as replacement:
        replacement.open(target).write(b"new")
        replacement.commit()
    assert target.read_bytes() == b"new"
    assert list(target.parent.iterdir()) == [target]


def test_a_replaced_file_keeps_its_mode_and_a_link_stays_a_link(tmp_path):
    real = tmp_path / "real.jsonl"
    real.write_bytes(b"old")
    real.chmod(0o640)
    link = tmp_path / "link.jsonl"
    link.symlink_to("real.jsonl")
    with Replacement() as replacement:
        replacement.open(link).write(b"new")
        replacement.commit()
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_a_new_file_has_the_mode_that_the_umask_leaves(tmp_path):
    before = os.umask(0o027)
    try:
        with Replacement() as replacement:
            replacement.open(tmp_path / "b.jsonl").write(b"new")
            replacement.commit()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "b.jsonl").stat().st_mode) == 0o640


def test_a_failure_at_any_sync_or_rename_leaves_old_or_new(tmp_path, monkeypatch):
    """Two files are replaced; the n-th system call fails, for every n that there is."""
    calls = {"n": 0, "fail_at": 0}

    def failing(real):
        def call(*arguments, **options):
            calls["n"] += 1
            if calls["n"] == calls["fail_at"]:
                raise OSError(28, "No space left on device")
            return real(*arguments, **options)

        return call

    monkeypatch.setattr(os, "fsync", failing(os.fsync))
    monkeypatch.setattr(Path, "replace", failing(Path.replace))
    monkeypatch.setattr(os, "fchmod", failing(os.fchmod))
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    seen = set()
    for fail_at in range(1, 20):
        calls.update(n=0, fail_at=fail_at)
        for path in files:
            path.write_bytes(b"old")
        try:
            with Replacement() as replacement:
                for path in files:
                    replacement.open(path).write(b"new")
                replacement.commit()
        except OutputError as error:
            assert "cannot be written: no space left on device" in error.message
        assert sorted(tmp_path.iterdir()) == files
        state = tuple(path.read_bytes() for path in files)
        assert state in {(b"old", b"old"), (b"new", b"old"), (b"new", b"new")}
        seen.add(state)
        if calls["n"] < fail_at:
            break
    assert seen >= {(b"old", b"old"), (b"new", b"new")}


WRITER = """
import sys, time
from pathlib import Path
from grpo_cli.logs.writing.replacement import Replacement
with Replacement() as replacement:
    replacement.open(Path(sys.argv[1])).write(b"new")
    print("ready", flush=True)
    time.sleep(60)
"""


def test_a_killed_run_leaves_the_old_file_and_the_next_one_sweeps(tmp_path):
    target = tmp_path / "a.jsonl"
    target.write_bytes(b"old")
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(target)], stdout=subprocess.PIPE)
    assert writer.stdout.readline() == b"ready\n"
    assert len(list(tmp_path.iterdir())) == 2
    sweep(tmp_path)
    assert len(list(tmp_path.iterdir())) == 2, "the temporary file of a living run is not swept"
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    writer.stdout.close()
    for _ in range(100):  # the kernel lets go of the lock when the process is gone
        sweep(tmp_path)
        if len(list(tmp_path.iterdir())) == 1:
            break
        time.sleep(0.02)
    assert list(tmp_path.iterdir()) == [target]
    assert target.read_bytes() == b"old"
