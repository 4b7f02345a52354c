"""x"""

from grpo_cli.options import Files, with_options
from grpo_cli.render.screen import Screen

EXAMPLES = "a"


@with_options
def explain(files: Files, screen: Screen) -> None:
    """X"""
