"""Flags that several commands share, each said once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem
from pydantic import BaseModel

from geomsolve.cli.notes import note
from geomsolve.cli.output import Output, debug_option, json_option, no_color_option
from geomsolve.errors import InputError
from geomsolve.files import refuse_overwriting
from geomsolve.plots import STYLE_NAMES, check_file, size_of
from geomsolve.registry import LOSSES, PAIR_LOSSES, TEMPERATURE, Parameter, Registry, spelled
from geomsolve.solvers.choose import SOLVERS
from geomsolve.words import digits_asked, listing

F = TypeVar("F", bound=Callable[..., Any])


def stacked(*decorators: Callable[[Any], Any]) -> Callable[[F], F]:
    """Several click options as one decorator, shown by ``--help`` in the order given."""

    def apply(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return apply


def _picture(context: click.Context, parameter: click.Parameter, path: str | None) -> str | None:
    if path is not None:
        check_file(path)  # before anything is solved
    return path


def _size(context: click.Context, parameter: click.Parameter, text: str | None) -> tuple[float, float] | None:
    return None if text is None else size_of(text)


def output_options(function: Callable[..., int]) -> Callable[..., int]:
    """The flags on where an answer goes, passed to ``function`` as one :class:`Output`.

    Of the other flags it gets those that were given.
    """

    @functools.wraps(function)
    def command(**flags: Any) -> int:
        common = {field.name: flags.pop(field.name) for field in fields(Output) if field.name in flags}
        for name in ("style", "size"):
            if common[name] is not None and common["plot"] is None:
                raise InputError("this is about a picture; name its file by --plot", field=name)
        given = {
            name: common.get(name) or flags.get(name) for name in ("out", "csv_file", "html", "jsonl", "plot", "proof")
        }
        written = tuple((name.removesuffix("_file"), path) for name, path in given.items() if path)
        refuse_overwriting(written)
        output = Output(**common, written=written)
        with digits_asked(output.digits):
            return function(output, **{key: value for key, value in flags.items() if value is not None})

    return stacked(
        click.option(
            "--plot", metavar="FILE", callback=_picture, help="Also draw the answer into FILE (png, svg or pdf)."
        ),
        click.option(
            "--style", type=click.Choice(STYLE_NAMES), help="Of the picture (default paper); slide has larger letters."
        ),
        click.option(
            "--size", metavar="W,H", callback=_size, help="Width and height of the picture in inches, as 6,4."
        ),
        json_option,
        click.option(
            "--out", type=click.Path(dir_okay=False), metavar="FILE", help="Also write the JSON object to FILE."
        ),
        click.option(
            "--digits",
            type=click.IntRange(1, 200),
            metavar="N",
            help="Digits of losses, cosines, angles and thresholds (default: as many as are worth reading).",
        ),
        click.option("--quiet", is_flag=True, help="Only the sentence with the answer; no notices."),
        no_color_option,
        debug_option,
    )(command)


solver_options = stacked(
    click.option("--solver", metavar="|".join(SOLVERS), help="How to solve (default auto, which says what it chose)."),
    click.option(
        "--tolerance", type=float, metavar="TOL", help="Relative gap that counts as certified (default 1e-6)."
    ),
    click.option("--seed", type=int, metavar="N", help="Seed of anything random (default 0)."),
)


def _datasets(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    from geomsolve.reading.datasets import EXAMPLES

    return [CompletionItem(name) for name in EXAMPLES if name.startswith(begun)]


class_options = stacked(
    click.option(
        "--props",
        metavar="LIST",
        help="Class proportions: 0.7,0.2,0.1, 70%,20%,10%, 8:1:1, a:0.7,b:0.3, 90*0.01,0.1, 1/3,2/3, @file or -.",
    ),
    click.option("--counts", metavar="LIST", help="Samples of each class: 500,100,20, cat:500,dog:100, @file or -."),
    click.option(
        "--labels", metavar="LABELS", help="The class of each sample: cat,cat,dog, @y.txt, @train.csv:label, @y.npy."
    ),
    click.option(
        "--dataset",
        metavar="NAME",
        shell_complete=_datasets,
        help="A built-in data set; see geomsolve list datasets.",
    ),
    click.option("--names", metavar="LIST", help="Class names, one a class."),
)


class ChoiceOption(click.Option):
    """A flag that names a choice of a registry, or of one ``more``, and brings along a flag for every parameter that
    some choice takes."""

    def __init__(
        self, *declarations: Any, registry: Registry[Any], more: Sequence[Registry[Any]] = (), **settings: Any
    ) -> None:
        super().__init__(*declarations, **settings)
        self.registries = (registry, *more)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        known = {name: cls.summary for registry in self.registries for name, cls in registry.items()}
        return [CompletionItem(name, help=known[name]) for name in sorted(known) if name.startswith(incomplete)]


class Command(click.Command):
    """A command whose flags for parameters are made when it runs, of every choice that is registered by then."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        self.written = list(args)
        try:
            return super().parse_args(ctx, self.in_own_words(ctx, args))
        except click.UsageError as error:
            hint = self.hint() or self.elsewhere(error)
            if not hint:
                raise
            raise click.UsageError(
                f"{(error.message or error.format_message()).removesuffix('.')}; {hint}", ctx
            ) from None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except InputError as error:
            hint = self.hint()
            if not hint:
                raise
            raise InputError(f"{error.message}; {hint}", field=error.field, rest=error.rest) from None

    def hint(self) -> str:
        """The line that is meant, where what was written is most likely another one."""
        from geomsolve.cli.hints import next_step

        return next_step(self, self.written)

    def elsewhere(self, error: click.UsageError) -> str:
        """Which commands have the flag that this one has not; '' where none has or a slip of a letter is likelier."""
        from geomsolve.cli.hints import commands_with

        if not isinstance(error, click.NoSuchOption):
            return ""
        owners = commands_with(error.option_name)
        return f"it is a flag of {listing([f'geomsolve {name}' for name in owners], 4)}" if owners else ""

    def in_own_words(self, ctx: click.Context, args: Sequence[str]) -> list[str]:
        """``args`` with the synonyms of flags (``registry.Synonym``) as the flags that they stand for, and - for _."""
        params = self.get_params(ctx)
        taken = {flag for option in params for flag in option.opts}
        registries = registries_of(params)
        declared = {TEMPERATURE, *(each for registry in registries for each in registry.parameters().values())}
        meant = {
            synonym.flag: (each.flags[-1], synonym)
            for each in declared
            for synonym in each.also
            if each.flags[-1] in taken and synonym.flag not in taken
        }
        found, words = [], iter(args)
        for word in words:
            flag, equals, value = word.partition("=")
            if flag.startswith("--") and "_" in flag and flag not in taken:
                flag = flag.replace("_", "-")
            if flag not in meant:
                found.append(flag + equals + value)
                continue
            own, synonym = meant[flag]
            if not equals:
                following = next(words, None)
                if following is None:  # click says what is missing
                    found.append(own)
                    break
                value = following
            if synonym.meaning is not None:
                try:
                    meaning = synonym.meaning(float(value))
                except (ValueError, ArithmeticError):
                    raise click.UsageError(f"{flag}: wanted a number above 0, got {value!r}", ctx) from None
                if "--quiet" not in args:
                    note(f"{flag} {value} is {own} {meaning:.6g}")
                value = repr(meaning)
            found += [own, value]
        return found

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        own = super().get_params(ctx)
        registries = registries_of(own)
        names = dict.fromkeys(name for registry in registries for name in registry.parameters())
        made = {
            name: flag([way for each in registries for way in each.meanings(name)])
            for name in names
            if all(option.name != name for option in own)
        }
        found: list[click.Parameter] = []
        for option in own:
            found.append(option)
            if isinstance(option, ChoiceOption):
                known = dict.fromkeys(name for registry in option.registries for name in registry.parameters())
                found += [made.pop(name) for name in known if name in made]
        return found


