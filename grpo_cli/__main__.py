"""`python -m grpo_cli` is `grpo-adv`."""

from grpo_cli.app import main

main()
