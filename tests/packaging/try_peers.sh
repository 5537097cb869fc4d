#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# try_peers.sh
#
# Mounts a small dataset twice with the shufflefs in PATH, as two nodes of one
# job, waits until they have joined, reads everything through both, and
# unmounts. It needs a POSIX shell, coreutils, findutils, grep, /dev/fuse and the
# module for several nodes.
set -eu

# contents FOLDER: every file's content, sorted.
contents() {
  find "$1" -name '*.txt' -exec cat {} + | sort
}

# mount_node FOLDER NODE
mount_node() {
  mkdir -p "$1/node$2"
  shufflefs -o "policy=lirs,epoch.advance=manual,state=$1/state$2" \
    -o "peers=127.0.0.1:7401;127.0.0.1:7402,peers.listen=127.0.0.1:740$2" \
    "$1/data" "$1/node$2"
}

try() {
  folder=$(mktemp -d)
  for class in a b; do
    mkdir -p "$folder/data/$class"
    for number in $(seq 50); do
      name=$(echo "$class $number" | md5sum | cut -c 1-8)
      echo "$class $number" >"$folder/data/$class/$name.txt"
    done
  done
  mount_node "$folder" 1
  mount_node "$folder" 2
  timeout 60 sh -c "until shufflectl status $folder/node1 |
    grep -q '2 of 2 joined'; do sleep 1; done"
  contents "$folder/data" >"$folder/want"
  for node in 1 2; do
    contents "$folder/node$node" | cmp - "$folder/want"
  done
  shufflectl peers "$folder/node1"
  shufflectl umount "$folder/node1"
  shufflectl umount "$folder/node2"
  rm -r "$folder"
  echo "try_peers.sh: passed"
}

try
