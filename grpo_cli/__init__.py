"""Group-relative advantages over the rollout logs that GRPO training leaves behind."""

__version__ = "0.1.0"
