"""The roles that a field can play, and the names that the field's writers give to each, best first."""

from __future__ import annotations

from typing import Final, Literal

Role = Literal["key", "reward", "step", "completion", "length", "logged"]

WITHOUT_TAIL: Final = "uid[:-2]"
"""A `uid` of verl's present trainer is GROUP_ROLLOUT_OUTPUT: without its last two parts it names the group."""

PROMPT_IDS: Final = (
    "prompt_id", "group_id", "group_uid", WITHOUT_TAIL, "uid", "problem_id", "example_id", "question_id", "prompt_idx",
    "group_idx", "group_index", "task_id", "task_index", "_ng_task_index", "item_id", "qid", "doc_id", "task_hash",
    "prompt_hash", "id", "group.id", "doc.id", "task.key",
)  # fmt: skip
PROMPTS: Final = (
    "prompt", "input", "input_prompt", "question", "query", "problem", "instruction", "messages", "prompt_tokens",
    "responses_create_params.input", "responses_create_params",
)  # fmt: skip
WEAK_IDS: Final = ("uid", "id")
"""Names that often tell rows apart and not prompts: they are keys only where they repeat."""
CONVERSATIONS: Final = ("messages", "conversations")
"""A prompt and its answer in one: as a key, only where nothing better is there."""

REWARDS: Final = (
    "reward", "total_reward", "reward_total", "score", "scores", "filtered_rewards", "rewards", "final_reward",
    "return", "episode_reward", "correct", "is_correct", "acc", "accuracy", "success", "passed",
)  # fmt: skip
VERDICTS: Final = ("correct", "is_correct", "acc", "accuracy", "success", "passed")
"""Rewards that say right or wrong: totals where nothing else is called a reward, parts of one where something is."""
REWARD_PART: Final = r"(?:^|_)(?:reward|orm|format|accuracy)(?:_func)?$"
"""What the names of reward functions end in; read only where no total is there."""
STEPS: Final = (
    "step", "global_step", "training_step", "gen_step", "iteration", "rollout_step", "train_step", "step_index",
)  # fmt: skip
COMPLETIONS: Final = (
    "completion", "response", "responses", "output", "output_response", "text", "content", "answer_text",
    "model_response", "response_tokens", "messages", "conversations",
)  # fmt: skip
LENGTHS: Final = (
    "length", "response_length", "completion_length", "num_tokens", "seqlen", "response_tokens", "completion_tokens",
    "completion_ids", "token_ids",
)  # fmt: skip
LOGGED: Final = ("advantage", "advantages", "adv")
