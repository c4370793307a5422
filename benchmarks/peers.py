"""The same programs by other means: how much processor time, how much memory, and how far above the proven bound.

    python benchmarks/peers.py [--limit 60] [--peers geomsolve,lbfgs] [--small] [--large] [--json peers.json]

SupCon at t = 0.1 over classes of Zipf's proportions, all distinct: minimise

    F(G) = sum_a p_a log sum_b p_b e^{(G_ab - 1) / t}    over cosines G between unit vectors

    geomsolve     what ``solve_objective`` chooses, with its certificate
    clarabel      the plain semidefinite program, by cvxpy and its interior-point solver
    lbfgs, adam   gradient descent on unit vectors in torch, the best of three random starts
    pymanopt      trust regions on the oblique manifold, one random start

Only geomsolve and clarabel bound what is possible; the others return a value.  Each runs in a process of its own; the
time is that of solving, without the imports.  ``above`` is the value less geomsolve's proven lower bound, in nats; a
little below 0 are cosines that are not quite those of vectors.  Then classes in three groups of equal size, which
geomsolve solves as three, and many classes in few dimensions, where nobody has a proof.  The exponent is the slope of
log seconds against log size, from 100 on.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import shlex
import sys
import time
from math import log
from typing import Any

from measured import here, run, table, write

TEMPERATURE = 0.1
SIZES = (10, 30, 100, 300, 446, 1000, 2000, 4000)
PEERS = ("geomsolve", "clarabel", "lbfgs", "adam", "pymanopt")
GROUPS = {30: (10, 10, 10), 1000: (300, 300, 400), 100_000: (1000, 9000, 90_000)}
"""Classes, and how many have 6, 3 and 1 samples."""
LIMITED = ((100, 16), (1000, 128))
"""Classes, and the dimensions that they have."""
STARTS = 3
NEEDS = {"lbfgs": "torch", "adam": "torch", "pymanopt": "pymanopt"}


def zipf(n: int) -> list[float]:
    total = sum(1 / k for k in range(1, n + 1))
    return [1 / k / total for k in range(1, n + 1)]


def grouped(n: int) -> list[float]:
    samples = [s for s, size in zip((6, 3, 1), GROUPS[n], strict=True) for _ in range(size)]
    return [s / sum(samples) for s in samples]


def geomsolve(props: list[float], dim: int | None) -> dict[str, float | None]:
    import numpy as np

    from geomsolve import Imbalance, Orbits, make_loss, solve
    from geomsolve.solvers.choose import solve_objective

    began = time.process_time()
    if dim is not None:
        report: Any = solve(Imbalance(props=props, dim=dim, loss={"name": "supcon", "temperature": TEMPERATURE}))
        return {"value": report.value, "bound": report.lower_bound, "cpu": time.process_time() - began}
    orbits = Orbits.of(np.array(props))
    proof = solve_objective(make_loss("supcon", {"temperature": TEMPERATURE}).objective(orbits), orbits).certificate
    return {"value": proof.value, "bound": proof.lower_bound, "cpu": time.process_time() - began}


def clarabel(props: list[float], dim: int | None) -> dict[str, float | None]:
    import cvxpy as cp
    import numpy as np

    p = np.array(props)
    began = time.process_time()
    gram = cp.Variable((p.size, p.size), PSD=True)
    rows = [cp.log_sum_exp((gram[a] - 1) / TEMPERATURE + np.log(p)) for a in range(p.size)]
    problem = cp.Problem(cp.Minimize(p @ cp.hstack(rows)), [cp.diag(gram) == 1])
    problem.solve(solver="CLARABEL")
    return {"value": float(problem.value), "cpu": time.process_time() - began}


def descent(props: list[float], dim: int | None, kind: str) -> dict[str, float | None]:
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    p = torch.tensor(props, dtype=torch.float64)
    log_p, best, began = p.log(), float("inf"), time.process_time()
    for _ in range(STARTS):
        z = torch.randn(p.numel(), dim or p.numel(), dtype=torch.float64, requires_grad=True)

        def loss(z: torch.Tensor = z) -> torch.Tensor:
            unit = torch.nn.functional.normalize(z, dim=1)
            return p @ torch.logsumexp((unit @ unit.T - 1) / TEMPERATURE + log_p, dim=1)

        if kind == "lbfgs":
            optimiser: Any = torch.optim.LBFGS(
                [z], max_iter=2000, tolerance_grad=1e-9, tolerance_change=1e-12, line_search_fn="strong_wolfe"
            )
        else:
            optimiser = torch.optim.Adam([z], lr=0.02)

        def closure(optimiser: Any = optimiser, loss: Any = loss) -> torch.Tensor:
            optimiser.zero_grad()
            value = loss()
            value.backward()
            return value

        before, steps = float("inf"), 0
        while steps < (1 if kind == "lbfgs" else 3000):
            now = float(optimiser.step(closure))
            steps += 1
            if steps % 100 == 0:
                if before - now < 1e-10:
                    break
                before = now
        best = min(best, float(loss()))
    return {"value": best, "cpu": time.process_time() - began}


def pymanopt(props: list[float], dim: int | None) -> dict[str, float | None]:
    import numpy as np
    from pymanopt import Problem, function
    from pymanopt.manifolds import Oblique
    from pymanopt.optimizers import TrustRegions

    p = np.array(props)
    manifold = Oblique(dim or p.size, p.size)

    def softmax(points: Any) -> tuple[Any, Any]:
        logits = (points.T @ points - 1) / TEMPERATURE + np.log(p)
        largest = logits.max(axis=1, keepdims=True)
        weights = np.exp(logits - largest)
        total = weights.sum(axis=1, keepdims=True)
        return weights / total, (np.log(total) + largest)[:, 0]

    @function.numpy(manifold)
    def cost(points: Any) -> Any:
        return p @ softmax(points)[1]

    @function.numpy(manifold)
    def gradient(points: Any) -> Any:
        weights = p[:, None] * softmax(points)[0]
        return points @ (weights + weights.T) / TEMPERATURE

    @function.numpy(manifold)
    def hessian(points: Any, along: Any) -> Any:
        soft = softmax(points)[0]
        weights = p[:, None] * soft
        change = (along.T @ points + points.T @ along) / TEMPERATURE
        weights_change = weights * (change - (soft * change).sum(axis=1, keepdims=True))
        return (along @ (weights + weights.T) + points @ (weights_change + weights_change.T)) / TEMPERATURE

    np.random.seed(0)  # pymanopt draws its start from there
    began = time.process_time()
    problem = Problem(manifold, cost, euclidean_gradient=gradient, euclidean_hessian=hessian)
    found = TrustRegions(verbosity=0, min_gradient_norm=1e-8, max_time=600).run(problem)
    return {"value": float(found.cost), "cpu": time.process_time() - began}


def one(case: dict[str, Any]) -> dict[str, float | None]:
    """Solve a case here."""
    props, dim = case["props"], case.get("dim")
    if case["peer"] in ("lbfgs", "adam"):
        return descent(props, dim, case["peer"])
    return {"geomsolve": geomsolve, "clarabel": clarabel, "pymanopt": pymanopt}[case["peer"]](props, dim)


def apart(peer: str, size: int, kind: str, limit: float, dim: int | None = None) -> dict[str, Any]:
    """Solve a case in a process of its own: its numbers, without a value where it was stopped."""
    case = json.dumps({"peer": peer, "size": size, "kind": kind, "dim": dim})
    done = run([sys.executable, __file__, "--one", case], limit)
    row = {"peer": peer, "size": size, "kind": kind, "dim": dim, "mib": done.mib, "value": None, "cpu": done.cpu}
    if done.ended and done.code != 0:
        raise SystemExit(f"{peer} failed on {size} classes; to see why: python {__file__} --one {shlex.quote(case)}")
    return {**row, **json.loads(done.out)} if done.code == 0 else row


def rows_of(kind: str, sizes: dict[int, int | None], peers: list[str], limit: float) -> list[dict[str, Any]]:
    """Every peer on every size, until it was stopped on one; geomsolve's bound is that of all of a size."""
    found, over = [], set()
    for size, dim in sizes.items():
        bound = None
        for peer in peers:
            if peer in over:
                continue
            row = apart(peer, size, kind, limit if peer != "geomsolve" else 20 * limit, dim)
            bound = row.get("bound", bound)
            row["above"] = None if row["value"] is None or bound is None else row["value"] - bound
            found.append(row)
            if row["value"] is None:
                over.add(peer)
    return found