def registries_of(options: Sequence[click.Parameter]) -> list[Registry[Any]]:
    """Those whose choices some of the options name."""
    return [each for option in options if isinstance(option, ChoiceOption) for each in option.registries]


def flag(meanings: Sequence[tuple[Parameter, dict[str, Any]]]) -> click.Option:
    """The flag of a parameter, declared once or in several registries; with each declaration go the choices that take
    it so, and their defaults."""
    declared = meanings[0][0]
    said: dict[str, dict[str, Any]] = {}
    for meaning, users in meanings:
        said.setdefault(meaning.help, {}).update(users)
    text = " ".join(f"{with_default(words, users)} [{', '.join(sorted(users))}]" for words, users in said.items())
    text += synonyms(declared)
    if declared.metavar:
        return click.Option([*declared.flags, declared.name], metavar=declared.metavar, help=text)
    return click.Option([*declared.flags, declared.name], is_flag=True, default=None, help=text)


def synonyms(declared: Parameter) -> str:
    """The other flags of a parameter, as the end of its help."""
    said = [f"{each.flag}{f' ({each.said})' if each.said else ''}" for each in declared.also]
    return f" Also {', '.join(said)}." if said else ""


def with_default(sentence: str, users: dict[str, Any]) -> str:
    """The help of a parameter with its default, or its defaults where the choices that take it differ."""
    by_value: dict[str, list[str]] = {}
    for name, value in sorted(users.items()):
        if value is not None and not isinstance(value, bool):
            by_value.setdefault(value if isinstance(value, str) else spelled(value), []).append(name)
    if not by_value:
        return sentence
    alone = len(by_value) == 1
    said = "; ".join(value if alone else f"{value} for {', '.join(names)}" for value, names in by_value.items())
    return f"{sentence.removesuffix('.')} (default {said})."


