"""A Ray cluster as joblib's backend: the way to several machines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module


@contextmanager
def ray_cluster(address: str) -> Iterator[None]:
    """Everything that joblib runs inside goes to the cluster at ``address``; ``local`` starts one here."""
    import joblib

    try:
        ray = import_module("ray")
        register = import_module("ray.util.joblib").register_ray
    except ModuleNotFoundError:
        raise ModuleNotFoundError('a Ray cluster needs Ray: pip install "folkmoot[ray]"') from None
    where = {"num_cpus": 2} if address == "local" else {"address": address}
    try:
        ray.init(include_dashboard=False if address == "local" else None, log_to_driver=False, **where)
    except ConnectionError as error:
        raise ValueError(f"there is no Ray cluster at {address}: {error}") from None
    try:
        register()
        with joblib.parallel_config(backend="ray"):
            yield
    finally:
        ray.shutdown()
