#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# install-deps.sh [--build] [--peers] [--package] [--test] [--examples]
#                 [--quickstart]
# Installs the Debian packages (12 or 13) that building (the default), the module
# for several nodes, making packages, testing and the examples need; with
# --quickstart what examples/quickstart.sh needs besides --build.
# Looks first, and when nothing is missing does nothing, needs no network and no
# privilege. Otherwise runs apt-get as root, or through sudo. The tests start
# etcd by themselves: its service is kept from starting and is disabled.
set -euo pipefail

build_packages=(
  cmake ninja-build g++ pkg-config
  libfuse3-dev fuse3 liburing-dev
  libabsl-dev libcli11-dev libspdlog-dev libtomlplusplus-dev libxxhash-dev
  nlohmann-json3-dev
)
# For peers/, the module that joins several nodes.
peers_packages=(
  libgrpc++-dev libprotobuf-dev protobuf-compiler-grpc libssl-dev
)
package_packages=(
  dpkg-dev file rpm python3-pip python3-setuptools python3-wheel
)
test_packages=(
  libgtest-dev libgmock-dev iproute2 e2fsprogs
  clang libclang-rt-dev lld mandoc groff-base git attr fio rsync strace gdb
  python3 python3-pytest python3-pil python3-torch python3-torchvision
  python3-venv python3-numpy python3-yaml python3-h5py python3-mypy
  liblinear-tools zsh fish systemd python3-seccomp
  dataset-fashion-mnist etcd-server openssl
)
example_packages=(
  python3 python3-numpy python3-pil python3-torch python3-torchvision
  dataset-fashion-mnist
)
quickstart_packages=(
  python3 python3-numpy dataset-fashion-mnist e2fsprogs util-linux
)

usage() {
  sed -n '4,11s/^# \{0,1\}//p' "$0"
}

installed() {
  dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed
}

# Whether apt's lists know a version of the package.
available() {
  apt-cache policy "$1" 2>/dev/null | grep -q '^  Candidate: [^(]'
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    env DEBIAN_FRONTEND=noninteractive "$@"
  else
    sudo env DEBIAN_FRONTEND=noninteractive "$@"
  fi
}

wanted=()
for argument in "$@"; do
  case "$argument" in
    --build) wanted+=("${build_packages[@]}") ;;
    --package) wanted+=("${package_packages[@]}") ;;
    --peers) wanted+=("${peers_packages[@]}") ;;
    --test) wanted+=("${test_packages[@]}" "${peers_packages[@]}") ;;
    --examples) wanted+=("${example_packages[@]}") ;;
    --quickstart) wanted+=("${quickstart_packages[@]}") ;;
    -h | --help) usage; exit 0 ;;
    *) echo "install-deps.sh: unknown argument: $argument" >&2
       usage >&2
       exit 2 ;;
  esac
done
if [ $# -eq 0 ]; then
  wanted=("${build_packages[@]}")
fi

if ! command -v dpkg-query >/dev/null; then
  echo "install-deps.sh: not a Debian system; install these by hand:" \
       "${wanted[*]}" >&2
  exit 1
fi

missing=()
for package in $(printf '%s\n' "${wanted[@]}" | sort -u); do
  installed "$package" || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "install-deps.sh: nothing to install"
  exit 0
fi
if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
  echo "install-deps.sh: neither root nor sudo; as root run:" \
       "apt-get install ${missing[*]}" >&2
  exit 1
fi

echo "install-deps.sh: installing ${missing[*]}"
for package in "${missing[@]}"; do
  if ! available "$package"; then
    as_root apt-get update -q
    break
  fi
done
# The package of etcd enables and starts a service.
if [[ " ${missing[*]} " == *" etcd-server "* && -d /run/systemd/system ]]; then
  # Also if apt fails, or somebody interrupts it.
  trap 'as_root systemctl unmask --runtime --quiet etcd.service' EXIT
  as_root systemctl mask --runtime --quiet etcd.service
  etcd=yes
else
  etcd=no
fi
install=(apt-get install -q -y --no-install-recommends "${missing[@]}")
# Lists that are present may be too old to fetch from.
as_root "${install[@]}" </dev/null || {
  as_root apt-get update -q
  as_root "${install[@]}" </dev/null
}
if [ "$etcd" = yes ]; then
  as_root systemctl unmask --runtime --quiet etcd.service
  trap - EXIT
  as_root systemctl disable --quiet etcd.service
fi
