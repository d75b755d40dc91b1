"""``python -m experiments``: the paper's tables, figures and more studies, beside what the paper says."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import msgspec

from experiments.catalogue import MODULES, experiment
from experiments.experiment import Experiment
from experiments.results import rows_of, table, write, write_page
from folkmoot import __version__
from folkmoot.machine import to_install
from folkmoot.simulation.kernels.gpu import cuda
from folkmoot.simulation.setting import Device

RESULTS = Path(__file__).parent / "results"
FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line names; returns the exit code: 1 if an experiment could not be run."""
    options = _parser().parse_args(arguments)
    try:
        if options.list:
            _list(json=options.json)
            return 0
        return _run(options)
    except (OSError, ValueError, ModuleNotFoundError) as error:
        _complain(" ".join(str(error).split()))
        return BAD_INPUT
    except KeyboardInterrupt:
        _complain("interrupted; the same command goes on from here")
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m experiments", description=__doc__.partition(": ")[2])
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help="experiments; all of them if none is named")
    add("--list", action="store_true", help="name the experiments and exit")
    add("--quick", action="store_true", help="smaller settings, and no CNN unless it is named")
    add("--seeds", nargs="+", type=int, default=[0], metavar="SEED", help="run with each of them (0)")
    add("--data", type=Path, help="FEMNIST: a parquet or LEAF JSON file, or a folder (downloaded)")
    add("--out", type=Path, default=RESULTS, help="folder for results and kept cells (experiments/results)")
    add("--fresh", action="store_true", help="forget all kept cells of --out first")
    add("--jobs", type=int, default=-1, help="processes; -1 is one per core (-1)")
    add("--backend", choices=["loky", "threading", "ray"], default="loky", help="joblib's backend (loky)")
    add("--device", choices=["cpu", "cuda", "auto"], default="cpu", help="for beta and design (cpu)")
    add("--json", action="store_true", help="print the results as JSON")
    return parser


def _run(options: argparse.Namespace) -> int:
    chosen = [experiment(name) for name in dict.fromkeys(options.names or MODULES)]
    for seed in options.seeds:
        if not 0 <= seed < 2**32:
            raise ValueError(f"--seeds must satisfy 0 <= seed < 2^32: got {seed}")
    if options.jobs == 0:
        raise ValueError("--jobs must be a number of processes, or -1 for one per core: got 0")
    if options.data is not None and not options.data.exists():
        raise ValueError(f"--data must name a file or a folder of FEMNIST: there is no {options.data}")
    device = device_of(
        options.device, [each.name for each in chosen if not each.takes_device and options.names]
    )
    if options.quick and not options.names:
        chosen = [each for each in chosen if each.name != "femnist-cnn"]  # needs PyTorch
    options.out.mkdir(parents=True, exist_ok=True)
    memory = joblib.Memory(options.out.resolve() / ".cells" / __version__, verbose=0)
    if options.fresh:
        memory.clear(warn=False)
    done = {}
    failed = False
    with on_backend(options.backend, options.jobs):
        for each in chosen:
            started = time.perf_counter()
            try:
                found = _results(each, options, device, memory)
            except (OSError, ValueError, ModuleNotFoundError) as error:
                _complain(f"{each.name} was not run: {' '.join(str(error).split())}")
                failed = True
                continue
            done[each.name] = found
            if not options.json:
                _print(found, time.perf_counter() - started)
    if options.json:
        print(msgspec.json.encode(done).decode())
    print(f"wrote {write_page(options.out)}", file=sys.stderr)
    return FAILED if failed else 0


def _results(
    each: Experiment[Any], options: argparse.Namespace, device: Device, memory: joblib.Memory
) -> dict[str, Any]:
    """One experiment with every seed, written down with how it was made."""
    config = each.quick if options.quick else each.full
    data = None
    how = f"python -m experiments {each.name}{' --quick' * options.quick}"
    if options.seeds != [0]:
        how += f" --seeds {' '.join(map(str, options.seeds))}"
    if each.needs_data:
        data = "downloaded" if options.data is None else options.data.resolve().name
        how += "" if options.data is None else " --data FEMNIST"
        config = replace(config, data=None if options.data is None else str(options.data.resolve()))
    if each.takes_device:
        how += "" if device == "cpu" else f" --device {device}"
        config = replace(config, device=device)
    results = {seed: each.run(config, seed, memory) for seed in options.seeds}
    made = {"command": how, "settings": "quick" if options.quick else "full", "FEMNIST": data or "not used"}
    return write(options.out, each, results, made)


def device_of(asked: str, without: Sequence[str]) -> Device:
    """The device to play on: "auto" is decided here, as results of a GPU are other samples."""
    if asked == "cuda" and without:
        raise ValueError(f"--device cuda is for beta and design: {without[0]} is not played on a GPU")
    if asked == "cuda":
        cuda.cuda()
    if asked == "auto":
        return "cpu" if cuda.why_not() else "cuda"
    return "cuda" if asked == "cuda" else "cpu"


@contextmanager
def on_backend(name: str, jobs: int) -> Iterator[None]:
    """Where joblib computes cells: here, or on the Ray cluster at RAY_ADDRESS (none: one is started here)."""
    if name == "ray":
        try:
            from ray.util.joblib import register_ray
        except ModuleNotFoundError:
            raise ModuleNotFoundError(f"--backend ray needs Ray: {to_install('ray')}") from None
        register_ray()
    with joblib.parallel_config(backend=name, n_jobs=jobs):
        yield


def _list(*, json: bool) -> None:
    found = {name: experiment(name).about for name in MODULES}
    if json:
        print(msgspec.json.encode(found).decode())
        return
    for name, about in found.items():
        print(f"{name:<{max(map(len, found))}}  {about}")


def _print(found: dict[str, Any], seconds: float) -> None:
    for run in found["runs"]:
        judged = [each["holds"] for each in run["findings"] if each["holds"] is not None]
        held = f"{sum(judged)} of {len(judged)} claims hold; " if judged else ""
        print(f"{found['experiment']}, seed {run['seed']}: {run['verdict']} ({held}{seconds:.1f} s)")
    print(*table(["", "the paper", "here", "holds"], [row[1:] for row in rows_of(found)]), "", sep="\n")


def _complain(line: str) -> None:
    print(f"experiments: {line}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
