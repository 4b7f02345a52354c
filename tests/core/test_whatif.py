"""The share of informative groups at other sizes: exact where it was seen, and a sensible guess above."""

from __future__ import annotations

import itertools

import polars as pl
import pytest

from grpo_cli.core.whatif import Beta, chance_of_both, fitted_beta, informative_shares


def judged(*pairs: tuple[int | None, int | None]) -> pl.DataFrame:
    schema = {"judged": pl.Int64, "passed": pl.Int64}
    return pl.DataFrame(pairs, schema, orient="row")


@pytest.mark.parametrize(("n", "c"), [(4, 0), (4, 1), (5, 2), (6, 3), (6, 6)])
def test_a_smaller_group_is_a_draw_from_what_was_seen(n, c):
    marks = [1] * c + [0] * (n - c)
    for size in range(1, n + 1):
        draws = list(itertools.combinations(marks, size))
        both = sum(len(set(draw)) == 2 for draw in draws) / len(draws)
        assert chance_of_both(n, c, size, None) == pytest.approx(both, abs=1e-15)


def test_at_the_size_of_the_groups_it_is_the_share_that_is_mixed():
    table = informative_shares(judged((8, 0), (8, 3), (8, 8), (8, 5)), [8])
    assert table.rows() == [(8, 0.5, 4, 0)]


@pytest.mark.parametrize(("size", "share"), [(2, 0.298), (8, 0.799)])
def test_a_known_pass_rate_gives_the_binomial_share(size, share):
    # A beta distribution with no width: every prompt passes 18.19 % of the time, whatever was seen.
    rate, strong = 0.1819, 1e12
    beta = Beta(rate * strong, (1 - rate) * strong)
    expected = rate * chance_of_both(1, 1, size, beta) + (1 - rate) * chance_of_both(1, 0, size, beta)
    assert expected == pytest.approx(1 - rate**size - (1 - rate) ** size, abs=1e-9)
    assert round(expected, 3) == share


def test_a_beta_binomial_by_hand():
    # Uniform pass rates and one pass seen: beta(2, 1), under which one more fails with chance 1/3, ...
    assert chance_of_both(1, 1, 2, Beta(1.0, 1.0)) == pytest.approx(1 / 3)
    # ... and two more are not both passes with chance 1 - E[p^2] = 1 - 1/2.
    assert chance_of_both(1, 1, 3, Beta(1.0, 1.0)) == pytest.approx(1 / 2)
    # Three fails seen and one more: Laplace's rule of succession.
    assert chance_of_both(3, 0, 4, Beta(1.0, 1.0)) == pytest.approx(1 / 5)
    assert chance_of_both(3, 1, 4, Beta(1.0, 1.0)) == 1.0, "it is mixed already"


def test_the_fit_finds_uniform_pass_rates():
    # With p uniform, every count of passes from 0 to n is as likely as another.
    beta = fitted_beta([(8, c, 1000) for c in range(9)])
    assert beta.a == pytest.approx(1, rel=0.01)
    assert beta.b == pytest.approx(1, rel=0.01)


def test_prompts_that_are_all_of_one_kind_stay_so():
    table = informative_shares(judged(*[(8, 0)] * 50, *[(8, 8)] * 50), [8, 64])
    assert table["share"].to_list() == [0.0, pytest.approx(0.0, abs=1e-6)]
    assert table["extrapolated"].to_list() == [0, 100]


def test_prompts_that_differ_by_chance_only_share_one_rate():
    # Pairs as two tosses of a fair coin give them: half are mixed, the others are with 14 tosses more.
    table = informative_shares(judged(*[(2, 0), (2, 1), (2, 1), (2, 2)] * 2000), [16])
    assert table["share"].to_list() == [pytest.approx(1 - 2 * 0.5**16, rel=1e-3)]


def test_larger_groups_never_inform_less():
    table = informative_shares(
        judged((8, 0), (8, 1), (8, 8), (8, 7), (8, 4), (4, 2), (4, 0)), [1, 2, 3, 4, 5, 8, 9, 64, 1024]
    )
    shares = table["share"].to_list()
    assert shares[0] == 0.0
    assert shares == sorted(shares)
    assert 0 <= shares[-1] <= 1
    assert table["extrapolated"].to_list() == [0, 0, 0, 0, 2, 2, 7, 7, 7]


def test_nothing_to_go_by():
    assert informative_shares(judged((None, None), (0, 0)), [4]).rows() == [(4, None, 0, 0)]
    assert informative_shares(judged((4, 0), (4, 0)), [2, 4, 8])["share"].to_list() == [0.0, 0.0, None]
    assert informative_shares(judged(), [2])["share"].to_list() == [None]
