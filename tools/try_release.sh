#!/bin/sh
# Build wheel and sdist, and try both in clean environments: tools/try_release.sh [PYTHON]
#
# The wheel: installed alone, it runs `folkmoot demo`. The sdist: unpacked, it passes its own tests.
set -eu
python=${1:-python3}
folder=$(mktemp -d "${TMPDIR:-/tmp}/folkmoot-release.XXXXXX")
echo "in $folder"
$python -m venv "$folder/build"
"$folder/build/bin/pip" install --quiet build
"$folder/build/bin/python" -m build --outdir "$folder/dist" .

$python -m venv "$folder/wheel"
"$folder/wheel/bin/pip" install --quiet "$(echo "$folder"/dist/*.whl)[page]"
(cd "$folder" && wheel/bin/folkmoot doctor && wheel/bin/folkmoot demo --out "$folder/demo")

mkdir "$folder/sdist"
tar -xzf "$folder"/dist/*.tar.gz -C "$folder/sdist" --strip-components 1
(cd "$folder/sdist" && make test)
echo "both hold; remove $folder"
