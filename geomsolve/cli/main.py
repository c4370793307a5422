"""The entry point: finds commands, and turns every error into one message and an exit code.

0  answered and certified        1  answered, but not certified or not as expected
2  bad flags or problem file     3  no solver gave a usable answer        130  interrupted
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any, NoReturn

import click

from geomsolve._version import __version__
from geomsolve.cli.inside import SETTINGS, command_of
from geomsolve.cli.notes import as_objects, say_waiting, taken
from geomsolve.cli.reader import prepare_streams, while_read
from geomsolve.errors import GeomsolveError, InputError, concise, nearest
from geomsolve.files import watching
from geomsolve.words import flag_of

_COMMANDS = Path(__file__).parent / "commands"


class Commands(click.Group):
    """A group whose commands are the modules of ``geomsolve.cli.commands``, imported only when one is run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(p.stem.replace("_", "-") for p in _COMMANDS.glob("[!_]*.py"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        return command_of(cmd_name)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and not args[0].startswith("-") and args[0] not in self.list_commands(ctx):
            from geomsolve.cli.hints import other_command

            hint = other_command(args[0], args[1:]) or nearest(args[0], self.list_commands(ctx))
            raise click.UsageError(f"there is no command {args[0]!r}; {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = []
        for name in self.list_commands(ctx):
            source = (_COMMANDS / f"{name.replace('-', '_')}.py").read_text(encoding="utf-8")
            rows.append((name, (ast.get_docstring(ast.parse(source)) or "").splitlines()[0]))
        with formatter.section("Commands"):
            formatter.write_dl(rows)


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings=SETTINGS,
    epilog="Example: geomsolve imbalance --props 0.7,0.2,0.1",
)
@click.version_option(__version__, prog_name="geomsolve")
@click.pass_context
def cli(context: click.Context) -> None:
    """Which embedding geometry does a contrastive loss want, and is that proven?

    Every answer is printed with a lower bound that is recomputed independently of the solver.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def fail(message: str, code: int, field: str = "") -> NoReturn:
    """Say what went wrong on stderr, with ``--json`` as an object that holds the notices, too, and end with ``code``;
    very long words and quotes are cut short."""
    said = concise(message)
    with contextlib.suppress(OSError, ValueError):  # who closed stderr does not want to know
        if as_objects():
            error: dict[str, Any] = {"error": {"message": said, "field": field or None}}
            if notes := taken():
                error["notes"] = notes
            click.echo(json.dumps(error, ensure_ascii=False), err=True)
        else:
            click.echo(f"Error: {f'{flag_of(field)}: ' if field else ''}{said}", err=True)
    sys.exit(code)


def main() -> None:
    """Run the command line; never shows a traceback unless ``--debug`` is among the flags."""
    # one thread of linear algebra: more gain little on these sizes, and cost much on a machine that is shared
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    prepare_streams()
    debug = "--debug" in sys.argv[1:]
    if not debug:  # to the end of the process: a warning of a library tells a user nothing to do
        warnings.showwarning = lambda *_, **__: None
    code = 0
    try:
        with while_read(), watching():
            code = cli.main(prog_name="geomsolve", standalone_mode=False)
        say_waiting()
    except click.UsageError as error:
        where = f" (see {error.ctx.command_path} --help)" if error.ctx else ""
        fail(f"{error.format_message()}{where}", 2)
    except click.ClickException as error:
        fail(error.format_message(), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        fail("interrupted", 130)
    except GeomsolveError as error:
        if debug:
            raise
        if isinstance(error, InputError) and error.field:
            fail(error.message, error.exit_code, error.field)
        fail(str(error), error.exit_code)
    except MemoryError:
        fail("out of memory; use fewer classes of different size, or fewer labels", 3)
    except OSError as error:
        if debug:
            raise
        fail(f"{error.filename or 'file'}: {error.strerror or error}", 2)
    except Exception as error:
        if debug:
            raise
        fail(f"internal error, please report it: {type(error).__name__}: {error} (--debug shows where)", 3)
    sys.exit(code if isinstance(code, int) else 0)
