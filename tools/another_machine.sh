#!/usr/bin/env bash
# `make test` in a clone, as it is on another machine:
#
#   tools/another_machine.sh WORKERS HASHSEED shared|alone all|few here|other
#
# "shared": ../shared of this checkout is beside the clone. "few": programs that some tests use are hidden (a
# browser, a C++ compiler, anvil). "other": floating point of another processor. The first run sets up an environment;
# what it says is kept beside the clones, in $TMPDIR/folkmoot-another-machine.
set -euo pipefail
given="$*"
[[ "$given" =~ ^[0-9]+\ [0-9]+\ (shared|alone)\ (all|few)\ (here|other)$ ]] || { sed -n '2,8s/^# \?//p' "$0" >&2; exit 2; }
workers=$1 seed=$2 data=$3 programs=$4 floats=$5
root=$(cd "$(dirname "$0")/.." && pwd)
place=${TMPDIR:-/tmp}/folkmoot-another-machine
clone=$place/$data/folkmoot

mkdir -p "$place/$data"
[ -d "$clone" ] || git clone --quiet --no-checkout "$root" "$clone"
git -C "$clone" fetch --quiet "$root" HEAD
git -C "$clone" checkout --quiet --force --detach FETCH_HEAD
if [ "$data" = shared ]; then ln -sfn "$root/../shared" "$place/$data/shared"; fi
cd "$clone"
make .venv/dev

if [ "$programs" = few ]; then
  unset FOLKMOOT_ANVIL
  rm -rf "$place/bin" && mkdir "$place/bin"
  IFS=: read -ra folders <<<"$PATH"
  for folder in "${folders[@]}"; do # the first of a name is the one that a shell would find
    find "$folder" -maxdepth 1 ! -type d -exec sh -c 'for each; do [ -e "$0/${each##*/}" ] || ln -s "$each" "$0"; done' \
      "$place/bin" {} + 2>/dev/null || true
  done
  rm -f "$place"/bin/{chromium,chromium-browser,google-chrome,g++,clang++,anvil}
  export PATH=$place/bin
fi
if [ "$floats" = other ]; then # by what numpy says that this processor can do; on one without AVX-512, by a plugin
  while IFS= read -r line; do export "${line?}"; done < <(PYTHONPATH=tests .venv/bin/python -c '
from support.kinds_of_floats import WIDE, WITHOUT
other = WITHOUT if WIDE else {"PYTEST_ADDOPTS": "-p support.other_last_bits", "PYTHONPATH": "tests"}
print(*(f"{name}={value}" for name, value in other.items()), sep="\n")')
fi
PYTHONHASHSEED=$seed make test WORKERS="$workers" 2>&1 | tee "$place/${given// /-}.log"
