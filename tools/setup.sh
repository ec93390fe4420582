#!/usr/bin/env bash
# Installs what a bare Debian 12 lacks, for the named groups; asks the network for nothing when nothing is missing.
#
#   tools/setup.sh build               compiler, CMake, libraries and a virtual environment in build/venv
#   tools/setup.sh build test wasm     also what `make test` needs
set -euo pipefail
cd "$(dirname "$0")/.."

# The lists of a group are read by name.
# shellcheck disable=SC2034
{
  apt_build="g++ cmake ninja-build ccache git ca-certificates python3 python3-venv libcli11-dev nlohmann-json3-dev libgtest-dev"
  apt_test="clang-19 libclang-rt-19-dev"
  apt_wasm="clang-19 lld-19 libc++-19-dev-wasm32 libc++abi-19-dev-wasm32 libclang-rt-19-dev-wasm32 wasi-libc"
  pip_build=""
  pip_test="numpy gguf nvidia-cuda-nvrtc"
  pip_wasm="deno"
}
cmake_needed=3.25
venv=build/venv
requirements=tools/requirements.txt

say() { echo "setup: $*"; }
fail() { echo "setup: $*" >&2; exit 1; }

# A program found on PATH serves as well as its Debian package.
program_serves() {
  case "$1" in
    cmake) version_serves "$(cmake --version 2>/dev/null | sed -n '1s/[^0-9]*//p')" "$cmake_needed" ;;
    ninja-build) [ -n "$(command -v ninja)" ] ;;
    g++ | ccache | git | python3) [ -n "$(command -v "$1")" ] ;;
    python3-venv) python3 -c 'import ensurepip, venv' 2>/dev/null ;;
    *) return 1 ;;
  esac
}

# version_serves HAVE NEEDED
version_serves() {
  [ -n "$1" ] && [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

missing_apt() {
  local package installed=" "
  if [ -n "$(command -v dpkg-query)" ]; then
    # dpkg-query fails when any package is unknown; the lines of the known ones are still printed.
    # shellcheck disable=SC2086
    installed=" $(dpkg-query -W -f '${binary:Package} ${db:Status-Status}\n' $1 2>/dev/null |
      sed -n 's/^\([^: ]*\)[^ ]* installed$/\1/p' | tr '\n' ' ' || true)"
  fi
  for package in $1; do
    [[ $installed == *" $package "* ]] || program_serves "$package" || echo "$package"
  done
}

# Runs a command as root.
as_root() {
  if [ "$(id -u)" = 0 ]; then env "$@"; else sudo env "$@"; fi
}

install_apt() {
  [ -n "$(command -v apt-get)" ] ||
    fail "these are missing and this system has no apt-get; install them by hand: $*"
  [ "$(id -u)" = 0 ] || [ -n "$(command -v sudo)" ] ||
    fail "these packages are missing: $*. Run this as root, install sudo, or have them installed with apt-get."
  say "installing Debian packages: $*"
  as_root apt-get -o DPkg::Lock::Timeout=300 update -q
  as_root DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -q -y --no-install-recommends "$@" ||
    fail "apt-get could not install: $*. Tenon is built on Debian 12 with its updates and security suites."
  [[ " $* " != *" cmake "* ]] || program_serves cmake ||
    fail "CMake $cmake_needed or newer is needed; found $(cmake --version | head -n 1)"
}

make_venv() {
  if "$venv/bin/python" -c 'import pip' 2>/dev/null; then return; fi
  say "making the virtual environment $venv"
  mkdir -p build
  python3 -m venv --clear "$venv" || fail "python3 -m venv failed; the package python3-venv is needed"
}

# The named packages that the virtual environment lacks in the version of requirements.txt.
missing_pip() {
  local package version
  for package in $1; do
    version=$(sed -n "s/^$package==//p" "$requirements")
    [ -n "$version" ] || fail "$requirements names no version of $package"
    compgen -G "$venv/lib/python3*/site-packages/${package//-/_}-$version.dist-info/RECORD" >/dev/null || echo "$package"
  done
}

install_pip() {
  say "installing Python packages into $venv: $*"
  "$venv/bin/python" -m pip install -q --disable-pip-version-check -c "$requirements" "$@" ||
    fail "pip could not install: $* (versions in $requirements)"
}

[ $# -gt 0 ] || fail "name the groups to set up: build, test, wasm"
apt="" pip=""
for group in "$@"; do
  case "$group" in
    build | test | wasm) ;;
    *) fail "there is no group '$group'; the groups are build, test, wasm" ;;
  esac
  list="apt_$group" && apt+=" ${!list}"
  list="pip_$group" && pip+=" ${!list}"
done

missing=$(missing_apt "$apt")
# shellcheck disable=SC2086
[ -z "$missing" ] || install_apt $missing
make_venv
missing=$(missing_pip "$pip")
# shellcheck disable=SC2086
[ -z "$missing" ] || install_pip $missing
say "everything for $* is installed"
