"""`verify`: the numbers of real runs, a formula that is not told, and one number that is altered."""

from __future__ import annotations

from pathlib import Path

import pytest

REAL = Path(__file__).resolve().parents[3] / "shared" / "realfiles"

# A run of TRL 1.16 (weights 1, 0.5 and 2; scale_rewards=group): three rewards, some of them missing, and its numbers.
DIGIT = [0, 0.25, 0.25, 0.5, 0, 0.5, 0.25, 0, 0, 0, 0, 0.25, 0, 0.25, 0, 0]
MATH = [None] * 4 + [0, 1, 0, 0] + [None] * 4 + [0, 1, 0, 0]
TRL = [
    -1.2241450548171997, 0.0, 0.0, 1.2241450548171997,
    -0.6601992845535278, 1.4524370431900024, -0.13203984498977661, -0.6601992845535278,
    -0.4996003210544586, -0.4996003210544586, -0.4996003210544586, 1.498801,
    -0.49986669421195984, 1.4996001720428467, -0.49986669421195984, -0.49986669421195984,
]  # fmt: skip


def trl_run():
    return [
        {
            "step": 1 + row // 8,
            "prompt": f"prompt {row // 4}",
            "completion": "...",
            "digit_reward": float(DIGIT[row]),
            "math_only_reward": None if MATH[row] is None else float(MATH[row]),
            "const_reward": 1.0,
            "n_chars": 11 + 3 * row % 7,
            "advantage": TRL[row],
        }
        for row in range(16)
    ]


# A run of prime-rl in float32: two groups of one prompt in one step, and a last group cut off by the platform's cap.
PRIME = {
    "a": [(1.78, 1.1920928955078125e-07)] * 8,
    "a again": [
        (1.78, 0.00625002384185791), (1.78, 0.00625002384185791), (1.77, -0.0037499666213989258),
        (1.78, 0.00625002384185791), (1.78, 0.00625002384185791), (1.78, 0.00625002384185791),
        (1.76, -0.013749957084655762), (1.76, -0.013749957084655762),
    ],
    "b": [(1.8, -1.1920928955078125e-07)] * 8,
    "c": [(1.8, -0.0075)],
}  # fmt: skip


def prime_run():
    return [
        {"problem_id": key.split()[0], "step": 40, "reward": reward, "advantage": advantage}
        for key, rows in PRIME.items()
        for reward, advantage in rows
    ]


def test_a_run_verifies_with_its_own_formula(grpo, log):
    ran = grpo("verify", log(*trl_run()), "--like", "trl", "-r", "digit_reward", "-r", "math_only_reward=0.5")
    assert ran.code == 0, ran.err
    assert "trl/grpo: 16 of 16 rows agree" in ran.err


def test_a_run_is_named_without_being_told(grpo, log):
    ran = grpo("verify", log(*trl_run()), "--format", "json")
    assert ran.code == 0, ran.err
    first = ran.rows[0]
    assert first["formula"] == "trl/grpo"
    assert first["rewards"] == "-r digit_reward -r math_only_reward=0.5"
    assert "0.0001" in first["text"]
    assert first["agree"] == 1.0
    assert first["largest"] < 1e-6
    assert "no weight can be told for const_reward" in ran.err
    assert "a group of one would tell" in ran.err
    named = " ".join(f"{row['formula']}, {row['same_as']}" for row in ran.rows)
    assert "verl/grpo" not in named


@pytest.mark.parametrize("told", [[], ["--like", "trl", "-r", "digit_reward", "-r", "math_only_reward=0.5"]])
def test_one_number_altered_fails_and_names_the_group(grpo, log, told):
    rows = trl_run()
    rows[13]["advantage"] += 0.01
    path = log(*rows)
    ran = grpo("verify", path, *told, "--format", "json")
    assert ran.code == 1
    (group,) = ran.rows
    assert (group["key"], group["step"], group["class"], group["differ"]) == ("prompt 3", 2, "differs", 1)
    assert group["at"] == "x.jsonl:14"
    assert f"worst group {group['id']} (x.jsonl:14): logged 1.5096, computed 1.4996" in ran.err


def test_another_formula_fails(grpo, log):
    ran = grpo("verify", log(*trl_run()), "-e", "grpo:ddof=1", "-r", "digit_reward", "-r", "math_only_reward=0.5")
    assert ran.code == 1
    assert "of 16 rows differ from grpo:ddof=1" in ran.err


def test_a_prompt_drawn_twice_and_a_group_that_is_cut_off(grpo, log):
    path = log(*prime_run())
    ran = grpo("verify", path, "--like", "prime-rl")
    assert ran.code == 1
    assert "--group-size 8 makes all agree: 1 group of more than 8 is one prompt drawn several times" in ran.err
    ran = grpo("verify", path, "--like", "prime-rl", "--group-size", "8")
    assert ran.code == 0, ran.err
    assert "1 row cannot be checked: the last group is cut off" in ran.err
    ran = grpo("verify", path, "--format", "json")
    assert ran.code == 0, ran.err
    assert {row["group_size"] for row in ran.rows} == {8}
    assert "prime-rl/dr-grpo" in {row["formula"] for row in ran.rows}
    assert "one prompt drawn several times" in ran.err


