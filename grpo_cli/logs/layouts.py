"""What each framework writes: a table of data. The last row, `plain`, takes any log.

A layout says which fields play which role. It never says which formula made a number: that is `core.frameworks`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

Role = Literal["key", "reward", "step", "completion", "length", "logged"]
Shape = Literal["row", "columns", "objects"]

PROMPT_IDS = (
    "prompt_id", "group_id", "group_uid", "uid", "problem_id", "example_id", "question_id", "prompt_idx", "group_idx",
    "group_index", "task_id", "task_index", "_ng_task_index", "item_id", "qid", "doc_id", "task_hash", "prompt_hash",
    "id", "group.id", "doc.id", "task.key",
)  # fmt: skip
PROMPTS = (
    "prompt", "input", "input_prompt", "question", "query", "problem", "instruction", "messages", "prompt_tokens",
    "responses_create_params.input", "responses_create_params",
)  # fmt: skip
WEAK_IDS = ("uid", "id")
"""Names that often tell rows apart and not prompts: they are keys only where they repeat."""
REWARDS = (
    "reward", "total_reward", "reward_total", "score", "scores", "filtered_rewards", "rewards", "final_reward", "return",
    "episode_reward", "correct", "is_correct", "acc", "accuracy", "success", "passed",
)  # fmt: skip
STEPS = (
    "step", "global_step", "training_step", "gen_step", "iteration", "rollout_step", "train_step", "step_index",
)  # fmt: skip
COMPLETIONS = (
    "completion", "response", "responses", "output", "output_response", "text", "content", "answer_text",
    "model_response", "response_tokens", "messages", "conversations",
)  # fmt: skip
LENGTHS = (
    "length", "response_length", "completion_length", "num_tokens", "seqlen", "response_tokens", "completion_tokens",
    "completion_ids", "token_ids",
)  # fmt: skip
LOGGED = ("advantage", "advantages", "adv")
OUTCOMES = ("acc", "correct", "is_correct", "success")


@dataclass(frozen=True)
class Layout:
    """How one framework lays its log out."""

    name: str
    summary: str
    shape: Shape = "row"
    signature: Collection[str] = ()
    """The top-level fields that tell this layout from every other; empty for the one that takes any log."""
    roles: Mapping[Role, tuple[str, ...]] = field(default_factory=dict)
    """The fields that may play each role, best first."""

    def matches(self, names: Collection[str]) -> bool:
        """Whether a log with these top-level fields is laid out like this."""
        return set(self.signature) <= set(names)


PLAIN = Layout(
    name="plain",
    summary="a record a rollout, with a prompt's id or text and a reward",
    roles={
        "key": (*PROMPT_IDS, *PROMPTS),
        "reward": REWARDS,
        "step": STEPS,
        "completion": COMPLETIONS,
        "length": LENGTHS,
        "logged": LOGGED,
    },
)

LAYOUTS: Mapping[str, Layout] = {layout.name: layout for layout in (PLAIN,)}


def recognise(names: Collection[str]) -> Layout:
    """The first layout whose signature is among the top-level fields `names`."""
    return next(layout for layout in LAYOUTS.values() if layout.matches(names))
