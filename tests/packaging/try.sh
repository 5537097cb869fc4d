#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# try.sh [COMMAND...]
#
# Mounts a small dataset with the shufflefs in PATH, reads two epochs,
# compares them, unmounts, and prints one line. As root, it does this again as an
# ordinary user if there is fusermount3. The programs run by COMMAND, for
# instance an emulator. It needs a POSIX shell, coreutils and /dev/fuse.
set -eu

# make_data FOLDER: 3 classes of 40 files each, all different. Names in a row
# would be frames, which keep their own content.
make_data() {
  for class in a b c; do
    mkdir -p "$1/$class"
    for number in $(seq 40); do
      name=$(echo "$class $number" | md5sum | cut -c 1-8)
      echo "$class $number" >"$1/$class/$name.txt"
    done
  done
}

# contents FOLDER: every file's content, sorted.
contents() {
  find "$1" -name '*.txt' -exec cat {} + | sort
}

# names FOLDER: every name with its content.
names() {
  (cd "$1" && find . -name '*.txt' | sort | xargs grep -H .)
}

# fail WORDS
fail() {
  echo "try.sh: $*" >&2
  exit 1
}

# read_epochs DATA MNT: each shows every sample once, by other names.
read_epochs() {
  contents "$1" >"$folder/want"
  names "$2" >"$folder/first"
  contents "$2" | cmp -s - "$folder/want" || fail "epoch 0 is not the source"
  echo 'epoch = "next"' >"$2/.shufflefs/control"
  names "$2" >"$folder/second"
  contents "$2" | cmp -s - "$folder/want" || fail "epoch 1 is not the source"
  ! cmp -s "$folder/first" "$folder/second" || fail "both epochs are alike"
}

# Removes everything, but nothing that is still mounted.
clean() {
  grep -q " $folder/mnt " /proc/self/mountinfo || rm -rf "$folder"
}

try() {
  folder=$(mktemp -d)
  trap clean EXIT
  make_data "$folder/data"
  mkdir "$folder/mnt" "$folder/state"
  "$@" "$(command -v shufflefs)" -o policy=lirs,epoch.advance=manual \
    -o "state=$folder/state" "$folder/data" "$folder/mnt"
  code=0
  (read_epochs "$folder/data" "$folder/mnt") || code=$?
  "$@" "$(command -v shufflectl)" status "$folder/mnt" >/dev/null || code=1
  "$@" "$(command -v shufflectl)" umount "$folder/mnt" || code=1
  [ "$code" = 0 ] || exit "$code"
}

again_as_user() {
  cp "$0" /tmp/try-as-user.sh
  su -s /bin/sh nobody -c "PATH='$PATH' HOME=/tmp sh /tmp/try-as-user.sh $*"
  rm /tmp/try-as-user.sh
}

try "$@"
echo "uid $(id -u): mounted, 2 epochs read, unmounted:" \
  "$("$@" "$(command -v shufflefs)" --version)"
if [ "$(id -u)" = 0 ] && command -v fusermount3 >/dev/null; then
  again_as_user "$@"
fi
