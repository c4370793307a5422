"""What is said of two sides: the modality gap, its price, and the temperature up to which pairs are expressed."""

from __future__ import annotations

from typing import Any

from geomsolve.words import UNSEEN, nats, number, rounded

SAME = 1e-5
"""Modality gaps this close are one; smaller ones are none."""

NOTHING = 1e-12
"""An excess or a price that is rounding, in nats."""

CLOSE = 1e-3
"""How near a price and its bound must be, relatively, to be given as one number."""


def article(noun: str) -> str:
    """a or an."""
    return "an" if noun[0] in "aeiou" else "a"


def whatever(nouns: tuple[str, str]) -> str:
    """What a bound holds for, as in 'no ... goes below'."""
    one, two = nouns
    return "pair of encoders" if nouns == ("image", "text") else f"arrangement of {one}s and {two}s"


def gap_line(gap: dict[str, Any], nouns: tuple[str, str]) -> str:
    """The modality gap of the optimum, and of all others."""
    one, two = nouns
    means = f"the distance between the mean {one} and the mean {two} embedding (0 none, 2 opposite)"
    low, high, value = gap["low"], gap["high"], gap["value"]
    if low is None or (low < SAME and high > 2 - SAME and not gap["exact"]):
        return f"Modality gap {shown(value)}: {means}."
    if high - low > SAME:
        if gap["exact"]:
            among = f"from {shown(low)} to {shown(high)} among all optima (proven), which the loss does not tell apart"
        else:
            least = f"no less than {shown(low)} and " if low >= SAME else ""
            among = f"{least}no more than {shown(high)} at any optimum (proven)"
        return f"Modality gap {shown(value)} here, and {among}: {means}."
    return f"Modality gap {shown(value)} at every optimum (proven): {means}."


def shown(gap: float) -> str:
    """A modality gap for a person."""
    return "0" if gap < SAME else number(gap, 6)


def price_line(gap: dict[str, Any]) -> str:
    """What the forced gap costs."""
    wanted, price, least = number(gap["forced"], 6), gap["price"], gap["at_least"]
    highest = gap["value"] if gap["high"] is None or not gap["exact"] else gap["high"]
    if price <= NOTHING and gap["forced"] <= highest + SAME:
        return f"Forcing a modality gap of {wanted} costs nothing: an optimum has at least that."
    if price <= NOTHING:
        return (
            f"Forcing a modality gap of {wanted} costs less than {NOTHING:g} nats (proven): training will not see it."
        )
    if price < UNSEEN:
        return (
            f"Forcing a modality gap of {wanted} costs no more than {nats(price)} (proven): training will not see it."
        )
    if price - least <= CLOSE * price:
        return f"Forcing a modality gap of {wanted} costs {cost(price)} (proven)."
    if least <= NOTHING:
        return f"Forcing a modality gap of {wanted} costs at most {cost(price)} (proven)."
    return f"Forcing a modality gap of {wanted} costs between {cost(least)} and {cost(price)} (proven)."


def cost(price: float) -> str:
    """Nats for a person."""
    return f"{number(price, 4)} nats"


def attained_lines(attained: dict[str, Any], loss: dict[str, Any]) -> list[str]:
    """Up to which temperature the pairs can be expressed exactly, and what is lost beyond."""
    floor, excess, highest = attained["floor"], attained["excess"], attained["temperature"]
    if floor is None:
        return []
    lowest = f"{rounded(floor, 6)}{', minus the mutual information of the pairs' if mutual(loss) else ''}"
    stays = "is within rounding of" if excess <= NOTHING else f"stays {nats(excess)} above"
    above = f"the loss {stays} the lowest that any logits could have ({lowest})"
    if highest is None:
        if "no weight" in attained["reason"]:
            why = "as some points never belong together, which no finite logit can say"
            return [f"At no temperature can these pairs be expressed exactly, {why}: {above}."]
        return [f"Whether these pairs can be expressed exactly was not worked out: {attained['reason']}. Here {above}."]
    if attained["reached"]:
        here = f"so here nothing is lost: the loss is the lowest that any logits could have ({lowest})"
    else:
        here = f"here {above}"
    return [f"These pairs can be expressed exactly {until(attained)}; {here}."]


def mutual(loss: dict[str, Any]) -> bool:
    """Whether the floor of a loss is minus the mutual information."""
    return loss["name"] == "clip" and not loss.get("batch")


def until(attained: dict[str, Any]) -> str:
    """Up to which temperature, and with which bias."""
    highest = attained["temperature"]
    if highest == float("inf"):
        return "at every temperature"
    proven = " (proven)" if attained["certified"] else f" (proven; not above {number(attained['at_most'], 6)})"
    if attained["bias"] is None:
        return f"up to temperature {number(highest, 6)}{proven}"
    best = f"up to temperature {number(highest, 6)} with a bias of {number(attained['bias'], 6)}{proven}"
    return f"{best}, with the bias as it is up to {number(attained['at_bias'], 6)}"
