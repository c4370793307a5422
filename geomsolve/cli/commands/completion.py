"""What a shell needs to complete commands, flags, losses and data sets."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from geomsolve.cli.output import debug_option


@click.command("completion", epilog="Example: geomsolve completion zsh")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@debug_option
@click.pass_context
def command(context: click.Context, shell: str) -> int:
    """Print a script that completes commands, flags, losses, weightings and data sets in SHELL.

    \b
    bash:  geomsolve completion bash > ~/.geomsolve.bash; echo '. ~/.geomsolve.bash' >> ~/.bashrc
    zsh:   geomsolve completion zsh > ~/.geomsolve.zsh;   echo '. ~/.geomsolve.zsh' >> ~/.zshrc
    fish:  geomsolve completion fish > ~/.config/fish/completions/geomsolve.fish
    """
    found = get_completion_class(shell)
    assert found is not None
    root = context.find_root().command
    completer = found(root, {}, "geomsolve", "_GEOMSOLVE_COMPLETE")
    click.echo(completer.source_template % completer.source_vars())
    return 0
