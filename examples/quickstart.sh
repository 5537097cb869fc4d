#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# examples/quickstart.sh [--full] [--work DIR] [--bin DIR] [--no-disk]
#                        [--images N] [--epochs N]
#
# From a fresh machine to a result: installs what is missing, builds, and shows
#   1. what a shuffle is worth: a small model reads a file that is sorted by
#      class, first raw, then through a mount
#   2. as root: what batched reading is worth on an emulated hard disk
# It takes less than 5 minutes on 2 cores, without PyTorch.
#   --full       train stock torchvision instead, on the raw directory and
#                through a mount: about 11 minutes
#   --work DIR   where everything goes (${XDG_CACHE_HOME:-~/.cache}/
#                shufflefs-quickstart); delete it when done
#   --bin DIR    use shufflefs and shufflectl of this directory; install and
#                build nothing
#   --no-disk    leave out the emulated hard disk
#   --images N   with --full: the first N training and N validation images only
#   --epochs N   with --full: epochs of training (2)
set -euo pipefail
here=$PWD  # paths that are given are relative to it
cd "$(dirname "$0")/.."

work=${XDG_CACHE_HOME:-$HOME/.cache}/shufflefs-quickstart
full=no
disk=yes
bin=
limit=()
data=data
epochs=2
while [ $# -gt 0 ]; do
  case "$1" in
    --full) full=yes; shift ;;
    --no-disk) disk=no; shift ;;
    --work) work=$(cd "$here" && realpath -m "$2"); shift 2 ;;
    --bin) bin=$(cd "$here" && realpath -m "$2"); shift 2 ;;
    --images) limit=(--limit "$2"); data=data-$2; shift 2 ;;
    --epochs) epochs=$2; shift 2 ;;
    -h | --help) sed -n '4,22s/^# \{0,1\}//p' examples/quickstart.sh; exit 0 ;;
    *) echo "quickstart.sh: unknown argument: $1" >&2; exit 2 ;;
  esac
done
mkdir -p "$work"
work=$(realpath "$work")
data=$work/$data
mnt=$work/mnt
mkdir -p "$mnt"

# Each step with the time since the start.
say() {
  printf '\n== %s [%d:%02d]\n' "$*" $((SECONDS / 60)) $((SECONDS % 60))
}

mounted() { grep -qF " $mnt fuse.shufflefs" /proc/mounts; }

