"""A command that is asked about, not run: itself, and a context as it has on the command line."""

from __future__ import annotations

import importlib
from typing import Any

import click

SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
"""How every context is set.  A command remembers the flags of help that its first context has."""


def command_of(name: str) -> click.Command:
    """The command called ``name``."""
    found: click.Command = importlib.import_module(f"geomsolve.cli.commands.{name.replace('-', '_')}").command
    return found


def context_of(command: click.Command, name: str | None = None) -> click.Context:
    """A context of ``command``."""
    return click.Context(command, info_name=name, **SETTINGS)
