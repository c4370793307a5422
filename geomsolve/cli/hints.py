"""What a command line that is not understood most likely means: the next one to run.

Each flag has the words that people use for it, and values that fit it; each command has the words for what it answers.
A line is read word by word: what is known stays, a word that means a flag becomes that flag, and what stands alone goes
where its looks say.  The line that comes of it is proposed only if it parses.

    imbalance --classes 700,200,100     ->  imbalance --counts 700,200,100
    realizable yaware 20,25,30          ->  realizable --weighting yaware --labels 20,25,30
    collapse --props 0.9,0.06,0.04      ->  threshold --props 0.9,0.06,0.04
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile

import click

from geomsolve.cli.inside import command_of, context_of
from geomsolve.errors import InputError, bare
from geomsolve.reading.datasets import dataset
from geomsolve.registry import LOSSES, PAIR_LOSSES, WEIGHTINGS

Reads = Callable[[str], str]
"""A value as a flag takes it, '' where it is none of that kind."""


def numbers(text: str) -> list[float]:
    """The numbers of a list, [] where it is none."""
    try:
        return [float(part) for part in re.split(r"[,;\s]+", text.strip("[](),"))]
    except ValueError:
        return []


def shares(text: str) -> str:
    """Class proportions."""
    found = numbers(text)
    fits = len(found) > 1 and min(found) > 0 and abs(sum(found) - 1) < 0.02
    return text if fits or re.search(r"\*\d+/\d+|\d%", text) else ""


def whole(text: str) -> str:
    """Class counts."""
    found = numbers(text)
    return text if len(found) > 1 and all(x >= 1 and x == int(x) for x in found) else ""


def samples(text: str) -> str:
    """Labels: a list, or one of the sets that are made by a word."""
    return text if text[:1] == "@" or len(numbers(text)) > 1 or re.fullmatch(r"[a-z]+:[\w.:]+", text) else ""


def matrix(text: str) -> str:
    """Rows of several numbers each."""
    rows = text.split(";")
    return text if len(rows) > 1 and all(len(numbers(row)) > 1 for row in rows) else ""


def file(text: str) -> str:
    """A file of labels."""
    return f"@{text}" if re.search(r"\.(npy|npz|csv|tsv|txt|pt|pth|parquet)(:\S+)?$", text) else ""


def one(text: str) -> str:
    """A whole number."""
    return text if re.fullmatch(r"\d+", text) else ""


def scalar(text: str) -> str:
    """A number."""
    return text if len(numbers(text)) == 1 else ""


def varied(text: str) -> str:
    """The name of what varies, maybe with its values."""
    return text if re.fullmatch(r"[A-Za-z][\w-]*(=.*)?", text) else ""


def weighting(text: str) -> str:
    """A weighting."""
    return WEIGHTINGS.canonical(text) if WEIGHTINGS.knows(text) else ""


def loss(text: str) -> str:
    """A loss of classes or of two sides."""
    return text if LOSSES.knows(text) or PAIR_LOSSES.knows(text) else ""


def data_set(text: str) -> str:
    """A data set; long-tailed ones by an imbalance factor of 100 where none is given."""
    for name in (text, f"{text}:100"):
        with suppress(InputError):
            dataset(name)
            return name
    return ""


def path(text: str) -> str:
    """The name of a file to write."""
    return text


@dataclass(frozen=True)
class Meaning:
    """A ``flag``, the words that people use for it, how it ``reads`` a value, and whether a word that stands ``alone``
    may be one."""

    flag: str
    words: str
    reads: Reads
    alone: bool = False


MEANINGS = (
    Meaning("--weighting", "kernel method scheme weights loss model", weighting, alone=True),
    Meaning("--loss", "model criterion objective method lossfunction lossname", loss, alone=True),
    Meaning("--dataset", "data ds benchmark", data_set, alone=True),
    Meaning(
        "--props",
        "proportions proportion priors prior classpriors frequencies classfrequencies fractions probabilities probs "
        "distribution shares classes classproportions weights classweights sizes imbalance p",
        shares,
        alone=True,
    ),
    Meaning(
        "--counts",
        "classcounts sizes classsizes samples samplesperclass clsnumlist numperclass classes frequencies distribution "
        "proportions weights imbalance n",
        whole,
        alone=True,
    ),
    Meaning("--pairs", "matrix joint weights counts", matrix, alone=True),
    Meaning("--labels", "ages age targets target label values scores points y data", samples, alone=True),
    Meaning("--labels", "y targets target classes samples", file, alone=True),
    Meaning("--classes", "numclasses nclasses k n points num vectors", one),
    Meaning("--dim", "dimension dimensions dims d embeddingdim embdim featuredim embeddingsize emb features", one),
    Meaning("--batch", "bs batchsize b samples", one),
    Meaning("--views", "nviews numviews crops", one),
    Meaning("--loss-value", "value observed measured loss current myloss trainloss reached", scalar, alone=True),
    Meaning("--over", "what vary varying parameter param along axis by sweep range", varied, alone=True),
    Meaning("--want", "goal aim target objective", varied),
    Meaning("--temperature", "t", scalar),
    Meaning("--steps", "epochs iterations iters numsteps", one),
    Meaning("--sigma", "bandwidth width s", scalar),
    Meaning("--noise", "eta", scalar),
    Meaning("--slack", "eps tol excess", scalar),
    Meaning("--out", "output save outfile o file", path),
    Meaning("--plot", "figure picture image fig", path),
)
"""The first that fits counts, of the flags that the command has."""

COMMANDS = {
    "imbalance": "geometry arrangement simplex optimum classes angles predict predicted prediction",
    "threshold": "collapse minoritycollapse critical temperature when where thresholds",
    "advise": "advice fix suggest recommend recommendation change help improve what",
    "levels": "loss level value good losses floor bound",
    "realizable": "feasible attainable attain realisable possible weighting ages labels",
    "crossmodal": "multimodal crossmodality modality modalitygap gap pairs towers imagetext",
    "capacity": "fit fits packing pack dimension dimensions dim",
    "check": "train descent simulate verifydescent gradient",
    "compare": "embeddings measure evaluate eval match encoder",
    "contrast": "versus vs comparelosses sidebyside",
    "sweep": "phase phasediagram scan grid",
    "design": "reweight inverse",
}
"""The words for what each command answers."""

NEEDLESS = frozenset(
    ["verbose", "v", "print", "show", "cosine", "cosines", "angle", "angles", "gram", "pretty", "proven"]
)
"""Words for what is printed anyway."""

COUNTS = frozenset(["classes", "numclasses", "nclasses", "k"])
"""Words for how many classes there are."""

RATIOS = frozenset(
    ["imbalance", "imbalanceratio", "imbalancefactor", "imbratio", "imbfactor", "ratio", "if", "ir", "rho"]
)
"""Words for the largest class over the smallest."""


def next_step(command: click.Command, args: Sequence[str]) -> str:
    """The line that ``args`` of ``command`` most likely mean, if that is another one; '' where none is."""
    own = str(command.name)
    for name in (own, *(other for other in COMMANDS if other != own)):
        name, words = line(name, args)
        if "?" in words:
            continue
        same = name == own and sorted(words) == sorted(apart(args))
        return "" if same or not parses(name, words) else f"write: {shlex.join(['geomsolve', name, *words])}"
    return ""


def line(name: str, args: Sequence[str]) -> tuple[str, list[str]]:
    """A command and its words, '?' among them where some word of ``args`` means nothing to it."""
    command = command_of(name)
    options = {flag: option for option in command.get_params(context_of(command)) for flag in option.opts}
    name, words = ratio_of(name, args, options) or (name, list(repaired(args, options)))
    needed = options.get("--weighting")
    if needed is not None and needed.required and not {"--weighting", "--loss"} & set(words):
        words = ["--weighting", "yaware", *words]
    return name, words


def commands_with(flag: str) -> list[str]:
    """The commands that have a flag."""
    commands = ((name, command_of(name)) for name in COMMANDS)
    return [name for name, each in commands if any(flag in o.opts for o in each.get_params(context_of(each)))]


def is_flag(word: str) -> bool:
    """Whether a word is a flag, and no value that may begin with a minus."""
    return word.startswith("-") and word != "-" and not numbers(word)


def apart(args: Sequence[str]) -> Iterator[str]:
    """The same words, flags and the values behind their = apart."""
    for word in args:
        flag, equals, value = word.partition("=")
        yield from (flag.replace("_", "-"), value) if equals and flag.startswith("--") else (word,)


def other_command(name: str, args: Sequence[str]) -> str:
    """The same for a command that there is not."""
    word = bare(name)
    meant = next((own for own, words in COMMANDS.items() if word in words.split()), "")
    if not meant and WEIGHTINGS.knows(name):
        meant, args = "realizable", ["--weighting", WEIGHTINGS.canonical(name), *args]
    if PAIR_LOSSES.knows(name):
        meant, args = "crossmodal", ["--loss", PAIR_LOSSES.canonical(name), *args]
    elif LOSSES.knows(name):
        meant, args = "imbalance", ["--loss", LOSSES.canonical(name), *args]
    if not meant:
        return ""
    own = command_of(meant)
    if parses(meant, args):
        return f"write: {shlex.join(['geomsolve', meant, *args])}"
    return next_step(own, args) or f"see geomsolve {meant} --help"


def parses(name: str, words: Sequence[str]) -> bool:
    """Whether a line is one that the command understands."""
    command = command_of(name)
    context = context_of(command, name)
    own = getattr(command, "in_own_words", lambda ctx, args: args)
    try:
        click.Command.parse_args(command, context, list(own(context, [*words, "--quiet"])))
    except (click.UsageError, ValueError):
        return False
    return True


def ratio_of(name: str, args: Sequence[str], options: dict[str, click.Parameter]) -> tuple[str, list[str]] | None:
    """A data set for a number of classes and a ratio of their sizes, or a sweep to it; None where that is not asked."""
    given = dict(pairs(args))
    ratio = next((value for flag, value in given.items() if bare(flag) in RATIOS and scalar(value)), None)
    if ratio is None or "--dataset" not in options:
        return None
    count = next((value for flag, value in given.items() if bare(flag) in COUNTS), "10")
    rest = [word for flag, value in pairs(args) if flag in options and flag != "--classes" for word in (flag, value)]
    if count in ("10", "100"):
        return name, ["--dataset", f"cifar{count}-lt:{ratio}", *rest]
    return "sweep", ["--classes", count, "--over", f"imbalance=1,{ratio}", *rest]


def pairs(args: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Every flag with the word behind it."""
    for at, word in enumerate(args):
        flag, equals, value = word.partition("=")
        if is_flag(flag):
            yield flag, value if equals else next(iter(args[at + 1 : at + 2]), "")