def test_rounding_of_constant_groups_is_a_class_of_its_own(grpo, log):
    rows = [{"prompt_id": "p", "reward": 0.1, "advantage": -0.831} for _ in range(8)]
    rows += [
        {"prompt_id": "q", "reward": r, "advantage": a}
        for r, a in ((1, 1.154700536), (0, -0.577350268), (0, -0.577350268))
    ]
    ran = grpo("verify", log(*rows), "--like", "openrlhf", "--format", "json")
    assert ran.code == 1
    assert [(row["key"], row["class"], row["differ"]) for row in ran.rows] == [("p", "float32", 8)]
    assert "8 rows differ by no more than float32 rounding" in ran.err


def test_nothing_fits(grpo, log):
    rows = [
        {"prompt_id": key, "reward": r, "advantage": a}
        for key, pairs in {"p": [(1, 0.3), (0, 0.9), (0.5, -2)], "q": [(0.2, 1), (0.7, 0.1), (1, 3)]}.items()
        for r, a in pairs
    ]
    ran = grpo("verify", log(*rows))
    assert ran.code == 1
    assert "no known formula gives the logged advantages" in ran.err
    assert "for want of lengths" in ran.err


def test_a_list_of_tokens_that_is_constant_counts_as_its_value(grpo, log):
    rows = [
        {"prompt_id": "p", "reward": r, "advantages": [a] * n}
        for r, a, n in ((1, 0.5, 3), (0, -0.5, 2), (1, 0.5, 4), (0, -0.5, 1))
    ]
    assert grpo("verify", log(*rows), "-e", "dr-grpo").code == 0
    rows[2]["advantages"][1] = 0.25
    grpo("verify", log(*rows), "-e", "dr-grpo").refused("x.jsonl:3", "differs from token to token")


def test_the_field_and_the_bound_are_options(grpo, log):
    path = log(*({"prompt_id": "p", "reward": r, "mine": a} for r, a in ((1, 0.5004), (0, -0.5))))
    grpo("verify", path, "-e", "dr-grpo").refused("carries no advantages", "--logged", "mine")
    assert grpo("verify", path, "-e", "dr-grpo", "--logged", "mine").code == 1
    assert grpo("verify", path, "-e", "dr-grpo", "--logged", "mine", "--tol", "1e-3").code == 0


def test_what_compute_writes_verifies(grpo, log):
    path = log(a=[1, 0, 0.5, 0.25], b=[0.3, 0.9, 0.1], c=[1, 1])
    for spec in ("grpo", "rloo", "trl/grpo", "nemo-rl/grpo-loo", "grpo:ddof=1,eps=0.005"):
        assert grpo("compute", path, "-o", "out.jsonl", "-f", "-e", spec).code == 0
        assert grpo("verify", "out.jsonl", "-e", spec).code == 0
        named = grpo("verify", "out.jsonl", "--format", "json")
        assert named.code == 0, named.err
        assert any(spec in (row["formula"], *row["same_as"].split(", ")) for row in named.rows), spec


def test_like_auto_goes_by_the_layout(grpo, log):
    rewards = ["-r", "digit_reward", "-r", "math_only_reward=0.5"]
    assert grpo("verify", log(*trl_run()), "--like", "auto", *rewards).code == 0
    grpo("verify", log(a=[1, 0], name="plain.jsonl"), "--like", "auto").refused("which is no framework's", "trl")


@pytest.mark.skipif(not REAL.exists(), reason="the collected logs are not beside the checkout")
@pytest.mark.parametrize(
    ("names", "options", "formula", "rewards"),
    [
        (
            ["trl_run/group_completions_00001.parquet", "trl_run/group_completions_00002.parquet"],
            ["--like", "trl", "-r", "digit_reward", "-r", "math_only_reward=0.5", "-r", "const_reward=2"],
            "trl/grpo",
            "-r digit_reward -r math_only_reward=0.5",
        ),
        (["trl_run/none_completions_00001.parquet"], ["-e", "trl/dr-grpo"], "trl/dr-grpo", "-r digit_reward"),
        (
            ["trl_run/spg_completions_00001.parquet", "trl_run/spg_completions_00002.parquet"],
            ["--like", "trl"],
            "trl/grpo",
            "-r digit_reward",
        ),
        (["primerl_netlogs_step40.jsonl"], ["--like", "auto", "--group-size", "8"], "prime-rl/dr-grpo", "-r reward"),
        (["primerl_iiy6.jsonl"], ["--like", "auto"], "prime-rl/dr-grpo", "-r reward"),
        (["replays/openinstruct_rollouts_000000.jsonl"], ["-e", "open-instruct/grpo"], None, "-r reward"),
        (
            ["replays/msswift_completions.jsonl"],
            ["--like", "ms-swift", "-r", "accuracy_orm", "-r", "format=0.5"],
            "ms-swift/grpo",
            "-r accuracy_orm[] -r format[]=0.5",
        ),
        (
            ["replays/nemorl_train_data_step1.jsonl", "--group-size", "4"],
            ["--like", "nemo-rl"],
            "nemo-rl/grpo-loo",
            "-r rewards[]",
        ),
    ],
)
def test_logs_that_frameworks_wrote(grpo, names, options, formula, rewards):
    files = [str(REAL / name) if (REAL / name).exists() else name for name in names]
    ran = grpo("verify", *files, *options)
    assert ran.code == 0, ran.err
    ran = grpo("verify", *files, "--format", "json")
    assert ran.code == 0, ran.err
    assert ran.rows[0]["rewards"] == rewards
    assert formula is None or ran.rows[0]["formula"] == formula
