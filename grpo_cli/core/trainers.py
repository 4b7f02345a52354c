"""The frameworks that train, each as its code was read on the day that its row says. Loads no Polars."""

from __future__ import annotations

from dataclasses import replace

from grpo_cli.core.chain import Step
from grpo_cli.core.conventions import constant_noise, framework, one, whitened

_PLAIN = Step()
_E4 = Step(ddof=1, eps=1e-4)
_E5 = Step(ddof=1, eps=1e-5)
_E6 = Step(ddof=1, eps=1e-6)
_POP6 = Step(ddof=0, eps=1e-6)
_POP8 = Step(ddof=0, eps=1e-8)
_ADD_VAR = Step(ddof=1, eps=1e-8, eps_mode="add-var", weighting="tokens")
_CLAMP_VAR = Step(ddof=0, eps=1e-8, eps_mode="clamp-var", weighting="tokens")
_CENTRE_TOKENS = Step(subtract="batch-mean", weighting="tokens")
_E5_TOKENS = replace(_E5, weighting="tokens")
_ROLL = replace(_E6, lone_batch="null")
_AGENTIC = replace(_ROLL, zero_up_to=1e-6)


def _grpo(base: Step) -> Step:
    return replace(base, divide="group-std")


_VARIANCE = "the one-pass variance in float32 there loses its digits for large rewards (NaN, or no scaling)"

