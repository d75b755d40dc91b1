"""What the help of a command ends with: two lines that can be typed, and that tests run in this order."""

from __future__ import annotations

from typing import Final

EXAMPLES: Final[dict[str, tuple[str, str]]] = {
    "learn": (
        "learn patients.csv --target ill --group clinic",
        "learn patients.csv --target ill --group clinic --model tree --believe peer-review --test-rows 0.3",
    ),
    "predict": (
        "predict folkmoot-learn new.csv",
        "predict folkmoot-learn new.csv --out answers.csv --json",
    ),
    "deliberate": (
        "deliberate votes.csv --truth truth.csv",
        "deliberate votes.csv --believe dawid-skene --out answers.csv --why photo-1",
    ),
    "plan": ("plan --n 40 --byzantine 5 --p 0.8", "plan --votes votes.csv --protocol slush"),
    "node init": (
        "node init north --model north.skops",
        "node init south --model south.skops --labels map.toml --listen 127.0.0.1:7655",
    ),
    "roster make": (
        "roster make north/north.line south/south.line",
        "roster make north/north.line south/south.line --faults 0 --out careful.toml",
    ),
    "roster add": ("roster add roster.toml east.line", "roster add roster.toml west.line --json"),
    "roster remove": ("roster remove roster.toml east", "roster remove roster.toml west --json"),
    "roster check": ("roster check roster.toml", "roster check roster.toml --json"),
    "node run": ("node run north", "node run north --page 127.0.0.1:7700 --disk 500MB"),
    "node status": ("node status --node north", "node status --node north --json"),
    "node schema": ("node schema --node north", "node schema --node north --json"),
    "node reload": ("node reload --node north", "node reload --node north --json"),
    "ask": (
        "ask inputs.csv --node north",
        "ask inputs.csv --node north --believe dawid-skene --out answers.csv",
    ),
    "motions list": ("motions list --node north", "motions list --node north --last 5 --json"),
    "motions show": (
        "motions show last --node north --why 0",
        "motions show last --node north --certificate motion.json",
    ),
    "motions truth": (
        "motions truth last truth.csv --node north",
        "motions truth last truth.csv --node north --json",
    ),
    "motions evidence": (
        "motions evidence --node north",
        "motions evidence --node north --out evidence",
    ),
    "node audit": ("node audit --node north --out audit.log", "node audit --node south --out south.log"),
    "verify": ("verify motion.json", "verify audit.log --roster roster.toml --json"),
    "roster propose": (
        "roster propose --node north --remove south --out next.toml",
        "roster propose --node north",
    ),
    "roster sign": ("roster sign next.toml --node south", "roster sign next.toml --node south --json"),
    "local": (
        "local --nodes 4 --inputs 10",
        "local --nodes 4 --inputs 10 --malicious 1 --attack two-faced --json",
    ),
    "doctor": ("doctor", "doctor --node north --json"),
}
