"""``folkmoot theory``: exact probabilities at the prompt. Theory itself is imported when a command runs."""

from __future__ import annotations

import math
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import typer

from folkmoot.cli.options import (
    Alpha,
    AlphaOrLocal,
    Delta,
    Everything,
    Json,
    K,
    Malicious,
    N,
    P,
    PerNode,
    Plot,
    Q,
    Sampling,
    Steps,
    named_law,
    parse_accuracies,
    whole_alpha,
)
from folkmoot.cli.output import (
    collected_warnings,
    number,
    number_from_log,
    picture_path,
    print_json,
    print_table,
    progress_bar,
    save_picture,
    thinned,
)
from folkmoot.cli.quorum_sets import quorum_sets

if TYPE_CHECKING:
    from pathlib import Path

    from folkmoot.theory import LocalSlushChain, SlushChain

app = typer.Typer(
    help="Compute exact probabilities of consensus by Slush.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


@app.command()
def absorption(
    n: N,
    k: K = 10,
    alpha: Alpha = None,
    malicious: Malicious = 0,
    sampling: Sampling = "everyone",
    everything: Everything = False,
    json: Json = False,
    plot: Plot = None,
) -> None:
    """Compute how likely all end blue (right) or red, from each number b of blue ones."""
    path = picture_path(plot)
    with collected_warnings() as lines:
        chain = _chain(n, k, alpha, malicious, sampling)
        log_blue, log_red = chain.log_blue.tolist(), chain.log_red.tolist()
    if json:
        print_json(
            _settings(chain, chain.alpha)
            | {
                "b": list(range(chain.honest + 1)),
                "blue": chain.blue.tolist(),
                "red": chain.red.tolist(),
                "log_blue": log_blue,
                "log_red": log_red,
                "warnings": lines,
            }
        )
    else:
        rows = [
            [str(b), number_from_log(log_blue[b]), number_from_log(log_red[b])]
            for b in _rows(chain, everything)
        ]
        print_table(f"Absorption of {chain}", ["b", "all end blue", "all end red"], rows, _more(chain, rows))
    _draw(path, "absorption", chain)


@app.command()
def accuracy(
    n: N,
    p: P = None,
    k: K = 10,
    alpha: AlphaOrLocal = None,
    malicious: Malicious = 0,
    delta: Delta = None,
    q: Q = None,
    steps: Steps = None,
    per_node: PerNode = False,
    sampling: Sampling = "everyone",
    json: Json = False,
    plot: Plot = None,
) -> None:
    """Compute the accuracy of Slush, one participant and the (super)majority."""
    from folkmoot import theory

    path = picture_path(plot)
    if p is None:
        raise ValueError("--p is missing: give the accuracy of the honest participants, such as --p 0.6")
    accuracies = parse_accuracies(p)
    _need_steps(steps, per_node)
    compiled = progress_bar("solving") if alpha == "local" else nullcontext()
    with collected_warnings() as lines, compiled:
        chain: SlushChain | LocalSlushChain
        if alpha == "local":
            if steps is not None or path:
                raise ValueError("--alpha local gives the limit only: leave out --steps and --plot")
            chain = _local_chain(n, k, accuracies, malicious, sampling)
            settings = _settings(chain, chain.alphas.tolist())
        else:
            chain = _chain(n, k, whole_alpha(alpha), malicious, sampling)
            settings = _settings(chain, chain.alpha)
        slush = chain.accuracy(accuracies)  # refuses what is no accuracy
        each = [accuracies] if isinstance(accuracies, float) else accuracies
        margin = delta or 0
        result = settings | {
            "p": accuracies,
            "delta": delta,
            "q": q,
            "mean_participant": math.fsum(each) / len(each),
            "best_participant": max(each),
            "majority": theory.majority_accuracy(n, accuracies, delta=margin, q=q, byzantine=malicious),
            "slush": slush,
            "gap": None,
        }
        if isinstance(chain, theory.LocalSlushChain):
            result["residual"] = chain.residual
        else:
            gap = theory.accuracy_gap(chain, accuracies, delta=margin, q=q)
            result["gap"] = {"sign": gap.sign, "log10_magnitude": gap.log_magnitude / math.log(10)}
            if steps is not None:
                result["rounds"] = _total_steps(steps, per_node, chain.honest)
                result["slush_after_rounds"] = chain.accuracy(accuracies, steps=result["rounds"])
    result["warnings"] = lines
    if json:
        print_json(result)
    else:
        print_table(
            f"Accuracy of {chain}", ["who decides", "accuracy"], _accuracy_rows(result), _gap_note(result)
        )
    mark = accuracies if isinstance(accuracies, float) else None
    _draw(path, "accuracy", chain, delta=margin, q=q, mark=mark)


@app.command()
def threshold(
    n: N,
    k: K = 10,
    alpha: Alpha = None,
    malicious: Malicious = 0,
    delta: Delta = None,
    q: Q = None,
    sampling: Sampling = "everyone",
    json: Json = False,
    plot: Plot = None,
) -> None:
    """Compute the accuracy p_th below which Slush beats the (super)majority."""
    from folkmoot import theory

    path = picture_path(plot)
    with collected_warnings() as lines:
        chain = _chain(n, k, alpha, malicious, sampling)
        p_th = theory.threshold_accuracy(
            n, k, chain.alpha, delta=delta, q=q, byzantine=malicious, sampling=chain.sampling
        )
    shown = 0 if delta is None and q is None else delta
    if json:
        print_json(_settings(chain, chain.alpha) | {"delta": shown, "q": q, "p_th": p_th, "warnings": lines})
    else:
        rule = f"delta = {shown}" if q is None else f"q = {q:g}"
        meaning = {0.0: "the majority is ahead for every p", 1.0: "Slush is ahead for every p"}
        note = (
            "the two never differ"
            if math.isnan(p_th)
            else meaning.get(p_th, "Slush is ahead below, the majority above")
        )
        print_table(f"Threshold of {chain}", ["majority", "p_th"], [[rule, f"{p_th:.10f}"]], note)
    _draw(path, "threshold", chain, p_th, delta=delta or 0, q=q)


@app.command()
def rounds(
    n: N,
    k: K = 10,
    alpha: Alpha = None,
    malicious: Malicious = 0,
    p: P = None,
    steps: Steps = None,
    per_node: PerNode = False,
    sampling: Sampling = "everyone",
    everything: Everything = False,
    json: Json = False,
    plot: Plot = None,
) -> None:
    """Compute how long agreement takes from each b, and what is open after --steps."""
    import numpy as np

    from folkmoot.theory.votes_law import log_votes_law

    path = picture_path(plot)
    _need_steps(steps, per_node)
    with collected_warnings() as lines:
        chain = _chain(n, k, alpha, malicious, sampling)
        expected = chain.expected_steps()
        result = _settings(chain, chain.alpha) | {
            "b": list(range(chain.honest + 1)),
            "expected_rounds": expected.tolist(),
        }
        header = ["b", "expected steps", "per participant"]
        columns = [expected, expected / chain.honest]
        total = None
        if steps is not None:
            total = _total_steps(steps, per_node, chain.honest)
            blue, red = chain.blue_after(total), chain.red_after(total)
            still_open = chain.open_after(total)
            after = {"all_blue": blue, "all_red": red, "still_open": still_open}
            result |= {"rounds": total} | {name: column.tolist() for name, column in after.items()}
            header += ["all blue", "all red", "still open"]
            columns += [blue, red, still_open]
        notes = [] if total is None else [f"all blue, all red and still open: after {total:,} steps"]
        if p is not None:
            law = np.exp(log_votes_law(parse_accuracies(p), chain.honest))
            mean = float(law[law > 0] @ expected[law > 0])
            result |= {"p": parse_accuracies(p), "mean_rounds": mean}
            notes.append(f"{number(mean)} steps expected from first votes with p = {p}")
    result["warnings"] = lines
    if json:
        print_json(result)
    else:
        rows = [[str(b), *(number(float(column[b])) for column in columns)] for b in _rows(chain, everything)]
        notes.append(_more(chain, rows))
        print_table(f"Steps of {chain}", header, rows, notes)
    _draw(path, "rounds", chain, total)


app.command("quorum-sets")(quorum_sets)


def _total_steps(steps: int, per_node: bool, honest: int) -> int:
    """Steps of the whole network: one participant asks in each."""
    return steps * honest if per_node else steps


def _need_steps(steps: int | None, per_node: bool) -> None:
    if per_node and steps is None:
        raise ValueError("--per-node says how --steps is counted: give --steps too")


def _chain(n: int, k: int, alpha: int | None, byzantine: int, sampling: str) -> SlushChain:
    from folkmoot.checks import least_alpha
    from folkmoot.theory import SlushChain

    threshold = least_alpha(k) if alpha is None else alpha
    return SlushChain(n, k, threshold, byzantine=byzantine, sampling=named_law(sampling))


def _local_chain(n: int, k: int, p: float | list[float], byzantine: int, sampling: str) -> LocalSlushChain:
    from folkmoot import checks
    from folkmoot.protocols.thresholds import StrongConfidence
    from folkmoot.theory import LocalSlushChain

    everyone, byzantine = checks.population(n, byzantine)
    honest = everyone - byzantine
    each = checks.accuracies([p] * honest if isinstance(p, float) else p, honest)
    return LocalSlushChain(StrongConfidence(each), k, byzantine=byzantine, sampling=named_law(sampling))


def _draw(path: Path | None, name: str, *arguments: Any, **options: Any) -> None:
    """Save the picture of this name of ``report.theory_figures``, if a file is given."""
    if path is not None:
        from folkmoot.report import theory_figures

        save_picture(getattr(theory_figures, name)(*arguments, **options), path)


def _settings(chain: SlushChain | LocalSlushChain, alpha: int | list[int]) -> dict[str, Any]:
    from folkmoot.protocols.sampling import Everyone

    return {
        "n": chain.n,
        "k": chain.k,
        "alpha": alpha,
        "byzantine": chain.byzantine,
        "self_sampling": chain.sampling == Everyone(),
    }


def _rows(chain: SlushChain, everything: bool) -> list[int]:
    if everything:
        return list(range(chain.honest + 1))
    middle = chain.honest // 2
    return thinned(chain.honest + 1, [chain.alpha, chain.n - chain.alpha, middle, middle + 1])


def _more(chain: SlushChain, rows: list[list[str]]) -> str:
    hidden = chain.honest + 1 - len(rows)
    return f"{hidden} more rows with --all or --json" if hidden else ""


def _accuracy_rows(result: dict[str, Any]) -> list[list[str]]:
    needs = f"q = {result['q']:g}" if result["q"] is not None else f"delta = {result['delta'] or 0}"
    rows = [
        ["mean participant", number(result["mean_participant"])],
        ["best participant", number(result["best_participant"])],
        [f"majority ({needs})", number(result["majority"])],
        ["Slush", number(result["slush"])],
    ]
    if "rounds" in result:
        rows.append([f"Slush after {result['rounds']:,} steps", number(result["slush_after_rounds"])])
    return rows


def _gap_note(result: dict[str, Any]) -> str:
    gap = result["gap"]
    if gap is None:
        return ""
    if gap["sign"] == 0:
        return "majority and Slush are equally accurate"
    ahead = "the majority" if gap["sign"] > 0 else "Slush"
    return f"{ahead} is ahead by {number_from_log(gap['log10_magnitude'] * math.log(10))}"
