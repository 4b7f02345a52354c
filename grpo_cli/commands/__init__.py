"""The commands in their panels, each with the first sentence of its help: a list of them need not load them."""

from __future__ import annotations

from typing import Final

PANELS: Final = {
    "Compute": {
        "compute": "Compute the advantages of a log and write them back into it, leaving everything else as it is.",
        "filter": "Keep or drop whole groups or prompts, by status, pass rate, spread or any condition; rows stay as"
        " they are.",
    },
    "Look": {
        "stats": "Give one account of a log: sizes, how many groups are dead, how the rewards spread, which of them"
        " dominates.",
        "groups": "Show a row per group (or prompt): size, rewards, pass rate, and its status: mixed, or dead and why.",
        "show": "Show the rollouts of groups: the prompt once, then each with its rewards, advantage, length and text.",
        "trend": "Show how a run develops, a row per step: reward, pass rate, spread within groups, and how many are"
        " dead.",
        "passk": "Estimate pass@k, the chance that one of k rollouts passes, and pass^k, the chance that all k do.",
        "compare": "Compare what several estimators make of one log.",
        "diff": "Compare two logs prompt by prompt, whatever the step: what changed, with an interval, and which"
        " prompts moved.",
        "explain": "Explain the advantages of one group: its rewards, what is subtracted, what it is divided by, what"
        " comes out.",
    },
    "Check": {
        "verify": "Verify the advantages that a log carries.",
        "gate": "Check a log against bounds, and exit with 1 if one does not hold: for a pipeline, or while a run"
        " goes on.",
    },
    "Files": {
        "inspect": "Inspect a log: its format and layout, its fields and what they are read as, its groups and its"
        " faults.",
        "estimators": "List the estimators and the frameworks with their formulas.",
    },
}
