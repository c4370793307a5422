"""The help of a command, or of geomsolve itself."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import CompletionItem

from geomsolve.cli.output import debug_option
from geomsolve.errors import nearest


def _commands(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    group: Any = context.find_root().command
    return [CompletionItem(name) for name in group.list_commands(context) if name.startswith(begun)]


@click.command("help", epilog="Example: geomsolve help imbalance")
@click.argument("command", required=False, metavar="[COMMAND]", shell_complete=_commands)
@debug_option
@click.pass_context
def command(context: click.Context, command: str | None) -> int:
    """Show the help of COMMAND, or what commands there are."""
    root = context.find_root()
    group: Any = root.command
    if command is None:
        click.echo(group.get_help(root))
        return 0
    found = group.get_command(root, command)
    if found is None:
        known = group.list_commands(root)
        raise click.UsageError(f"there is no command {command!r}; {nearest(command, known)}", context)
    with click.Context(found, info_name=command, parent=root) as inner:
        click.echo(found.get_help(inner))
    return 0
