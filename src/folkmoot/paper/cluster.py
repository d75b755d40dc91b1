"""A Ray cluster as joblib's backend: the way to several machines."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

import joblib
from joblib import effective_n_jobs

from folkmoot.extras import to_install


@contextmanager
def ray_cluster(address: str) -> Iterator[None]:
    """Everything that joblib runs inside goes to the cluster at ``address``; ``local`` starts one here."""
    if address != "local":
        _check(address)
    try:
        ray = import_module("ray")
        register = import_module("ray.util.joblib").register_ray
    except ModuleNotFoundError:
        raise ModuleNotFoundError(f"a Ray cluster needs Ray: {to_install('ray')}") from None
    where = {"num_cpus": effective_n_jobs(-1)} if address == "local" else {"address": address}
    try:
        ray.init(
            include_dashboard=False if address == "local" else None,
            log_to_driver=False,
            logging_level=logging.ERROR,
            **where,
        )
    except ConnectionError as error:
        raise ValueError(f"there is no Ray cluster at {address}: {error}") from None
    try:
        register()
        with joblib.parallel_config(backend="ray"):
            yield
    finally:
        ray.shutdown()


def _check(address: str) -> None:
    """Somebody must listen there: Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        raise ValueError(f"--ray must be HOST:PORT of a cluster, or 'local': got {address!r}")
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except OSError as error:
        raise ValueError(f"there is no Ray cluster at {address}: {error.strerror or error}") from None
