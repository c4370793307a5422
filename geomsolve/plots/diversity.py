"""Latent recovery: the loss of the latents, of squeezed latents and of the optimum."""

from __future__ import annotations

from typing import Any

from geomsolve.plots._style import BLUE, GREEN, INK, ORANGE, canvas, entitled, number


def figure(answer: dict[str, Any]) -> Any:
    """The picture of a ``diversity`` answer: loss of the maps h_l over l, against the optimum and the floor."""
    drawn = canvas((6, 3.6))
    axes = drawn.subplots()
    levels = (
        (answer["optimum"]["value"], f"optimum, in {answer['optimum']['rank']} dimensions", BLUE, "-"),
        (answer["floor"], "entropic floor", GREEN, ":"),
    )
    for value, label, colour, style in levels:
        axes.axhline(value, color=colour, linestyle=style, label=label)
    if answer["witness"]:
        squeeze = [row["lambda"] for row in answer["witness"]]
        axes.plot(squeeze, [row["value"] for row in answer["witness"]], color=ORANGE, label="latents, squeezed by l")
    axes.plot([1], [answer["identity"]["value"]], "o", color=INK, label="the latents")
    axes.set_xlabel("l: factor on the coordinates that positives do not share")
    axes.set_ylabel("loss, nats")
    axes.margins(y=0.08)
    axes.legend()
    problem = answer["problem"]
    loss = "support-corrected InfoNCE" if problem["corrected"] else "InfoNCE"
    axes.set_title(f"{loss}, temperature {number(problem['temperature'])}, kappa {number(problem['kappa'])}")
    entitled(drawn, f"Diversity condition {answer['verdict']}")
    return drawn
