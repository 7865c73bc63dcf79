#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Sets up and builds Breakline, then opens it on a model. Safe to repeat: seconds when nothing changed.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() {
  cat <<'TXT'
Usage: ./packaging/start.sh [--python PATH]... [--setup-only] [MODEL.py [ARGUMENTS...]]

Installs what is needed, builds, and opens Breakline Studio on MODEL.py (an example when none is given). Without a
display it prints the report as text and writes a picture of the window.

  --python PATH   the interpreter that runs the model (CPython 3.11 or newer with PyTorch 2.10 or newer); repeat it to
                  build the engine for more versions, the first one is used
  --setup-only    stop after building
TXT
}

given=() setup_only=false
while [ $# -gt 0 ]; do
  case $1 in
    --python) [ $# -ge 2 ] || fail 2 "--python needs the path of an interpreter."; given+=("$2"); shift 2 ;;
    --python=*) given+=("${1#*=}"); shift ;;
    --setup-only) setup_only=true; shift ;;
    -h | --help) usage; exit 0 ;;
    --) shift; break ;;
    -*) fail 2 "unknown option $1; ./packaging/start.sh --help lists them." ;;
    *) break ;;
  esac
done
if [ $# -gt 0 ]; then
  [ -f "$1" ] || fail 2 "there is no file $1; give the path of a Python file that calls a compiled model."
  [ -r "$1" ] || fail 2 "$1 cannot be read; check its permissions."
  model=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
  shift
else
  model=$root/resources/examples/mlp_branch.py
fi

set_up "${given[@]}"

if $setup_only; then
  say "ready: build/bin/breakline-studio build/bin/breakline $python"
  exit 0
fi

arguments=()
if [ $# -gt 0 ]; then arguments=(-- "$@"); fi
if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
  exec "$build/bin/breakline-studio" "$model" "${arguments[@]}"
fi
say "No display here: the report as text, then a picture of the window."
code=0
"$build/bin/breakline" explain "$model" "${arguments[@]}" || code=$?
if QT_QPA_PLATFORM=offscreen "$build/bin/breakline-studio" --screenshot "$build/studio.png" "$model" "${arguments[@]}"; then
  say "Picture of the window: $build/studio.png"
else
  say "The picture of the window could not be made (see above)." >&2
  [ "$code" != 0 ] || code=1
fi
exit "$code"
