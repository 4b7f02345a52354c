"""`grpo-adv compute`: advantages, written back."""

from __future__ import annotations

from grpo_cli.options import EstimatorOptions, Files, LogOptions, OutputOptions, TableOptions, with_options
from grpo_cli.render.screen import Screen

EXAMPLES = """
grpo-adv compute log.parquet             # writes log.advantages.parquet
grpo-adv compute logs/ -i -e rloo        # adds the field to every log there
grpo-adv compute log.jsonl -g prompt -r acc -r format=0.5  # a weighted sum
cat log.jsonl | grpo-adv compute - | jq .advantage         # in a pipe
"""


@with_options
def compute(
    files: Files,
    log: LogOptions,
    estimator: EstimatorOptions,
    output: OutputOptions,
    table: TableOptions,
    screen: Screen,
) -> None:
    """Compute the advantages of a log and write them back into it, leaving everything else as it is.

    The default is grpo: (r - mean) / std over each group, with the population std (ddof 0) and eps 0. A group is
    the rollouts of one prompt at one step. Ends with the groups that say most, and how many carry no signal.
    """
    from grpo_cli.commands.formula import chosen, offer
    from grpo_cli.commands.opening import opened
    from grpo_cli.commands.views.compute_fields import new_fields
    from grpo_cli.commands.views.compute_report import report
    from grpo_cli.commands.views.log import groups_table, summarised
    from grpo_cli.core.steps import advantages
    from grpo_cli.logs.files.source import bytes_of, find
    from grpo_cli.logs.writing.output import plan
    from grpo_cli.logs.writing.write_back import write_back
    from grpo_cli.render.screen import check_sort

    found = find(files)
    formula = chosen(estimator, log, found)
    targets = plan(found.files, output=output.output, in_place=output.in_place, force=output.force)
    with opened(found, log, screen, roles=formula.needs, baseline=formula.baseline_field or None) as rollouts:
        advantage = advantages(rollouts.frame, formula, weights=rollouts.reading.weights, tolerance=log.tolerance)
        groups = summarised(rollouts, log)
        check_sort(groups_table(rollouts, groups.head(0)).columns, table.sort)
        fields, note = new_fields(rollouts, advantage, groups, formula, output)
        with screen.progress.stage("writing", bytes_of(found.files)):
            written = write_back(rollouts, targets, fields)
        report(screen, rollouts, groups, advantage, formula, written, log, table, note)
        if not estimator.given and (own := offer(rollouts, formula)):
            screen.note(own)
