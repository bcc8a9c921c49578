#!/usr/bin/env bash
# The product from its wheel, in an environment of its own: bash docs/examples/jobs/wheel.sh FOLDER
set -eu
pip wheel --quiet --no-deps --wheel-dir "$1" .
python3 -m venv "$1/venv"
"$1/venv/bin/pip" install --quiet -c constraints.txt "$1"/obstetrics_rag_lab-*.whl
cd "$1"
venv/bin/rag query "When is anti-D given?"
