"""The JSONL data sets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
from rewards import GROUP, SEED, rewards
from texts import texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

TOKENS = 1500


def completions(path: Path, rows: int) -> None:
    """Lines of some 600 bytes: a key, a reward, a completion."""
    rng = np.random.default_rng(SEED)
    _write(path, range(rows), rewards(rng, rows), _id, _completions(rng, 500))


def long_prompts(path: Path, rows: int) -> None:
    """Lines of 32 KB whose key is a prompt of 2 KB, as verl dumps them."""
    rng = np.random.default_rng(SEED)
    scores = rewards(rng, rows)
    prompts = [f"{at} {text}" for at, text in enumerate(texts(rng, rows // GROUP + 1, 2000))]
    asked = [json.dumps(prompt, ensure_ascii=False) for prompt in prompts]
    _write(path, range(rows), scores, asked.__getitem__, _completions(rng, 30_000))


def token_arrays(path: Path, rows: int) -> None:
    """Lines with token ids and two log-probabilities for each, as NeMo-RL logs them."""
    rng = np.random.default_rng(SEED)
    scores = rewards(rng, rows)
    drawn = []
    for _ in range(200):
        ids = rng.integers(0, 150_000, TOKENS).tolist()
        ours, theirs = (np.round(-rng.exponential(0.5, TOKENS), 8).tolist() for _ in range(2))
        drawn.append(f'"token_ids": {ids}, "generation_logprobs": {ours}, "prev_logprobs": {theirs}')
    _write(path, range(rows), scores, _id, (drawn[at] for at in rng.integers(0, len(drawn), rows).tolist()))


def step_files(path: Path, rows: int, files: int) -> None:
    """A folder with a file a step."""
    path.mkdir()
    rng = np.random.default_rng(SEED)
    fields = _completions(rng, 500)
    each = max(rows // files // GROUP, 1) * GROUP
    for step in range(files):
        uids = range(step * each, (step + 1) * each)
        _write(path / f"step_{step:04d}.jsonl", uids, rewards(rng, each), _id, fields)


def _write(path: Path, uids: range, scores: np.ndarray, key: Callable[[int], str], fields: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(
            f'{{"uid": {uid}, "prompt": {key(uid // GROUP)}, "reward": {score}, {rest}}}\n'
            for uid, score, rest in zip(uids, scores.tolist(), fields, strict=False)
        )


def _id(group: int) -> str:
    return f'"gsm8k-train-{group:07d}"'


def _completions(rng: np.random.Generator, size: int) -> Iterator[str]:
    drawn = [json.dumps(text, ensure_ascii=False) for text in texts(rng, max(64, (16 << 20) // size), size)]
    while True:
        for at in rng.integers(0, len(drawn), 4096).tolist():
            yield f'"completion": {drawn[at]}, "length": {at}'