def temperature_option(model: type[BaseModel]) -> Callable[[F], F]:
    """The flag of a temperature that is a field of the question itself."""
    users = {"": model.model_fields[TEMPERATURE.name].default}
    text = with_default(TEMPERATURE.help, users) + synonyms(TEMPERATURE)
    return click.option(*TEMPERATURE.flags, TEMPERATURE.name, metavar=TEMPERATURE.metavar, help=text)


proof_option = click.option(
    "--proof",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Also write a proof that stands alone, which geomsolve verify checks without the rest of geomsolve.",
)


nonnegative_option = click.option(
    "--nonnegative", is_flag=True, default=None, help="Features have no negative coordinate, as after a ReLU."
)


def _not_here(context: click.Context, parameter: click.Parameter, given: bool) -> None:
    if given:
        raise InputError(
            "features without a negative coordinate are never opposite, and do not collapse as this command asks; "
            "geomsolve imbalance, sweep and check take them",
            field="nonnegative",
        )


no_nonnegative_option = click.option("--nonnegative", is_flag=True, hidden=True, expose_value=False, callback=_not_here)
"""For commands about a collapse that such features do not know: says so."""


loss_options = click.option(
    "--loss",
    cls=ChoiceOption,
    registry=LOSSES,
    metavar="NAME",
    help="The loss (default supcon); see geomsolve list losses.",
)


pair_loss_options = click.option(
    "--loss",
    cls=ChoiceOption,
    registry=PAIR_LOSSES,
    metavar="NAME",
    help="The loss: clip (default), siglip, cosine-softmax or arcface; see geomsolve list losses.",
)


either_loss_options = click.option(
    "--loss",
    cls=ChoiceOption,
    registry=LOSSES,
    more=(PAIR_LOSSES,),
    metavar="NAME",
    help="The loss (default supcon), of classes or of two sides (clip, siglip, ...); see geomsolve list losses.",
)


pair_options = stacked(
    click.option("--pairs", metavar="MATRIX", help="Weights of images (rows) with texts (columns): 3,1;0,2 or @file."),
    click.option("--noise", type=float, metavar="ETA", help="Part of the pairs of classes that have a random text."),
)


def of_two_sides(flags: dict[str, Any]) -> bool:
    """Whether the flags ask about a loss of two sides, or about pairs of two sides."""
    return bool({"pairs", "noise", "texts"} & set(flags)) or PAIR_LOSSES.knows(str(flags.get("loss", "")))


def two_sided(flags: dict[str, Any], known: Sequence[str]) -> dict[str, Any]:
    """The flags as a question of two sides has them, which knows the keys ``known``; InputError for others."""
    asked = split_pair_loss(flags)
    for name in asked:
        if name not in known:
            raise InputError("this belongs to a loss over classes, not to one of two sides; leave it out", field=name)
    return asked


def split_pair_loss(flags: dict[str, Any]) -> dict[str, Any]:
    """Gather the flags of a loss of two sides among ``flags`` into ``{"loss": {...}}``."""
    declared = {**LOSSES.parameters(), **PAIR_LOSSES.parameters()}
    rest = {key: value for key, value in flags.items() if key not in declared and key != "loss"}
    loss = {key: value for key, value in flags.items() if key in declared}
    return {**rest, "loss": {"name": flags.get("loss", "clip"), **loss}}


def split_loss(flags: dict[str, Any]) -> dict[str, Any]:
    """Gather the loss flags among ``flags`` into ``{"loss": {...}}``."""
    rest, loss = split_parameters(flags)
    return {**rest, "loss": {"name": rest.pop("loss", "supcon"), **loss}}


def split_parameters(flags: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The other flags, and those that are parameters of losses."""
    declared = LOSSES.parameters()
    rest = {key: value for key, value in flags.items() if key not in declared}
    return rest, {key: value for key, value in flags.items() if key in declared}
