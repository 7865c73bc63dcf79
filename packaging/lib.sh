# SPDX-License-Identifier: GPL-3.0-or-later
# Setting up, shared by start.sh and test.sh: packages, interpreter, configure, build. Every step asks first whether
# it is needed, so that a repeat takes seconds. Sourced, not run. Needs bash; sets `errexit`.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build
state=$build/.setup
python="" # set by choose_pythons: the interpreter that runs the models
least_python=3.11
least_torch=2.10

say() { printf '%s\n' "$*"; }
step() { printf '==> %s\n' "$*"; }
# fail CODE SENTENCE: 1 = could not set up, 2 = wrong usage or input
fail() {
  printf 'breakline: %s\n' "$2" >&2
  exit "$1"
}

# --- Debian packages ------------------------------------------------------------------------------------------------

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# One line a package: its alternatives, separated by "|".
wanted_packages() { sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$root/packaging/packages.txt"; }

# Lines of wanted_packages of which no alternative is installed.
missing_packages() {
  local installed line name
  installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' 2>/dev/null | sed -n 's/ installed$//p' | sort -u)
  while read -r line; do
    for name in ${line//|/ }; do
      if grep -qxF "$name" <<<"$installed"; then continue 2; fi
    done
    printf '%s\n' "$line"
  done < <(wanted_packages)
}

# The first alternative of a line that can be installed; fails when there is none.
available_package() {
  local name answer
  for name in ${1//|/ }; do
    # Not in a pipe: grep -q would end apt-cache early, which pipefail takes for a failure.
    answer=$(apt-cache policy "$name" 2>/dev/null || true)
    if grep -q 'Candidate: [^(]' <<<"$answer"; then
      printf '%s\n' "$name"
      return 0
    fi
  done
  return 1
}

choose_packages() { # fills chosen_packages and unavailable from the lines given
  local line name
  chosen_packages=() unavailable=()
  for line in "$@"; do
    if name=$(available_package "$line"); then chosen_packages+=("$name"); else unavailable+=("${line//|/ or }"); fi
  done
}

apt_install() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" </dev/null
}

install_packages() {
  local missing
  if ! command -v apt-get >/dev/null; then
    say "This is not Debian: make sure that the packages of packaging/packages.txt are there under their names here."
    return 0
  fi
  mapfile -t missing < <(missing_packages)
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
    fail 1 "these packages are missing and there is no sudo here; install them as root: apt-get install ${missing[*]%%|*}"
  fi
  step "Installing ${#missing[@]} Debian packages: ${missing[*]}"
  choose_packages "${missing[@]}"
  if [ ${#unavailable[@]} -gt 0 ]; then
    as_root apt-get update -q </dev/null || fail 1 "apt-get update failed (see above): check the network and /etc/apt."
    choose_packages "${missing[@]}"
  fi
  [ ${#unavailable[@]} -eq 0 ] || fail 1 "not to be had from this system's package sources: $(printf '%s; ' "${unavailable[@]}")"
  if ! apt_install "${chosen_packages[@]}"; then
    # Old lists name files that are gone from the server.
    as_root apt-get update -q </dev/null || true
    apt_install "${chosen_packages[@]}" || true
  fi
  mapfile -t missing < <(missing_packages)
  [ ${#missing[@]} -eq 0 ] || fail 1 "could not install (see above): ${missing[*]}"
}

# --- interpreter ----------------------------------------------------------------------------------------------------

# describe_python COMMAND: "executable|version|torch version or -|stamp", without importing torch. Fails when it does
# not run. The stamp changes when its torch does.
describe_python() {
  "$1" -c '
import importlib.util, os, sys
spec = importlib.util.find_spec("torch") if sys.version_info >= (3, 11) else None
version = stamp = "-"
if spec and spec.origin:
    path = os.path.join(os.path.dirname(spec.origin), "version.py")
    if os.path.exists(path):
        scope = {}
        exec(open(path).read(), scope)
        version = str(scope.get("__version__", "-"))
        stamp = "%d" % os.stat(path).st_mtime_ns
print("|".join([sys.executable, "%d.%d.%d" % sys.version_info[:3], version, stamp]))' 2>/dev/null
}

at_least() { # at_least VERSION LEAST
  [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

# judge_python COMMAND: sets python_exe, python_version, torch_version; prints nothing. On refusal sets python_fault to
# the rest of a sentence that starts with the command, and fails. Importing torch takes seconds, so a success is kept.
judge_python() {
  local answer stamp seen
  python_fault="" python_exe="" python_version="" torch_version=""
  if ! answer=$(describe_python "$1"); then
    python_fault="does not run as a Python interpreter"
    return 1
  fi
  IFS='|' read -r python_exe python_version torch_version stamp <<<"$answer"
  if ! at_least "$python_version" "$least_python"; then
    python_fault="is Python $python_version; Breakline needs $least_python or newer"
    return 1
  fi
  if [ "$torch_version" = - ]; then
    python_fault="has no PyTorch; install torch $least_torch or newer there, or choose another interpreter with --python"
    return 1
  fi
  if ! at_least "${torch_version%%+*}" "$least_torch"; then
    python_fault="has PyTorch $torch_version; Breakline needs $least_torch or newer"
    return 1
  fi
  seen="$python_exe $python_version $torch_version $stamp"
  if ! grep -qxF "$seen" "$state/pythons" 2>/dev/null; then
    if ! "$python_exe" -c 'import torch' >/dev/null 2>&1; then
      python_fault="has PyTorch $torch_version, but 'import torch' fails there"
      return 1
    fi
    mkdir -p "$state"
    printf '%s\n' "$seen" >>"$state/pythons"
  fi
}

# The first of the interpreters on the path that is new enough, with or without torch.
plain_python() {
  local candidate answer version
  for candidate in python3 /usr/bin/python3; do
    command -v "$candidate" >/dev/null || continue
    answer=$(describe_python "$candidate") || continue
    version=$(cut -d'|' -f2 <<<"$answer")
    if at_least "$version" "$least_python"; then
      cut -d'|' -f1 <<<"$answer"
      return 0
    fi
  done
  return 1
}

# How much pip is about to fetch, in words. pip's own dry run tells the files; from 23.2 on it reads their metadata only,
# older ones would fetch every file for that, so they are renewed first.
download_size() {
  local version
  version=$("$1" -m pip --version | cut -d' ' -f2)
  if ! at_least "$version" 23.2; then
    "$1" -m pip install -q --disable-pip-version-check --upgrade 'pip>=23.2' >/dev/null 2>&1 || true
    version=$("$1" -m pip --version | cut -d' ' -f2)
  fi
  { at_least "$version" 23.2 &&
    timeout 120 "$1" -m pip install --dry-run --quiet --ignore-installed --report - -r "$root/packaging/requirements.txt" 2>/dev/null; } |
    "$1" -c '
import json, os, sys, urllib.parse, urllib.request
total = 0
for item in json.load(sys.stdin)["install"]:
    url = item["download_info"]["url"]
    parts = urllib.parse.urlsplit(url)
    if parts.scheme == "file":
        total += os.path.getsize(urllib.request.url2pathname(parts.path))
        continue
    request = urllib.request.Request(url, method="HEAD")
    total += int(urllib.request.urlopen(request, timeout=20).headers["Content-Length"])
print("%d MB" % (total / 1e6 + 0.5))' 2>/dev/null ||
    echo "a size that the registry does not tell (a CUDA build of PyTorch is several GB)"
}

make_venv() {
  local base stamp
  stamp=$(cksum <"$root/packaging/requirements.txt")
  if [ "$(cat "$state/venv" 2>/dev/null)" = "$stamp" ] && "$build/venv/bin/python" -c '' 2>/dev/null; then return 0; fi
  base=$(plain_python) || fail 1 "there is no python3 of version $least_python or newer; install one or give it with --python."
  step "No interpreter with PyTorch $least_torch or newer was found: making build/venv from $base"
  if ! "$build/venv/bin/python" -m pip --version >/dev/null 2>&1; then
    rm -rf "$build/venv"
    "$base" -m venv "$build/venv" || fail 1 "$base cannot make an environment: install its venv package (Debian: python3-venv)."
  fi
  step "Installing $(grep -v '^#' "$root/packaging/requirements.txt" | tr '\n' ' ')there, to download: $(download_size "$build/venv/bin/python")"
  "$build/venv/bin/python" -m pip install --disable-pip-version-check --progress-bar off -q -r "$root/packaging/requirements.txt" ||
    fail 1 "PyTorch could not be installed into build/venv (see above): check the network, or give an interpreter that has it with --python."
  mkdir -p "$state"
  printf '%s\n' "$stamp" >"$state/venv"
}

need_headers() {
  local candidate include
  for candidate in "${pythons[@]}"; do
    include=$("$candidate" -c 'import sysconfig; print(sysconfig.get_path("include"))')
    [ -f "$include/Python.h" ] || fail 2 "$candidate has no development headers ($include/Python.h): install its -dev package, or choose another interpreter with --python."
  done
}

# saved_pythons KEY: the value of a key of build/breakline.json, one path a line.
saved_pythons() {
  [ -f "$build/breakline.json" ] || return 0
  sed -n "s/^ *\"$1\": *\[\{0,1\}//p" "$build/breakline.json" | grep -o '"[^"]*"' | tr -d '"' || true
}

# choose_pythons GIVEN...: sets `pythons`, the interpreters that the engine is built for; the first one is the default.
# An interpreter that was asked for and does not do ends the program with 2. Further ones may lack torch: for them the
# engine is only built.
choose_pythons() {
  local candidate given=("$@") how=--python answer
  pythons=()
  if [ ${#given[@]} -eq 0 ] && [ -n "${BREAKLINE_PYTHON:-}" ]; then
    given=("$BREAKLINE_PYTHON") how=BREAKLINE_PYTHON
  fi
  if [ ${#given[@]} -gt 0 ]; then
    for candidate in "${given[@]}"; do
      if judge_python "$candidate"; then
        :
      elif [ ${#pythons[@]} -gt 0 ] && [ "$torch_version" = - ] && at_least "$python_version" "$least_python"; then
        say "$candidate (Python $python_version) has no PyTorch: the engine is built for it, and compiles plain Python there."
      else
        fail 2 "the interpreter given by $how, $candidate, $python_fault."
      fi
      pythons+=("$python_exe")
    done
  else
    for candidate in $(saved_pythons python) python3 /usr/bin/python3; do
      command -v "$candidate" >/dev/null || continue
      if judge_python "$candidate"; then
        pythons=("$python_exe")
        break
      fi
    done
    if [ ${#pythons[@]} -eq 0 ]; then
      make_venv
      judge_python "$build/venv/bin/python" || fail 1 "build/venv $python_fault: remove build/venv and start again."
      pythons=("$python_exe")
    fi
    # Other versions that an earlier call asked for stay built.
    for candidate in $(saved_pythons also); do
      if answer=$(describe_python "$candidate") && [ "$candidate" != "${pythons[0]}" ]; then pythons+=("$candidate"); fi
    done
  fi
  judge_python "${pythons[0]}" || fail 1 "${pythons[0]} $python_fault."
  python=${pythons[0]}
  case $python_version in
    3.11.* | 3.12.* | 3.13.*) ;;
    *) say "Python $python_version: Breakline's tables for it are prepared but not tested; 3.11, 3.12 and 3.13 are traced (choose one with --python)." ;;
  esac
  export BREAKLINE_PYTHON=$python
}

save_pythons() {
  local also="" item
  for item in "${pythons[@]:1}"; do also+="${also:+, }\"$item\""; done
  mkdir -p "$build"
  printf '{\n  "python": "%s",\n  "also": [%s]\n}\n' "$python" "$also" >"$build/breakline.json.new"
  if cmp -s "$build/breakline.json.new" "$build/breakline.json"; then
    rm "$build/breakline.json.new"
  else
    mv "$build/breakline.json.new" "$build/breakline.json"
  fi
}

# --- build ----------------------------------------------------------------------------------------------------------

configure_and_build() {
  local list
  list=$(IFS=';'; printf '%s' "${pythons[*]}")
  # A tree that was moved or copied cannot use its old configuration.
  if [ -f "$build/CMakeCache.txt" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$build/CMakeCache.txt"; then
    rm -rf "$build/CMakeCache.txt" "$build/CMakeFiles"
  fi
  if [ ! -f "$build/build.ninja" ] || [ "$(cat "$state/configured" 2>/dev/null)" != "$list" ]; then
    step "Configuring for $list"
    cmake -G Ninja -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release "-DBREAKLINE_PYTHONS=$list" >"$build/configure.log" 2>&1 ||
      { tail -n 30 "$build/configure.log" >&2; fail 1 "configuring failed (above; the whole of it is in build/configure.log)."; }
    mkdir -p "$state"
    printf '%s\n' "$list" >"$state/configured"
  fi
  step "Building"
  ninja -C "$build" "-j$(nproc)" >"$build/build.log" 2>&1 ||
    { grep -E -A 12 'error|FAILED' "$build/build.log" | head -n 60 >&2 || true; fail 1 "building failed (above; the whole of it is in build/build.log)."; }
}

# set_up GIVEN-PYTHONS...: everything up to a built tree.
set_up() {
  cd "$root"
  mkdir -p "$build" "$state"
  # An interpreter that was asked for is judged before anything is installed.
  if [ $# -gt 0 ] || [ -n "${BREAKLINE_PYTHON:-}" ]; then choose_pythons "$@"; fi
  install_packages
  if [ -z "${python:-}" ]; then choose_pythons; fi
  need_headers
  save_pythons
  configure_and_build
}