def repaired(args: Sequence[str], options: dict[str, click.Parameter]) -> Iterator[str]:
    """The words of the line that is meant; one of them is '?' where some word means nothing."""
    words, alone = list(apart(args)), []
    while words:
        flag = words.pop(0)
        if not is_flag(flag):
            alone.append(flag)
            continue
        values = list(takewhile(lambda word: not is_flag(word), words))
        option = options.get(flag)
        if option is not None and (getattr(option, "is_flag", False) or not values):
            yield flag
            continue
        taken = joined(values)
        if option is not None:
            flag = misplaced(flag, values[0], options)
            several = flag == "--over" and len(values) == 2 and "=" not in values[0]
            whole_list = len(values) > 1 and len(numbers(",".join(values))) >= len(values)
            value = "=".join(values) if several else taken if whole_list else values[0]
            if flag == "--over" and re.match(r"(log:)?[\d.]+:", value):
                value = f"temperature={value}"
            used = len(values) if several or whole_list else 1
            yield from (flag, value)
        elif flag.strip("-") in options:  # an argument that is given like a flag
            alone.append(values[0] if values else "?")
            used = 1
        elif bare(flag) in NEEDLESS:
            used = 0
        elif not values or (own := meant(flag, taken, options)) is None:
            yield "?"
            return
        else:
            used = len(values)
            yield from own
        del words[:used]
    yield from placed(alone, options)