def exponents(rows: list[dict[str, Any]]) -> dict[str, float]:
    """The slope of log seconds against log size, by peer, from 100 distinct proportions on."""
    slopes = {}
    for peer in dict.fromkeys(row["peer"] for row in rows):
        points = [
            (log(r["size"]), log(r["cpu"])) for r in rows if r["peer"] == peer and r["value"] and r["size"] >= 100
        ]
        if len(points) > 2:
            x, y = (sum(c) / len(points) for c in zip(*points, strict=True))
            slopes[peer] = sum((a - x) * (b - y) for a, b in points) / sum((a - x) ** 2 for a, _ in points)
    return slopes


def shown(rows: list[dict[str, Any]]) -> str:
    """One line a size and peer, with how many times geomsolve's time it took."""
    own = {row["size"]: row["cpu"] for row in rows if row["peer"] == "geomsolve"}
    lines = []
    for row in rows:
        stopped = row["value"] is None
        ratio = row["cpu"] / own[row["size"]]
        lines.append(
            [
                f"{row['size']:,}" + (f" in {row['dim']}" if row["dim"] else ""),
                row["peer"],
                f"{'> ' if stopped else ''}{row['cpu']:.3f}",
                f"{'> ' if stopped else ''}{ratio:,.3g}",
                f"{row['mib']:,.0f}",
                "stopped" if stopped else f"{row['value']:.9f}",
                "" if row["above"] is None else f"{row['above']:+.1e}",
            ]
        )
    return table(["classes", "by", "CPU s", "ratio", "MiB", "value", "above bound"], lines)


