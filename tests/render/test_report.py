import polars as pl
import pytest

from grpo_cli.frame import Status
from grpo_cli.render.report import Calculation, CalculationStep, account, calculation, headline
from grpo_cli.render.screen import Screen
from grpo_cli.render.tables import Kind, Table
from grpo_cli.render.text import width


def statuses(mixed=0, all_pass=0, all_fail=0, tied=0, singleton=0, unscored=0, size=5):
    groups = [mixed, all_pass, all_fail, tied, singleton, unscored]
    rows = [n if i == 4 else n * size for i, n in enumerate(groups)]
    frame = pl.DataFrame({"status": list(Status), "groups": groups, "rollouts": rows})
    return frame.with_columns(
        group_share=pl.col("groups") / max(sum(groups), 1), rollout_share=pl.col("rollouts") / max(sum(rows), 1)
    )


@pytest.mark.parametrize(
    ("counts", "sentence"),
    [
        (
            {"mixed": 5, "all_pass": 1, "all_fail": 1, "tied": 1},
            "3 of 8 groups (38 %) carry no signal: 1 all-pass, 1 all-fail, 1 tied; 15 of 40 rollouts",
        ),
        (
            {"mixed": 3, "tied": 1, "singleton": 1, "unscored": 1},
            (
                "1 of 6 groups (17 %) carries no signal: 1 tied; 5 of 26 rollouts;"
                " besides, 1 singleton and 1 unscored group"
            ),
        ),
        ({"all_fail": 1}, "1 of 1 group (100 %) carries no signal: 1 all-fail; 5 of 5 rollouts"),
        ({"all_fail": 4}, "4 of 4 groups (100 %) carry no signal: 4 all-fail; 20 of 20 rollouts"),
        ({"mixed": 999, "tied": 1}, "1 of 1000 groups (<1 %) carries no signal: 1 tied; 5 of 5000 rollouts"),
        ({"mixed": 1, "tied": 999}, "999 of 1000 groups (>99 %) carry no signal: 999 tied; 4995 of 5000 rollouts"),
        ({"mixed": 8}, "all 8 groups carry signal: rewards differ within each"),
        ({"mixed": 1}, "the one group carries signal: rewards differ within it"),
        ({"mixed": 2, "singleton": 1}, "0 of 3 groups have zero variance; besides, 1 singleton"),
        ({"singleton": 40}, "0 of 40 groups have zero variance; besides, 40 singletons"),
        ({}, "no groups"),
    ],
)
def test_the_headline_counts_zero_variance_and_names_the_rest_apart(counts, sentence):
    assert headline(statuses(**counts)) == sentence


def test_the_account_has_a_line_for_each_status_that_occurs():
    screen = Screen.in_memory(terminal=True)
    account(screen, statuses(mixed=5, all_pass=1, tied=2, singleton=2))
    assert screen.text() == (
        "\n"
        "3 of 10 groups (30 %) carry no signal: 1 all-pass, 2 tied; 15 of 42 rollouts;\n"
        "besides, 2 singletons\n"
        "status       groups  group_share  rollouts  rollout_share\n"
        "───────────────────────────────────────────────────────────────────────────\n"
        "◐ mixed           5         50 %        25         59.5 %  ████████\n"
        "✓ all-pass        1         10 %         5         11.9 %  █▋\n"
        "= tied            2         20 %        10         23.8 %  ███▎\n"
        "· singleton       2         20 %         2          4.8 %  ███▎\n"
    )
    assert not screen.text("err")


def test_an_account_of_nothing_is_its_headline():
    screen = Screen.in_memory()
    account(screen, statuses())
    assert screen.text() == "\nno groups\n"


def test_a_quiet_account_on_standard_error_is_silent():
    screen = Screen.in_memory(quiet=True)
    account(screen, statuses(mixed=1), to="err")
    assert not screen.text("err")
    assert not screen.text()


def worked(rewards=(1.0, 0.0, None), title="grpo on group 3f2a91"):
    rows = pl.DataFrame({"rollout": range(1, 4), "reward": [1.0, 0.0, None], "advantage": [1.0, -1.0, None]})
    return Calculation(
        title,
        rewards,
        [
            CalculationStep("mean", "sum of rewards / n = 1 / 2", 0.5),
            CalculationStep("sample std", "sqrt(sum of (r - mean)^2 / (n - 1))", 0.7071067811865476),
            CalculationStep("skew", "of two rewards: none", None),
        ],
        Table("rollouts", rows, {"rollout": Kind.COUNT, "reward": Kind.NUMBER, "advantage": Kind.NUMBER}),
        ["Positive advantages push a completion up."],
    )


def test_a_worked_calculation_goes_from_rewards_to_advantages():
    screen = Screen.in_memory(terminal=True)
    calculation(screen, worked())
    assert screen.text() == (
        "grpo on group 3f2a91\n"
        "\n"
        "  rewards     1 0 -\n"
        "              █▁\n"
        "  mean        0.5      sum of rewards / n = 1 / 2\n"
        "  sample std  0.7071   sqrt(sum of (r - mean)^2 / (n - 1))\n"
        "  skew             -   of two rewards: none\n"
        "\n"
        "rollout  reward  advantage\n"
        "──────────────────────────\n"
        "      1       1          1\n"
        "      2       0         -1\n"
        "      3       -          -\n"
        "\n"
        "Positive advantages push a completion up.\n"
    )


@pytest.mark.parametrize("columns", [20, 31, 47, 80, 200])
def test_a_worked_calculation_fits_its_terminal(columns):
    screen = Screen.in_memory(columns=columns, terminal=True)
    calculation(screen, worked([i / 7 for i in range(64)], title="grpo on [red]\x1b[2J " + "q" * 100))
    assert all(width(line) <= columns for line in screen.text().split("\n"))
    assert "[red]\\x1b[2J" in screen.text().replace("\n", "")
    account(screen, statuses(mixed=5, all_pass=1, tied=2, singleton=2))
    assert all(width(line) <= columns for line in screen.text().split("\n"))
