#!/usr/bin/env bash
# Proves that a bare Debian 12 is enough: makes one in a folder, clones this repository into it and runs commands there.
#
#   tools/bare_machine.sh [--work-tree] FOLDER [COMMAND...]      default commands: 'make run' 'make test'
#
# --work-tree takes the files as they lie here instead of the last commit. Needs root and debootstrap. The Debian
# mirror, proxies and pip's configuration are this machine's. A folder made before is used again: remove it for a
# fresh start.
set -euo pipefail
repository=$(cd "$(dirname "$0")/.." && pwd)

say() { echo "bare: $*"; }
fail() { echo "bare: $*" >&2; exit 1; }

work_tree=
if [ "${1:-}" = --work-tree ]; then work_tree=1; shift; fi
[ $# -gt 0 ] || fail "usage: tools/bare_machine.sh [--work-tree] FOLDER [COMMAND...]"
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- "make run" "make test"
[ "$(id -u)" = 0 ] || fail "chroot needs root"
[ "$folder" != / ] || fail "the folder must not be /"

# This machine's files of apt sources that serve Debian 12 itself.
sources() {
  grep -lsE '^[^#]*[[:space:]]bookworm(-updates|-security)?([[:space:]/]|$)' \
    /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources || true
}

mirror() {
  # shellcheck disable=SC2046
  cat $(sources) /dev/null | sed -nE 's/^URIs:[[:space:]]*([^[:space:]]+).*/\1/p; s/^deb[[:space:]]+(\[[^]]*\][[:space:]]+)?([^[:space:]]+)[[:space:]]+bookworm[[:space:]].*/\2/p' |
    head -n 1
}

make_system() {
  local from
  from=$(mirror)
  [ -n "$from" ] || fail "no apt source of Debian 12 (bookworm) is configured on this machine"
  [ -n "$(command -v debootstrap)" ] || fail "debootstrap is missing: apt-get install debootstrap"
  say "making a bare Debian 12 in $folder"
  debootstrap --variant=minbase bookworm "$folder" "$from" >"$folder.log" 2>&1 ||
    { tail -n 20 "$folder.log" >&2; fail "debootstrap failed; its log is $folder.log"; }
  touch "$folder/.bare-machine"
}

copy_configuration() {
  local file
  rm -f "$folder/etc/apt/sources.list"
  for file in $(sources); do install -D -m 644 "$file" "$folder$file"; done
  apt-config dump | grep -E '^Acquire::(http|https|ftp|Retries)' >"$folder/etc/apt/apt.conf.d/90host" || true
  for file in /etc/pip.conf /etc/resolv.conf /etc/hosts; do
    if [ -f "$file" ]; then rm -f "$folder$file"; cp -L "$file" "$folder$file"; fi
  done
  for file in .config/pip/pip.conf .pip/pip.conf; do
    if [ -f "$HOME/$file" ]; then install -D -m 600 "$HOME/$file" "$folder/root/$file"; fi
  done
  if [ -d /usr/local/share/ca-certificates ]; then
    mkdir -p "$folder/usr/local/share/ca-certificates"
    cp -RL /usr/local/share/ca-certificates/. "$folder/usr/local/share/ca-certificates/"
  fi
}

copy_tree() {
  rm -rf "$folder/root/tenon"
  if [ -n "$work_tree" ]; then
    say "copying the working tree"
    mkdir -p "$folder/root/tenon"
    git -C "$repository" ls-files -coz --exclude-standard | tar -C "$repository" --null -T - -c |
      tar -C "$folder/root/tenon" -x --no-same-owner
  else
    say "cloning $(git -C "$repository" rev-parse --short HEAD)"
    git clone -q --no-hardlinks "$repository" "$folder/root/tenon"
  fi
}

# Runs a command in the system, with nothing of this machine's environment but the way to the network.
inside() {
  local keep=() name
  for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY "${!PIP_@}"; do
    [ -z "${!name:-}" ] || keep+=("$name=${!name}")
  done
  chroot "$folder" /usr/bin/env -i HOME=/root TERM=dumb PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    "${keep[@]}" bash -c "$1" </dev/null
}

mounted=()
leave() {
  local i
  for ((i = ${#mounted[@]} - 1; i >= 0; i--)); do umount "${mounted[i]}" || true; done
}
trap leave EXIT
enter() {
  mount -t proc proc "$folder/proc" && mounted+=("$folder/proc")
  mount --bind /dev "$folder/dev" && mounted+=("$folder/dev")
  mount --bind /dev/pts "$folder/dev/pts" && mounted+=("$folder/dev/pts")
}

[ -e "$folder/.bare-machine" ] || make_system
copy_configuration
copy_tree
enter
say "installing make, all that a stranger needs before typing it"
inside "apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends make" \
  >"$folder.log" 2>&1 || { tail -n 20 "$folder.log" >&2; fail "apt-get failed in $folder"; }
for command in "$@"; do
  say "running: $command"
  start=$SECONDS
  inside "cd /root/tenon && $command" || fail "'$command' failed after $((SECONDS - start)) s"
  say "'$command' passed in $((SECONDS - start)) s"
done
