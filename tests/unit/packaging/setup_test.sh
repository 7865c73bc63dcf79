#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The set-up scripts' decisions, with made-up interpreters in place of real ones. Installs and builds nothing.
#   setup_test.sh SOURCE_DIR
set -u
source_dir=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# An own copy, so that the real build folder is neither read nor written.
mkdir -p "$work/tree"
cp -r "$source_dir/packaging" "$work/tree/"
start=$work/tree/packaging/start.sh

# fake NAME VERSION TORCH: an "interpreter" that answers the question set-up asks, and imports what it claims to have.
fake() {
  printf '#!/bin/sh\ncase "$2" in "import torch") exit 0 ;; *sysconfig*) echo /nowhere ;; *) echo "%s|%s|%s|1" ;; esac\n' \
    "$work/$1" "$2" "$3" >"$work/$1"
  chmod +x "$work/$1"
}
fake old 3.10.4 -
fake bare 3.11.7 -
fake stale 3.11.7 2.9.1+cpu
fake good 3.11.7 2.13.0+cpu
fake new 3.12.1 2.10.0
fake bare312 3.12.1 -

check() { # check NAME EXPECTED ACTUAL
  if [ "$2" = "$3" ]; then
    echo "PASS $1"
  else
    printf 'FAIL %s\n  expected: %s\n  actual:   %s\n' "$1" "$2" "$3"
    failures=$((failures + 1))
  fi
}

# in_lib COMMANDS...: runs them with lib.sh loaded, in a shell of its own.
in_lib() { bash -c "source '$work/tree/packaging/lib.sh'; $1" 2>&1; }

check "versions are compared as numbers" "yes yes no no" \
  "$(in_lib 'for p in "2.10.0 2.10" "3.11.7 3.11" "2.9.1 2.10" "3.9 3.11"; do if at_least $p; then printf "yes "; else printf "no "; fi; done' | sed 's/ $//')"
check "a package line loses its comment" "qt6-svg-dev|libqt6svg6-dev" "$(in_lib 'wanted_packages | grep svg-dev')"
check "every package line is one word" "" "$(in_lib 'wanted_packages | grep -vE "^[a-z0-9+.|-]+$" || true')"

# Refusals: one sentence, exit 2, nothing installed or configured.
refused() { # refused NAME PATTERN ARGUMENTS...
  local name=$1 pattern=$2 text code
  shift 2
  text=$(bash "$start" "$@" 2>&1 </dev/null)
  code=$?
  check "$name: exit code" 2 "$code"
  check "$name: one sentence" 1 "$(printf '%s\n' "$text" | wc -l)"
  if ! grep -qE "$pattern" <<<"$text"; then check "$name: words" "$pattern" "$text"; fi
}
unset BREAKLINE_PYTHON
refused "too old" "given by --python, .*/old, is Python 3.10.4; Breakline needs 3.11" --setup-only --python "$work/old"
refused "no torch" "/bare, has no PyTorch" --setup-only --python "$work/bare"
refused "old torch" "has PyTorch 2.9.1\+cpu; Breakline needs 2.10" --setup-only --python "$work/stale"
refused "not there" "does not run as a Python interpreter" --setup-only --python="$work/nowhere"
refused "second one too old" "/old, is Python 3.10.4" --setup-only --python "$work/good" --python "$work/old"
refused "no value" "needs the path" --python
refused "unknown option" "unknown option --frob" --frob
refused "no such file" "there is no file $work/none.py" "$work/none.py"
BREAKLINE_PYTHON=$work/bare refused "from the environment" "given by BREAKLINE_PYTHON, .*has no PyTorch" --setup-only

# Choices.
choose() { in_lib "build=$work/build; state=$work/build/.setup; mkdir -p \$state; choose_pythons $*; echo \"\${pythons[*]}\"" | tail -n 1; }
check "the given one is taken" "$work/good" "$(choose "$work/good")"
check "further ones may lack torch" "$work/good $work/bare312" "$(choose "$work/good" "$work/bare312")"
check "the environment's is taken" "$work/new" "$(BREAKLINE_PYTHON=$work/new choose)"
check "the given one goes first" "$work/good" "$(BREAKLINE_PYTHON=$work/new choose "$work/good")"
mkdir -p "$work/build"
printf '{\n  "python": "%s",\n  "also": ["%s"]\n}\n' "$work/good" "$work/bare312" >"$work/build/breakline.json"
check "the former choice is kept" "$work/good $work/bare312" "$(choose)"
check "what was chosen is saved and read again" "$work/new|$work/bare312" \
  "$(in_lib "build=$work/build; state=$work/build/.setup; choose_pythons $work/new $work/bare312 >/dev/null; save_pythons; printf '%s|%s' \"\$(saved_pythons python)\" \"\$(saved_pythons also)\"")"
check "missing headers are named" "2 1" \
  "$(text=$(in_lib "pythons=($work/good); need_headers"); code=$?; echo "$code $(grep -c '/nowhere/Python.h' <<<"$text")")"

[ "$failures" = 0 ]
