"""One hypothesis profile for all, and compiled code that is never older than its source."""

import hashlib
import os
from pathlib import Path

from hypothesis import HealthCheck, settings

# Fixed seeds, no time limits (the machine may be busy).
settings.register_profile(
    "folkmoot", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("folkmoot")

# Numba looks at the file of a function only, not at what it calls: a kernel would go on with the old
# streams.py. So compiled code is kept by the content of the whole package. Set before numba is imported.
_ROOT = Path(__file__).parents[1]
_CONTENT = hashlib.sha256()
for _file in sorted((_ROOT / "src").rglob("*.py")):
    _CONTENT.update(_file.read_bytes())
os.environ["NUMBA_CACHE_DIR"] = str(_ROOT / "build" / "numba" / _CONTENT.hexdigest()[:16])