def joined(values: Sequence[str]) -> str:
    """Values that stand apart as one list."""
    return ",".join(value.strip("[](),") for value in values) if len(values) > 1 else "".join(values)


def misplaced(flag: str, value: str, options: dict[str, click.Parameter]) -> str:
    """The flag, or another one whose value this clearly is: a number is no loss, and a range no temperature."""
    if flag == "--loss" and "--loss-value" in options and scalar(value):
        return "--loss-value"
    if "--over" in options and flag == "--temperature" and re.match(r"(log:)?[\d.]+:", value):
        return "--over"
    return flag


def meant(flag: str, value: str, options: dict[str, click.Parameter]) -> list[str] | None:
    """The flag of the command that a word means, with its value; None where there is none."""
    word = bare(flag)
    if word in ("format", "as", "to") and bare(value) == "json":
        return ["--json"]
    for each in MEANINGS:
        named = word in each.words.split() or word == bare(each.flag)
        if named and each.flag in options and (read := each.reads(value)):
            return [each.flag, read]
    if "--props" in options and one(value) and word in COUNTS:  # equally frequent
        return ["--props", f"{value}*1/{value}"]
    return None


def placed(alone: Sequence[str], options: dict[str, click.Parameter]) -> Iterator[str]:
    """Words that stand alone, as the values of the flags that they look like."""
    if any(isinstance(option, click.Argument) for option in options.values()):
        of_images = "--labels" in options and len(alone) == 2
        yield from (alone[0], "--labels", alone[1]) if of_images else alone
        return
    if "--props" not in options and "--dim" in options and len(alone) == 2 and all(map(one, alone)):
        yield from ("--classes", alone[0], "--dim", alone[1])
        return
    several = [word for word in alone if numbers(word)]
    rest = [word for word in alone if word not in several]
    for word in [*([joined(several)] if several else ()), *rest]:
        found = next(((m.flag, v) for m in MEANINGS if m.alone and m.flag in options and (v := m.reads(word))), None)
        yield from found or ("?",)
