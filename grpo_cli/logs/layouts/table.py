"""What each framework writes: a table of data. A new layout is one row and a sample; the last row takes any log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from grpo_cli.logs.layouts.layout import PER_GROUP_SIZE, RECORD, Layout
from grpo_cli.logs.layouts.roles import COMPLETIONS, LENGTHS, LOGGED, PROMPT_IDS, PROMPTS, REWARDS, STEPS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

_EVAL_FOLDER = r"/(?:test|(?:[^/]*[_.-])?(?:val|valid|validation|evals?)(?:[_.-][^/]*)?)/[^/]*$"
_STEP_FOLDER = r"(?:^|[/_])step_?(\d+)/"
_ROLLOUTS = ("rollouts", "samples", "trajectories", "completions", "responses", "generations", "attempts", "episodes")


def _each(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{name}[]" for name in names)


_ROWS: tuple[Layout, ...] = (
    Layout(
        name="nemo-rl",
        summary="NeMo-RL train_data_step*.jsonl: every value in a list of length 1, beside idx",
        shape="columns",
        has=("idx", "rewards|filtered_rewards", "content|token_ids"),
        holds={"rewards": "list"},
        is_wrapped=True,
        roles={
            "key": (f"idx{PER_GROUP_SIZE}",),
            "reward": ("filtered_rewards[]", "rewards[]"),
            "completion": ("content[]",),
            "logged": ("advantages[][-1]",),
        },
        step_path=r"(?:train|val)_data_step(\d+)",
        splits={"train": r"(?:^|/)train_data_step[^/]*$", "eval": r"(?:^|/)val_data_step[^/]*$"},
    ),
    Layout(
        name="ms-swift",
        summary="ms-swift completions.jsonl: a line is a table of one generation batch",
        shape="columns",
        has=("step|gen_step", "prompt", "completion"),
        is_table=True,
        rewards_follow="completion",
        roles={
            "key": ("prompt[]",),
            "step": ("step[]", "gen_step[]"),
            "completion": ("completion[]",),
            "logged": ("advantages[]",),
        },
    ),
    Layout(
        name="roll",
        summary="ROLL rollout_dump_data.step_*.jsonl: a line is a table of one step",
        shape="columns",
        has=("scores", "responses", "id|prompt|messages"),
        is_table=True,
        roles={
            "key": ("id[]", "prompt[]", "messages[]"),
            "reward": ("scores[]",),
            "step": ("global_step[]",),
            "completion": ("responses[]",),
        },
        step_path=r"\.step_(\d+)\.",
    ),
    Layout(
        name="atropos",
        summary="Atropos groups: a line a group, with lists of tokens, masks and scores",
        shape="columns",
        has=("tokens", "masks", "scores"),
        holds={"scores": "numbers"},
        roles={
            "key": (RECORD,),
            "reward": ("scores[]",),
            "completion": ("messages[]",),
            "logged": ("advantages[][-1]",),
        },
    ),
    Layout(
        name="rllm",
        summary="rLLM episodes, a line each",
        shape="objects",
        has=("trajectories", "task_hash", "training_step"),
        holds={"trajectories": "objects"},
        at="trajectories",
        roles={"key": ("task_hash",), "reward": ("trajectories[].reward",), "step": ("training_step",)},
    ),
    Layout(
        name="art-jsonl",
        summary="ART 2025 trajectories/SPLIT/0003.jsonl: a line a group, with a list of trajectories",
        shape="objects",
        has=("trajectories",),
        holds={"trajectories": "objects"},
        at="trajectories",
        roles={
            "key": (RECORD,),
            "reward": ("trajectories[].reward",),
            "completion": ("trajectories[].messages_and_choices", "trajectories[].messages"),
        },
        step_path=r"(?:^|[/_])(\d{4,})\.jsonl",
        splits={"train": r"trajectories/train/[^/]*$", "eval": r"trajectories/(?!train/)[^/]+/[^/]*$"},
        framework="art",
    ),
    Layout(
        name="verifiers-v1",
        summary="verifiers and prime-rl traces.jsonl: an episode a line, with a list of traces",
        shape="objects",
        has=("traces", "task|group|env"),
        holds={"traces": "objects"},
        at="traces",
        weighted="traces[].rewards",
        roles={
            "key": ("group.id", "task.key", "task.hash"),
            "reward": ("traces[].rewards",),
            "step": ("run.work.step",),
            "completion": ("traces[].nodes",),
            "logged": ("traces[].info.advantage",),
        },
        step_path=_STEP_FOLDER,
        splits={
            "train": r"(?:^|/)train/(?:[^/]+/)?[^/]*$",
            "eval": r"(?:^|/)evals?/(?:[^/]+/)?[^/]*$",
        },
        repeats=(r"/effective/", "/all/"),
        framework="prime-rl",
    ),
    Layout(
        name="art",
        summary="ART trajectories/SPLIT/0003.parquet: a row a trajectory",
        has=("group_index", "messages", "reward", "group_metadata|group_metrics|metadata"),
        roles={"key": ("group_index",), "reward": ("reward",), "completion": ("messages",)},
        step_path=r"(?:^|[/_])(\d{4,})\.(?:parquet|jsonl)",
        splits={"train": r"trajectories/train/[^/]*$", "eval": r"trajectories/(?!train/)[^/]+/[^/]*$"},
    ),
    Layout(
        name="prime-rl",
        summary="prime-rl platform samples: prompt and completion as JSON text",
        has=("problem_id", "env_name", "sample_id|run_id", "reward", "step"),
        roles={
            "key": ("env_name,problem_id",),
            "reward": ("reward",),
            "step": ("step",),
            "completion": ("completion",),
            "logged": ("advantage",),
        },
    ),
    Layout(
        name="open-instruct",
        summary="open-instruct RUN_rollouts_*.jsonl: token ids, and prompt_idx within a step",
        has=("prompt_idx", "sample_idx", "reward", "response_tokens"),
        roles={
            "key": ("prompt_idx",),
            "reward": ("reward",),
            "step": ("step",),
            "completion": ("response_tokens",),
            "length": ("response_tokens",),
            "logged": ("advantage",),
        },
    ),
    Layout(
        name="tinker",
        summary="tinker-cookbook rollout summaries",
        has=("group_idx", "traj_idx", "total_reward"),
        roles={"key": ("group_idx",), "reward": ("total_reward",), "step": ("iteration",)},
        step_path=r"(?:^|/)iteration_(\d+)/",
        splits={"train": r"(?:^|/)train_[^/]*$", "eval": r"(?:^|/)eval_[^/]*$"},
    ),
    Layout(
        name="areal",
        summary="AReaL DUMP/VERSION/TASK.jsonl: a file a group",
        has=("task_id", "sample_idx", "seqlen", "tail_version", "reward"),
        roles={"key": ("task_id",), "reward": ("reward",), "completion": ("completion",)},
        step_path=r"(?:^|/)(\d+)/[^/]+$",
    ),
    Layout(
        name="skyrl",
        summary="SkyRL dumped evals: score is a number, or one a token",
        has=("input_prompt", "output_response", "score"),
        roles={"key": ("input_prompt",), "reward": ("score",), "completion": ("output_response",)},
        step_path=r"global_step_(\d+)",
    ),
    Layout(
        name="verl-v1",
        summary="verl STEP.jsonl of its present trainer: uid is GROUP_ROLLOUT_OUTPUT",
        has=("input", "output", "score", "uid"),
        rollout="uid[:-1]",
        roles={
            "key": ("uid[:-2]", "uid", "input"),
            "reward": ("reward", "score+overlong_reward", "score"),
            "step": ("step",),
            "completion": ("output",),
            "logged": ("advantage", "advantages"),
        },
        step_path=r"(?:^|/)(\d+)\.(?:jsonl|parquet)",
        splits={"train": "", "eval": _EVAL_FOLDER},
        framework="verl",
    ),
    Layout(
        name="verl",
        summary="verl STEP.jsonl: the prompt's text is the only key",
        has=("input", "output", "score"),
        roles={
            "key": ("input",),
            "reward": ("reward", "score+overlong_reward", "score"),
            "step": ("step",),
            "completion": ("output",),
            "logged": ("advantage", "advantages"),
        },
        step_path=r"(?:^|/)(\d+)\.(?:jsonl|parquet)",
        splits={"train": "", "eval": _EVAL_FOLDER},
    ),
    Layout(
        name="nemo-gym",
        summary="NeMo-Gym *_rollouts.jsonl",
        has=("responses_create_params", "reward"),
        roles={
            "key": ("_ng_task_index", "responses_create_params.input", "responses_create_params"),
            "reward": ("reward",),
            "completion": ("response.output", "response"),
        },
    ),
    Layout(
        name="lm-eval",
        summary="lm-evaluation-harness samples_*.jsonl: a row a document and filter",
        has=("doc_id", "doc", "resps", "filtered_resps"),
        rewards_named_in="metrics",
        roles={
            "key": ("filter,doc_id", "doc_id"),
            "reward": (*REWARDS, "exact_match", "acc_norm", "f1"),
            "completion": ("filtered_resps",),
        },
    ),
    Layout(
        name="lighteval",
        summary="lighteval details_*.parquet: a row a document",
        has=("doc", "metric", "model_response"),
        holds={"doc": "object", "metric": "object"},
        roles={"key": ("doc.id", "doc.query"), "reward": ("metric.*",), "completion": ("model_response.text",)},
    ),
    Layout(
        name="verifiers",
        summary="verifiers results.jsonl, and prime-rl step_N/*_rollouts.jsonl",
        has=("example_id|id", "prompt", "completion", "reward", "answer|task|info|metrics|is_completed"),
        roles={
            "key": ("example_id", "id", "prompt"),
            "reward": ("reward",),
            "step": ("step",),
            "completion": ("completion",),
            "logged": ("advantage",),
        },
        step_path=_STEP_FOLDER,
        splits={"train": r"(?:^|/)train_[^/]*$", "eval": r"(?:^|/)eval_[^/]*$"},
        framework="prime-rl",
    ),
    Layout(
        name="ms-swift-ray",
        summary="ms-swift completions.jsonl of its Ray backend: a row a rollout",
        has=("gen_step", "prompt", "completion", "reward"),
        roles={"key": ("prompt",), "reward": ("reward",), "step": ("gen_step",), "completion": ("completion",)},
        framework="ms-swift",
    ),
    Layout(
        name="trl",
        summary="TRL completions_*.parquet: a column a reward function, no total",
        has=("step", "prompt", "completion", "advantage"),
        lacks=("reward", "total_reward", "reward_total", "rewards", "final_reward", "return", "episode_reward"),
        rewards_follow="completion",
        roles={
            "key": ("prompt",),
            "reward": REWARDS,
            "step": ("step",),
            "completion": ("completion",),
            "logged": ("advantage",),
        },
        step_path=r"completions_(\d+)",
    ),
    *(
        Layout(
            name=f"groups-{rewards}",
            summary=f"a record a group: the prompt once, and lists of completions and {rewards}",
            shape="columns",
            has=(rewards, "|".join(_ROLLOUTS[1:])),
            holds={rewards: "numbers"},
            roles={
                "key": (*PROMPT_IDS, *PROMPTS, RECORD),
                "reward": (f"{rewards}[]",),
                "step": STEPS,
                "completion": _each(_ROLLOUTS[1:]),
                "logged": _each(LOGGED),
            },
        )
        for rewards in ("rewards", "scores")
    ),
    *(
        Layout(
            name=f"groups-{rollouts}",
            summary=f"a record a group: the prompt once, and a list of {rollouts}",
            shape="objects",
            has=(rollouts,),
            holds={rollouts: "objects"},
            lacks=REWARDS,
            at=rollouts,
            roles={
                "key": (*PROMPT_IDS, *PROMPTS, RECORD),
                "reward": tuple(f"{rollouts}[].{name}" for name in REWARDS),
                "step": STEPS,
                "completion": tuple(f"{rollouts}[].{name}" for name in COMPLETIONS),
                "logged": tuple(f"{rollouts}[].{name}" for name in LOGGED),
            },
        )
        for rollouts in _ROLLOUTS
    ),
    Layout(
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
    ),
)

LAYOUTS: Mapping[str, Layout] = {layout.name: layout for layout in _ROWS}
PLAIN: Final = LAYOUTS["plain"]


def recognise(names: Collection[str], sample: Sequence[Mapping[str, Any]]) -> Layout:
    """The first layout that fits records with the top-level fields `names`."""
    return next(layout for layout in LAYOUTS.values() if layout.matches(names, sample))