# Whatever happens, no mount is left behind.
clean_up() {
  if mounted; then
    fusermount3 -u "$mnt" 2>/dev/null || fusermount3 -uz "$mnt" || true
  fi
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Little optimised: it is a first look. Ninja shows its progress in one line of a
# terminal.
build() {
  local targets=(shufflefs shufflectl slowdev)
  cmake --preset quick -DSHUFFLEFS_TESTBED=ON >"$work/build.log"
  if [ -t 1 ]; then
    cmake --build --preset quick -j "$(nproc)" --target "${targets[@]}"
  else
    cmake --build --preset quick -j "$(nproc)" --target "${targets[@]}" \
      >>"$work/build.log" || { tail -n 40 "$work/build.log" >&2; exit 1; }
  fi
}

if [ -z "$bin" ]; then
  bin=build/quick/mount-tools
  say "Install what is missing"
  if [ "$full" = yes ]; then
    mount-tools/install-deps.sh --build --examples
  else
    mount-tools/install-deps.sh --build --quickstart
  fi
  say "Build: about 4 minutes on 2 cores, the first time"
  build
  say "Built"
fi
slowdev=$PWD/build/quick/tests/bench/testbed/slowdev  # from an earlier run, too
[ ! -x "$slowdev" ] || export SLOWDEV_BIN=${SLOWDEV_BIN:-$slowdev}

# The accuracies of a log of sorted_records.py, in columns.
accuracies() {
  sed -n 's/.*accuracy \([0-9.]*\),.*/\1/p' "$1" | tr '\n' ' '
}

sorted_file() {
  say "1. A file of records, sorted by class"
  echo "60,000 images (Fashion-MNIST), a linear model, a reader that does not"
  echo "shuffle. First the raw file:"
  /usr/bin/python3 examples/sorted_records.py write "$work/sorted"
  /usr/bin/python3 examples/sorted_records.py train "$work/sorted/train.bin" |
    tee "$work/sorted-raw.log"
  echo "Now the same file through a mount with policy = lirs:"
  clean_up
  "$bin/shufflefs" -o \
    "policy=lirs,record.as=*.bin:fixed,record.bytes=785,state=$work/state" \
    "$work/sorted" "$mnt"
  /usr/bin/python3 examples/sorted_records.py train "$mnt/train.bin" |
    tee "$work/sorted-mount.log"
  "$bin/shufflectl" umount "$mnt"
  echo
  # shellcheck disable=SC2046  # three words each
  printf '  %-16s %8s %8s %8s\n' accuracy "epoch 1" "epoch 2" "epoch 3" \
    raw $(accuracies "$work/sorted-raw.log") \
    "policy = lirs" $(accuracies "$work/sorted-mount.log")
}

hard_disk() {
  say "2. Small files on a hard disk, more than memory holds"
  if [ "$(id -u)" != 0 ]; then
    echo "Left out: the emulated disk needs root. Run this as root, too."
    return
  fi
  local code=0
  /usr/bin/python3 examples/hard_disk.py --shufflefs "$bin/shufflefs" \
    --shufflectl "$bin/shufflectl" || code=$?
  [ "$code" != 3 ] || echo "Left out: this machine cannot emulate the disk."
  [ "$code" = 0 ] || [ "$code" = 3 ] || exit "$code"
}

if [ "$full" = no ]; then
  sorted_file
  [ "$disk" = no ] || hard_disk
  say "On your data"
  cat <<END
$bin/shufflectl check DATA        what to expect, and the command to use
$bin/shufflefs DATA MNT           mounts; point your program to MNT
$bin/shufflectl status MNT        policy, epoch, waiting, warnings
$bin/shufflectl umount MNT
END
  [ "$bin" != build/quick/mount-tools ] ||
    echo "For work, build and install as README says: that build is faster."
  say "Done"
  exit 0
fi

say "Write Fashion-MNIST as class folders: $data"
/usr/bin/python3 examples/make_tree.py "$data" ${limit[@]+"${limit[@]}"}

say "shufflectl check: may names move here, and what is there to gain?"
"$bin/shufflectl" check "$data"

say "Train on the raw directory, stock ImageFolder and DataLoader"
/usr/bin/python3 examples/train_imagefolder.py "$data" --epochs "$epochs" |
  tee "$work/raw.log"

say "Mount it with the policy lirs"
clean_up
mount=("$bin/shufflefs" -o "policy=lirs,substitute=auto,state=$work/state"
       "$data" "$mnt")
echo "${mount[*]}"
"${mount[@]}"

say "Train through the mount: the same program, another path"
/usr/bin/python3 examples/train_imagefolder.py "$mnt" --epochs "$epochs" |
  tee "$work/mount.log"

say "shufflectl status"
"$bin/shufflectl" status "$mnt"

say "Switch the policy, and go to the next epoch, by one write"
printf 'policy = "window"\nepoch = "next"\n' >"$mnt/.shufflefs/control"
"$bin/shufflectl" status "$mnt"

say "Unmount"
"$bin/shufflectl" umount "$mnt"

say "Result"
printf 'raw directory:     %s\n' "$(tail -n 1 "$work/raw.log")"
printf 'through the mount: %s\n' "$(tail -n 1 "$work/mount.log")"
cat <<END

This data set fits in memory, so the mount cannot make it faster: the page
cache already serves every read, and the client shuffles by itself. What you
saw is that nothing is lost: the same program, the same labels, the same
accuracy. A gain needs data larger than memory, on a device that dislikes
small random reads; "shufflectl check SOURCE" says what to expect of yours.
END
