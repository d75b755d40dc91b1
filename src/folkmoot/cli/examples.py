"""The end of a command's help: two lines to type, which tests run in this order."""

from __future__ import annotations

from typing import Final

EXAMPLES: Final[dict[str, tuple[str, str]]] = {
    "demo": ("demo", "demo --out demo-1 --seed 1"),
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
    "cluster": (
        "cluster labels.csv",
        "cluster labels.csv --n-clusters 3 --malicious 2 --attack shifted --out agreed.csv",
    ),
    "plan": ("plan --n 40 --malicious 5 --p 0.8", "plan --votes votes.csv --protocol slush"),
    "theory absorption": (
        "theory absorption --n 101 --alpha 7",
        "theory absorption --n 101 --malicious 5 --all --json",
    ),
    "theory accuracy": (
        "theory accuracy --n 101 --p 0.6",
        "theory accuracy --n 12 --p 6x0.9,6x0.6 --alpha local",
    ),
    "theory threshold": (
        "theory threshold --n 101 --alpha 7",
        "theory threshold --n 101 --q 0.55 --malicious 3",
    ),
    "theory rounds": (
        "theory rounds --n 101 --p 0.6",
        "theory rounds --n 101 --steps 20 --per-node --json",
    ),
    "theory quorum-sets": (
        "theory quorum-sets nodes.json",
        "theory quorum-sets nodes.json --active-only --deadline 10s --json",
    ),
    "council": (
        'council council.toml "What is the capital of France?"',
        "council council.toml --file questions.txt --out record.json",
    ),
    "node init": (
        "node init north --model north.skops",
        "node init south --model south.skops --label-map map.toml --listen 127.0.0.1:7655",
    ),
    "roster make": (
        "roster make north/north.line south/south.line",
        "roster make north/north.line south/south.line --faults 0 --out careful.toml",
    ),
    "roster add": ("roster add roster.toml east.line", "roster add roster.toml west.line --json"),
    "roster remove": ("roster remove roster.toml east", "roster remove roster.toml west --json"),
    "roster check": ("roster check roster.toml", "roster check roster.toml --json"),
    "node run": ("node run --node north", "node run --node north --page 127.0.0.1:7700 --disk 500MB"),
    "node status": ("node status --node north", "node status --node north --json"),
    "node schema": ("node schema --node north", "node schema --node north --json"),
    "node reload": ("node reload --node north", "node reload --node north --json"),
    "ask": (
        "ask inputs.csv --node north",
        "ask inputs.csv --node north --believe dawid-skene --out answers.csv",
    ),
    "motions list": (
        "motions list --node north",
        "motions list --node north --last 5 --evidence evidence --json",
    ),
    "motions show": (
        "motions show last --node north --why 0",
        "motions show last --node north --certificate motion.json",
    ),
    "motions truth": (
        "motions truth last truth.csv --node north",
        "motions truth last truth.csv --node north --json",
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