TRAINERS = (
    framework(
        "trl",
        "TRL",
        "f2cd57710ae3 2026-07-24",
        "trl/trainer/grpo_trainer.py::GRPOTrainer, rloo_trainer.py::RLOOTrainer",
        one("grpo", "scale_rewards=group", _E4),
        one("dr-grpo", "scale_rewards=none", _E4),
        one("lite-ppo", "scale_rewards=batch", _E4),
        one("rloo", "RLOOTrainer", _E4),
        whitened("rloo-normalized", "RLOOTrainer normalize_advantages", _E4, Step(subtract="loo"), singleton="exclude"),
        whitened("gdpo", "multi_objective_aggregation=normalize_then_sum", _E4, _grpo(_E4), per_part=True),
        one(
            "grpo-replay-buffer",
            "experimental GRPOWithReplayBufferTrainer",
            _E4,
            divide="group-std",
            missing="zero-reward",
            singleton="null",
        ),
        missing="zero-advantage",
        note=constant_noise("7e-5"),
    ),
    framework(
        "trl-async",
        "TRL AsyncGRPOTrainer",
        "f2cd57710ae3 2026-07-24",
        "trl/experimental/async_grpo/async_rollout_worker.py::AsyncRolloutWorker",
        one("grpo", "always; rewards are not weighted", _POP8),
        missing="zero-advantage",
    ),
    framework(
        "verl",
        "verl",
        "1dda039b9c63 2026-08-22",
        "verl/trainer/ppo/core_algos.py",
        one("grpo", "adv_estimator=grpo", _E6),
        one("dr-grpo", "adv_estimator=grpo, norm_adv_by_std_in_grpo=False", _E6),
        one("grpo-vectorized", "adv_estimator=grpo_vectorized", _E6, divide="group-std"),
        one("rloo", "adv_estimator=rloo", _E6),
        one("rloo-vectorized", "adv_estimator=rloo_vectorized", _E6, subtract="loo", singleton="zero"),
        whitened("reinforce++", "adv_estimator=reinforce_plus_plus", _ADD_VAR),
        whitened("reinforce++-baseline", "adv_estimator=reinforce_plus_plus_baseline", _ADD_VAR, _PLAIN),
        one("opo", "adv_estimator=opo", _E6),
        one("gpg", "adv_estimator=gpg", _E6),
        one("passk-max", "adv_estimator=grpo_passk", _E6, singleton="error"),
        one("remax", "adv_estimator=remax", _E6),
        whitened("gdpo", "adv_estimator=gdpo", _ADD_VAR, _grpo(_E6), per_part=True),
        missing="propagate",
        singleton="reward",
        note=constant_noise("0.007"),
    ),
    framework(
        "openrlhf",
        "OpenRLHF",
        "3c3be6234e0c 2026-08-13",
        "openrlhf/trainer/ppo_utils/experience_maker.py::compute_advantages_and_returns",
        one("grpo", "advantage.estimator=group_norm", Step(ddof=1, eps=1e-9)),
        one("dr-grpo", "advantage.estimator=dr_grpo", Step(ddof=1, eps=1e-9), singleton="zero"),
        one("rloo", "advantage.estimator=rloo", Step(ddof=1, eps=1e-9), singleton="error"),
        whitened("reinforce++", "advantage.estimator=reinforce", _CLAMP_VAR),
        whitened(
            "reinforce++-baseline",
            "advantage.estimator=reinforce_baseline",
            _CLAMP_VAR,
            _PLAIN,
            singleton="zero",
        ),
        whitened(
            "reinforce++-baseline-centred",
            "advantage.estimator=reinforce_baseline, no_std_norm",
            _CENTRE_TOKENS,
            _PLAIN,
            singleton="zero",
        ),
        missing="propagate",
        singleton="null",
        note=constant_noise("0.9"),
    ),
    framework(
        "ms-swift",
        "ms-swift",
        "3602360a5623 2026-08-22",
        "swift/rl_core/advantage.py::compute_advantages, compute_advantages_dynamic",
        one("grpo", "advantage_estimator=grpo, scale_rewards=group", _E4),
        one("dr-grpo", "advantage_estimator=grpo, scale_rewards=none", _E4),
        one("lite-ppo", "advantage_estimator=grpo, scale_rewards=batch", _E4),
        one("rloo", "advantage_estimator=rloo, scale_rewards=none", _E4),
        one("rloo-group-std", "advantage_estimator=rloo, scale_rewards=group", _E4),
        one("rloo-batch-std", "advantage_estimator=rloo, scale_rewards=batch", _E4),
        one(
            "reinforce++-baseline",
            "advantage_estimator=reinforce_plus_plus, scale_rewards=batch",
            _E4,
            divide="batch-std-centered",
        ),
        one(
            "reinforce++-group",
            "advantage_estimator=reinforce_plus_plus, scale_rewards=group",
            _E4,
            divide="group-std-centered",
        ),
        whitened(
            "gdpo",
            "scale_rewards=gdpo",
            Step(ddof=1, eps=1e-8),
            _grpo(Step(ddof=1, eps=1e-8)),
            per_part=True,
            missing="zero-part",
        ),
        missing="zero-reward",
        note=constant_noise("7e-5"),
    ),
    framework(
        "nemo-rl",
        "NeMo RL",
        "7ea279abfbeb 2026-08-22",
        "nemo_rl/algorithms/advantage_estimator.py, utils.py::calculate_baseline_and_std_per_prompt",
        one("grpo-loo", "adv_estimator.name=grpo", _E6),
        one("grpo", "adv_estimator.name=grpo, use_leave_one_out_baseline=False", _E6),
        one("rloo", "adv_estimator.name=grpo, normalize_rewards=False", _E6),
        one("dr-grpo", "as rloo, use_leave_one_out_baseline=False", _E6),
        whitened("reinforce++", "adv_estimator.name=reinforce_plus_plus, minus_baseline=False", _CLAMP_VAR),
        whitened("reinforce++-baseline", "adv_estimator.name=reinforce_plus_plus", _CLAMP_VAR, _PLAIN),
        whitened(
            "gdpo-loo",
            "adv_estimator.name=gdpo",
            Step(ddof=1),
            replace(_E6, subtract="loo", divide="loo-std"),
            per_part=True,
        ),
        whitened(
            "gdpo",
            "adv_estimator.name=gdpo, use_leave_one_out_baseline=False",
            Step(ddof=1),
            _grpo(_E6),
            per_part=True,
        ),
        one("raw", "normalize_advantages=False", _E6),
        missing="propagate",
        note="the std of the others, where they are equal, is rounding noise there (7 x 0.35 and one 0.95 give "
        f"3692.7); here such a row is not divided (0.6); {_VARIANCE}",
    ),
    framework(
        "slime",
        "slime",
        "624b824a898a 2026-08-21",
        "slime/ray/rollout.py::_post_process_rewards, utils/distributed_utils.py::distributed_masked_whiten",
        one("grpo", "advantage_estimator=grpo", _E6),
        one("dr-grpo", "--disable-grpo-std-normalization", _E6, singleton="zero"),
        whitened("grpo-whitened", "normalize_advantages", _ADD_VAR, _grpo(_E6)),
        whitened("reinforce++", "advantage_estimator=reinforce_plus_plus", _ADD_VAR),
        whitened(
            "reinforce++-baseline",
            "advantage_estimator=reinforce_plus_plus_baseline",
            _ADD_VAR,
            _PLAIN,
            singleton="zero",
        ),
        missing="propagate",
        singleton="null",
        note=f"groups of unequal size are taken as one group there, not here; {_VARIANCE}",
    ),
    framework(
        "roll",
        "ROLL",
        "8eb27cc2dc34 2026-08-19",
        "roll/utils/functionals.py::reward_norm",
        one("grpo", "norm_mean_type=group, norm_std_type=group", _ROLL),
        one("dr-grpo", "norm_mean_type=group, norm_std_type=None", _ROLL, singleton="zero"),
        one("lite-ppo", "norm_mean_type=group, norm_std_type=batch", _ROLL, singleton="zero"),
        one("batch-norm", "norm_mean_type=batch, norm_std_type=batch", _ROLL),
        one("batch-centred", "norm_mean_type=batch, norm_std_type=None", _ROLL),
        one("batch-std", "norm_mean_type=None, norm_std_type=batch", _ROLL, subtract="none", divide="batch-std"),
        whitened(
            "lite-ppo-whitened",
            "as lite-ppo, whiten_advantages",
            _ADD_VAR,
            replace(_ROLL, divide="batch-std"),
            singleton="zero",
        ),
        missing="propagate",
        singleton="null",
        note=constant_noise("0.007"),
    ),
    framework(
        "roll-agentic",
        "ROLL agentic",
        "8eb27cc2dc34 2026-08-19",
        "roll/pipeline/agentic/utils.py::agentic_reward_norm",
        one("grpo", "norm_mean_type=group, norm_std_type=group", _AGENTIC),
        one("dr-grpo", "norm_mean_type=group, norm_std_type=None", _AGENTIC),
        one("lite-ppo", "norm_mean_type=group, norm_std_type=batch", _AGENTIC),
        one("batch-norm", "norm_mean_type=batch, norm_std_type=batch", _AGENTIC),
        one(
            "batch-mean-group-std",
            "norm_mean_type=batch, norm_std_type=group",
            _AGENTIC,
            subtract="batch-mean",
            divide="group-std",
        ),
        missing="propagate",
        note=constant_noise("0.007"),
    ),
    framework(
        "areal",
        "AReaL",
        "cbff54d645d2 2026-08-22",
        "areal/utils/data.py::Normalization",
        one("grpo", "reward_norm mean group, std group; adv_norm null", _E5),
        one("dr-grpo", "reward_norm mean group, std null", _E5),
        one("rloo", "reward_norm mean group leave1out, std null", _E5),
        one(
            "rloo-group-std",
            "reward_norm mean group leave1out, std group",
            _E5,
            subtract="loo",
            divide="group-std-centered",
        ),
        one("lite-ppo", "reward_norm mean group, std batch", _E5, divide="batch-std-centered"),
        one("batch-norm", "reward_norm mean batch, std batch", _E5),
        one("batch-loo", "reward_norm mean batch leave1out, std null", _E5, subtract="batch-loo"),
        whitened("grpo-whitened", "gsm8k_grpo.yaml", _E5_TOKENS, _grpo(_E5)),
        whitened("dr-grpo-whitened", "the Dr. GRPO yaml: adv_norm over the batch", _E5_TOKENS, _PLAIN),
        whitened("rloo-normalized", "the RLOO yaml", _E5_TOKENS, Step(subtract="loo")),
        whitened("lite-ppo-whitened", "the Lite PPO yaml", _E5_TOKENS, replace(_E5, divide="batch-std-centered")),
        missing="propagate",
        note=constant_noise("7e-4"),
    ),
)
"""The larger trainers."""
