"""One hypothesis profile, one thread a process, Ctrl-C heard, compiled code kept and as new as its source."""

import hashlib
import os
import signal
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

# Fixed seeds, no time limits (the machine may be busy).
settings.register_profile(
    "folkmoot", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("folkmoot")

# The workers of the suite share the cores: threads of OpenMP and BLAS would wait for each other, spinning
# (the test of boosted trees takes 20 seconds of processor time with two threads on a busy machine, 0.3 with
# one). Set before numpy is imported.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

# The environment of a developer or a CI service may set a width, colours, a language or a switch of ours. A
# test that is about one of these sets it itself. typer prints colours where GITHUB_ACTIONS is set.
os.environ |= {"COLUMNS": "80", "LINES": "24", "TERM": "dumb", "LC_ALL": "C.UTF-8", "LANGUAGE": "en"}
for _variable in (
    "NO_COLOR", "FORCE_COLOR", "PY_COLORS", "CLICOLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "TTY_INTERACTIVE",
    "TERMINAL_WIDTH", "GITHUB_ACTIONS", "FOLKMOOT_DATA", "FOLKMOOT_DEBUG",
    "PYTHONWARNINGS",
):  # fmt: skip
    os.environ.pop(_variable, None)

# What a shell starts in the background ignores Ctrl-C, and so does all that it starts; tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Bytecode is kept, whatever the environment says: else every worker rewrites the assertions of all tests
# anew (12 of its 21 seconds of processor time before the first test), and every process that a test starts
# compiles all of the package.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Compiled kernels are kept in the clone, by the content of all that they may call: numba looks only at the
# file of a function itself. Set before numba is imported.
_root = Path(__file__).parents[1]
_sources = [
    path
    for name in ("protocols", "simulation", "theory")
    for path in sorted((_root / "src" / "folkmoot" / name).rglob("*.py"))
]
_key = hashlib.sha256(b"".join(path.read_bytes() for path in _sources)).hexdigest()[:12]
os.environ["NUMBA_CACHE_DIR"] = str(_root / "build" / "numba" / _key)

# Matplotlib's list of fonts too: that of the home folder may be of another matplotlib, or damaged.
os.environ["MPLCONFIGDIR"] = str(_root / "build" / "matplotlib")
