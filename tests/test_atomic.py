"""A run that fails, is interrupted or killed leaves every file as it was, or as it should become; and no litter."""

from __future__ import annotations

import errno
import io
import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROWS = 400


def listing(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def records(rows: int) -> list[dict]:
    return [{"prompt_id": f"p{at // 4}", "reward": at % 3, "text": "x" * 60} for at in range(rows)]


def write_logs(folder: Path, form: str, rows: int = ROWS, files: int = 3) -> list[Path]:
    folder.mkdir(exist_ok=True)
    paths = [folder / f"{at}.{form}" for at in range(files)]
    for path in paths:
        if form == "jsonl":
            import json

            path.write_text("".join(json.dumps(record) + "\n" for record in records(rows)))
        else:
            import pyarrow as pa
            import pyarrow.parquet as pq

            pq.write_table(pa.Table.from_pylist(records(rows)), path, row_group_size=max(rows // 4, 1))
    return paths


class Failing:
    """Calls that are counted, of which the n-th fails."""

    def __init__(self, monkeypatch, error: BaseException) -> None:
        self.count, self.fail_at, self.error = 0, 0, error
        for owner, name in (
            (os, "fsync"), (os, "fchmod"), (os, "replace"), (os, "rename"), (Path, "replace"), (Path, "rename"),
            (os, "copy_file_range"), (os, "ftruncate"), (os, "pwrite"), (os, "write"), (os, "sendfile"),
        ):  # fmt: skip
            if hasattr(owner, name):
                monkeypatch.setattr(owner, name, self.counted(getattr(owner, name)))
        failing = self

        class Raw(io.FileIO):
            def write(self, data):
                failing.tick()
                return super().write(data)

        def fdopen(descriptor, *_, **__):
            return io.BufferedRandom(Raw(descriptor, "r+"))

        monkeypatch.setattr(os, "fdopen", fdopen)

    def tick(self) -> None:
        self.count += 1
        if self.count == self.fail_at:
            raise self.error

    def counted(self, real):
        def call(*arguments, **options):
            self.tick()
            return real(*arguments, **options)

        return call


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
@pytest.mark.parametrize(
    ("error", "code"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), 2),
        (KeyboardInterrupt(), 130),
    ],
    ids=["full", "ctrl-c"],
)
def test_whichever_write_sync_or_rename_fails(grpo, here, monkeypatch, form, error, code):
    paths = write_logs(here / "d", form)
    old = listing(here)
    assert grpo("compute", "d", "--in-place", "-q").code == 0
    new = listing(here)
    assert old.keys() == new.keys()
    with monkeypatch.context() as patch:
        failing = Failing(patch, error)
        seen = set()
        for fail_at in range(1, 200):
            write_logs(here / "d", form)
            failing.count, failing.fail_at = 0, fail_at
            ran = grpo("compute", "d", "--in-place", "-q")
            failing.fail_at = 0
            after = listing(here)
            assert after.keys() == old.keys(), "litter, or a file that is gone"
            states = ["old" if after[name] == old[name] else "new" for name in old]
            assert all(after[name] in {old[name], new[name]} for name in old)
            if failing.count < fail_at:
                assert (ran.code, states) == (0, ["new"] * 3)
                break
            # A folder that cannot be synced, as on some network disks, has its new files all the same.
            assert ran.code == code or (ran.code == 0 and states == ["new"] * 3), ran.err
            assert len(ran.err.splitlines()) <= 2
            assert "unexpected" not in ran.err
            if "nothing was changed" in ran.err:
                assert states == ["old"] * 3
            if "written before that" in ran.err:
                assert "new" in states
            seen.add(tuple(states))
        else:
            pytest.fail("the calls never came to an end")
    assert ("old",) * 3 in seen
    assert failing.count >= 3 * 4, "at least a write, a mode, a sync and a rename a file"
    assert len(paths) == 3


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_a_disk_that_fills_up_at_any_byte(grpo, here, form):
    write_logs(here / "d", form, rows=4000, files=1)
    old = listing(here)
    assert grpo("compute", "d", "-o", "made/", "-q").code == 0
    (made,) = (here / "made").iterdir()
    size = made.stat().st_size
    made.unlink()
    made.parent.rmdir()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    codes = []
    try:
        for limit in [max(512, size * step // 12 - 1) for step in range(1, 13)]:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
            try:
                ran = grpo("compute", "d", "--in-place", "-q")
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            codes.append(ran.code)
            ran.refused("cannot be written", "make room")
            assert listing(here) == old
    finally:
        signal.signal(signal.SIGXFSZ, before)
    assert codes == [2] * 12
    assert grpo("compute", "d", "--in-place", "-q").code == 0


def test_a_standard_output_that_is_full(shell, log):
    path = log(a=[1, 0])
    for line in (
        f"compute {path} -o -",
        f"groups {path}",
        f"groups {path} --format table",
        "estimators",
        "explain 1,0",
    ):
        ran = shell(f"grpo-adv {line} > /dev/full")
        assert ran.code == 2, (line, ran)
        assert "no space left on device" in ran.err.lower(), line
        assert not any(word in ran.err for word in ("unexpected", "Traceback", "Exception ignored"))


def started(*arguments: str, cwd: Path) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "grpo_cli", *arguments],
        cwd=cwd,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def kill_at_random(here: Path, form: str, times: int, rows: int) -> dict[str, int]:
    """Kill as many in-place runs, each at a random moment from its first temporary file on, and see what is left."""
    write_logs(here / "d", form, rows=rows, files=2)
    old = listing(here / "d")
    whole = started("compute", "d", "-i", "-q", cwd=here)
    assert whole.wait(60) == 0
    whole.stderr.close()
    new = listing(here / "d")
    found = {"old": 0, "new": 0, "litter": 0}
    chance = random.Random(7)
    for _ in range(times):
        for name, data in old.items():
            (here / "d" / name).write_bytes(data)
        run = started("compute", "d", "-i", "-q", cwd=here)
        deadline = time.monotonic() + 30
        while run.poll() is None and time.monotonic() < deadline and not list((here / "d").glob(".grpo-adv-*")):
            time.sleep(0.001)
        time.sleep(chance.random() * 0.05)
        run.kill()
        run.wait(30)
        run.stderr.close()
        left = listing(here / "d")
        for name in old:
            assert left[name] in {old[name], new[name]}, f"{name} is neither the old file nor the new one"
            found["old" if left[name] == old[name] else "new"] += 1
        found["litter"] += len(left) - len(old)
    for name, data in old.items():
        (here / "d" / name).write_bytes(data)
    last = started("compute", "d", "-i", "-q", cwd=here)
    assert last.wait(60) == 0
    last.stderr.close()
    assert listing(here / "d") == new, "the next run sweeps what killed ones left"
    return found


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_kill_9_leaves_old_or_new(here, form):
    found = kill_at_random(here, form, times=3, rows=20_000)
    assert found["old"] + found["new"] == 6


@pytest.mark.slow
@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_many_kills(here, form):
    found = kill_at_random(here, form, times=100, rows=60_000)
    assert found["old"]
    assert found["litter"], "some kills came while a file was written"


@pytest.mark.parametrize(
    ("number", "code", "moment"),
    [(signal.SIGINT, 130, "reading"), (signal.SIGINT, 130, "writing"), (signal.SIGTERM, 143, "writing")],
)
def test_an_interrupted_run_leaves_nothing(here, number, code, moment):
    write_logs(here / "d", "jsonl", rows=60_000, files=2)
    old = listing(here)
    run = started("compute", "d", "--in-place", cwd=here)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and run.poll() is None:
        busy = list((here / "d").glob(".grpo-adv-*")) if moment == "writing" else _has_open(run.pid, "0.jsonl")
        if busy:
            break
        time.sleep(0.002)
    run.send_signal(number)
    said = run.communicate(timeout=60)[1].decode()
    after = listing(here)
    if run.returncode == 0:  # it was done before the signal came
        assert after.keys() == old.keys()
        return
    assert run.returncode == code, said
    assert after.keys() == old.keys(), "litter"
    assert "Traceback" not in said
    if number == signal.SIGINT:
        assert said.splitlines()[-1].startswith("grpo-adv: interrupted: ")
    if "nothing was changed" in said:
        assert after == old


def _has_open(pid: int, name: str) -> bool:
    try:
        return any(entry.readlink().name == name for entry in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False


def test_ctrl_c_while_files_are_put_in_place_waits_for_all_of_them(grpo, here, monkeypatch):
    write_logs(here / "d", "jsonl")
    old = listing(here)
    real = Path.replace

    def interrupted(self, target):
        os.kill(os.getpid(), signal.SIGINT)
        return real(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", interrupted)
        ran = grpo("compute", "d", "--in-place", "-q")
    assert ran.code == 130
    assert ran.err == "grpo-adv: interrupted: 3 files were written\n"
    after = listing(here)
    assert after.keys() == old.keys()
    assert all(after[name] != old[name] for name in old)


def test_more_files_than_a_process_may_have_open(grpo, here):
    write_logs(here / "d", "jsonl", rows=4, files=120)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, limits[1]))
    try:
        ran = grpo("compute", "d", "--in-place", "-q")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert ran.code == 0, ran.err
    assert all(b"advantage" in data for data in listing(here).values())


def test_a_log_that_grows_while_it_is_read(grpo, log, here, monkeypatch):
    from grpo_cli.logs.writing import write_back as writing

    path = here / log(a=[1, 0])
    real = writing.write_back

    def grown(*arguments):
        with path.open("ab") as stream:
            stream.write(b'{"prompt_id": "a", "reward": 1}\n')
        return real(*arguments)

    monkeypatch.setattr(writing, "write_back", grown)
    grpo("compute", path, "-q").refused("changed while it was read")
    assert [entry.name for entry in here.iterdir()] == ["x.jsonl"]


def test_modes_links_and_owners_are_kept(grpo, log, here):
    path = here / log(a=[1, 0])
    path.chmod(0o640)
    (here / "folder").mkdir()
    link = here / "folder" / "link.jsonl"
    link.symlink_to("../x.jsonl")
    assert grpo("compute", "folder/link.jsonl", "--in-place", "-q").code == 0
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert b"advantage" in path.read_bytes()


def test_a_folder_that_nobody_may_write_to(grpo, log, here, untouched):
    path = log(a=[1, 0], name="d/x.jsonl")
    unchanged = untouched()
    if os.geteuid() == 0:  # root may: a folder of the kernel's refuses root as well
        grpo("compute", path, "-q", "-o", "/proc/x.jsonl").refused("cannot be written")
    else:
        (here / "d").chmod(0o555)
        grpo("compute", path, "-q").refused("cannot be written: permission denied")
        (here / "d").chmod(0o755)
    unchanged()


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_no_spooled_copy_of_standard_input_stays(grpo, tmp_path, monkeypatch):
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    data = b'{"prompt_id": "a", "reward": 1}\n{"prompt_id": "a", "reward": 0}\n'
    assert grpo("compute", "-", stdin=data).code == 0
    grpo("compute", "-", stdin=b"{").refused()
    assert list(tmp_path.iterdir()) == []