def main() -> None:
    """Run, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds after which a peer is stopped")
    parser.add_argument("--peers", default=",".join(PEERS), help="who takes part (default: all that are installed)")
    parser.add_argument("--small", action="store_true", help="10 and 30 classes only")
    parser.add_argument("--large", action="store_true", help="also 10,000 distinct proportions (minutes)")
    parser.add_argument("--json", metavar="FILE", help="write the numbers there")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        case = json.loads(arguments.one)
        case["props"] = grouped(case["size"]) if case["kind"] == "groups" else zipf(case["size"])
        print(json.dumps(one(case)))
        return
    asked = arguments.peers.split(",")
    if unknown := set(asked) - set(PEERS):
        parser.error(f"unknown peers {', '.join(unknown)}; there are {', '.join(PEERS)}")
    peers = [p for p in asked if p not in NEEDS or importlib.util.find_spec(NEEDS[p])]
    print(", ".join(f"{key} {value}" for key, value in here().items()), end="\n\n")
    sizes = SIZES[:2] if arguments.small else (*SIZES, 10_000) if arguments.large else SIZES
    curve = rows_of("distinct", dict.fromkeys(sizes), peers, arguments.limit)
    print("distinct proportions\n" + shown(curve), flush=True)
    slopes = exponents(curve)
    print("growth exponents: " + (", ".join(f"{p} {s:.2f}" for p, s in slopes.items()) or "too few sizes"), end="\n\n")
    groups = rows_of("groups", dict.fromkeys(list(GROUPS)[: 1 if arguments.small else None]), peers, arguments.limit)
    print("three groups of equal classes\n" + shown(groups), end="\n\n", flush=True)
    few = [p for p in peers if p != "clarabel"]  # a limit to the dimension is not convex
    limited = rows_of("distinct", {} if arguments.small else dict(LIMITED), few, arguments.limit)
    if limited:
        print("few dimensions\n" + shown(limited))
    write(arguments.json, {"distinct": curve, "exponents": slopes, "groups": groups, "few dimensions": limited})


if __name__ == "__main__":
    main()
