"""Compile the contract in src/folkmoot_chain/source and write moot.json beside it; --check only compares.

pip install vyper==0.4.3 && python chain/tools/compile_contract.py
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).parent.parent / "src/folkmoot_chain/source"
ARTIFACT = SOURCE.parent / "moot.json"


def source_hash(folder: Path) -> str:
    """SHA-256 over the names and texts of all files of the contract."""
    hashed = hashlib.sha256()
    for path in sorted(folder.glob("*.vy")):
        text = path.read_bytes()
        hashed.update(f"{path.name} {len(text)}\n".encode() + text)
    return hashed.hexdigest()


def compiled(folder: Path = SOURCE) -> dict[str, Any]:
    """The ABI, the bytecode and what they were made with."""
    import vyper
    from vyper.cli.vyper_compile import compile_files
    from vyper.compiler.settings import Settings

    (made,) = compile_files(
        [str(folder / "Moot.vy")],
        ["abi", "bytecode", "bytecode_runtime"],
        paths=[str(folder)],
        settings=Settings(),
    ).values()
    return {
        "compiler": f"vyper {vyper.__version__}",
        "evm_version": "cancun",
        "optimize": "gas",
        "source_sha256": source_hash(folder),
        "abi": made["abi"],
        "bytecode": made["bytecode"],
        "bytecode_runtime": made["bytecode_runtime"],
    }


def written(artifact: dict[str, Any]) -> str:
    """As JSON, an entry of the ABI a line, so that changes can be read."""
    lines = ",\n".join(f"  {json.dumps(each)}" for each in artifact["abi"])
    rest = {key: value for key, value in artifact.items() if key != "abi"}
    return json.dumps(rest, indent=1)[:-2] + f',\n "abi": [\n{lines}\n ]\n}}\n'


if __name__ == "__main__":
    text = written(compiled())
    if "--check" not in sys.argv[1:]:
        ARTIFACT.write_text(text)
    elif ARTIFACT.read_text() != text:
        sys.exit(f"{ARTIFACT} is not what {SOURCE} compiles to: run python chain/tools/compile_contract.py")
