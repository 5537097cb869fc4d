#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# tests/run.sh [--all]
#
# Installs what is missing, builds, and runs the tests:
#   release         every tier: unit, model, meta, docs and real mounts, without
#                   what is labelled slow. Mounts come first: they need only the
#                   programs, and what tests the rest is compiled meanwhile.
# With --all, as .ci/run calls it, the tiers unit and model run as
#   asan (+ubsan)   unit, model and the mount tests that its list names; built
#                   by clang, which proves the annotations of locks, too
#   tsan            the same under ThreadSanitizer, with a list of its own and
#                   without the tests of code that has no threads
# and the release build runs all that asan does not, with what is labelled slow.
# Ends with ctest's summary and a line `N passed, N failed`; exits 0 only if
# everything built and passed. A mount test that fails beside others runs once
# more alone; one that passes only then is named in the last lines. Mount tests
# need /dev/fuse and, for the cases that change user, root. Readers that Debian
# lacks come from PyPI; where that cannot be reached, a line before the last
# names those whose tests were skipped.
set -uo pipefail
cd "$(dirname "$0")/.."
exec </dev/null

all=no
case "${1:-}" in
  "") ;;
  --all) all=yes ;;
  -h | --help) sed -n '4,21s/^# \{0,1\}//p' tests/run.sh; exit 0 ;;
  *) echo "tests/run.sh: unknown argument: $1" >&2; exit 2 ;;
esac

jobs=${JOBS:-$(nproc)}
# Mount tests wait for more than half their time.
slots=$((jobs * 2))
unity=-DCMAKE_UNITY_BUILD=ON  # several sources a compiler run
logs=build/logs
mkdir -p "$logs"
declare -A configured=()
passed=0
failed=0
skipped=0
unreachable=no
times=()
second=()
reasons=()  # what failed cases said

# stage NAME COMMAND...: runs it and remembers how long it took. A stage that
# fails counts as one failure.
stage() {
  local name=$1 begin=$SECONDS
  shift
  echo "== $name"
  if ! "$@"; then
    echo "tests/run.sh: $name failed" >&2
    failed=$((failed + 1))
    times+=("$((SECONDS - begin)) s  $name (failed)")
    return 1
  fi
  times+=("$((SECONDS - begin)) s  $name")
}

# compile PRESET TARGET [PREFIX...]: what a target of a preset needs. It is
# configured once: ctest may be reading what that writes.
compile() {
  local preset=$1 target=$2
  shift 2
  if [ -z "${configured[$preset]:-}" ]; then
    "$@" cmake --preset "$preset" "$unity" >"$logs/$preset.configure" 2>&1 ||
      return
    configured[$preset]=yes
  fi
  "$@" cmake --build --preset "$preset" -j "$jobs" --target "$target" \
    >"$logs/$preset.build" 2>&1
}

build_programs() {
  compile "$1" mount_programs || say_why "$1"
}

# Benchmarks are tests of --all: that they compile.
to_build=test_programs
[ "$all" = no ] || to_build=all

say_why() {
  tail -n 60 "$logs/$1.configure" "$logs/$1.build" >&2
  return 1
}

# Mount tests wait for more than half their time: a build takes what of the
# processors nobody else wants meanwhile. built_aside waits for it.
build_aside() {
  compile "$1" "$to_build" chrt --idle 0 &
  compiling=$!
}

built_aside() {
  wait "$compiling" || say_why "$1"
}

# The readers come while the release build compiles.
fetch_readers() {
  tests/mount/readers.sh build/readers >"$logs/readers" 2>&1 &
  fetching=$!
}

readers_are_there() {
  local code=0
  wait "$fetching" || code=$?
  [ "$code" = 0 ] || cat "$logs/readers" >&2
  if [ "$code" = 3 ]; then
    unreachable=yes
    return 0
  fi
  return "$code"
}

# The clients that readers.txt names: up to its first empty line.
reader_names() {
  sed -n '/^$/q; s/^\([a-z0-9]*\)==.*/\1/p' tests/mount/readers.txt |
    paste -s -d, | sed 's/,/, /g'
}

# Tests that failed, of the log of ctest: "  12 - mount/names (Failed) ...".
failed_tests() {
  sed -n '/^The following tests FAILED:/,$s/^[[:space:]]*[0-9]* - \(.*\) (\(Failed\|Timeout\|SEGFAULT\|Subprocess aborted\|.*Exception.*\)).*/\1/p' "$1"
}

# again PRESET LOG BAD: runs the mount tests that failed once more, one by one:
# their readers race with whatever else two processors had to do. Not if all
# that failed is not theirs alone, nor after a sanitizer's report, which no
# second run takes back. Sets `still_bad`, of BAD, to how many still fail.
again() {
  local preset=$1 log=$2 names name code
  still_bad=$3
  mapfile -t names < <(failed_tests "$log")
  [ ${#names[@]} != 0 ] && [ ${#names[@]} -le 5 ] || return
  grep -qE 'Sanitizer: |runtime error: ' "$log" && return
  for name in "${names[@]}"; do
    [[ $name = mount/* || $name = faults/* ]] || return
  done
  for name in "${names[@]}"; do
    code=0
    ctest --test-dir "build/$preset" -R "^$name\$" --output-on-failure \
      --no-tests=error >"$log.again" 2>&1 || code=$?
    if [ "$code" = 0 ]; then
      second+=("$name ($preset)")
      still_bad=$((still_bad - 1))
    else
      what_failed "$preset, again, alone" "$log.again"
    fi
  done
}

# what_failed PRESET LOG: keeps what the failed cases said. It is printed near
# the end, where the reader of a long log looks.
what_failed() {
  reasons+=("$(echo "== failed, $1"
    grep -aE -A 8 \
      ': Failure$|^E  |^FAILED |Sanitizer: |runtime error: |^\[  FAILED' "$2" |
      cut -c 1-300 | head -n 80)")
}

# tests PRESET NAME [CTEST ARGUMENT...]: runs ctest and counts from its summary.
tests() {
  local preset=$1 name="$1, $2" log="$logs/$1-$2.ctest"
  local bad total not_run begin=$SECONDS
  shift 2
  echo "== ctest, $name"
  ctest --test-dir "build/$preset" -j "$slots" --output-on-failure \
    --no-tests=error "$@" >"$log" 2>&1
  local code=$?
  [ "$code" = 0 ] || what_failed "$name" "$log"
  # "98% tests passed, 2 tests failed out of 131"
  read -r bad total < <(sed -n \
    's/^[0-9]*% tests passed, \([0-9]*\) tests failed out of \([0-9]*\)$/\1 \2/p' \
    "$log" | tail -n 1)
  if [ -z "${total:-}" ]; then
    tail -n 40 "$log" >&2
    failed=$((failed + 1))
  else
    [ "$code" = 0 ] || grep -v ' Passed  ' "$log" >&2
    if [ "$bad" != 0 ]; then
      again "$preset" "$log" "$bad"
      bad=$still_bad
      [ "$bad" != 0 ] || code=0
    fi
    # Under "The following tests did not run:", and counted with the total.
    not_run=$(grep -c '^[[:space:]]*[0-9]* - .* (Skipped)$' "$log")
    skipped=$((skipped + not_run))
    passed=$((passed + total - bad - not_run))
    failed=$((failed + bad))
    [ "$code" = 0 ] || [ "$bad" != 0 ] || failed=$((failed + 1))
    sed -n '/% tests passed/,$p' "$log"
  fi
  times+=("$((SECONDS - begin)) s  ctest, $name")
}

finish() {
  echo
  [ ${#reasons[@]} = 0 ] || printf '%s\n\n' "${reasons[@]}"
  printf '%s\n' "${times[@]}"
  if [ "$unreachable" = yes ]; then
    echo "skipped (PyPI cannot be reached): $(reader_names)"
  elif [ "$skipped" != 0 ]; then
    echo "tests/run.sh: $skipped tests were skipped without a reason" >&2
    failed=$((failed + skipped))
  fi
  [ ${#second[@]} = 0 ] ||
    printf 'passed only when run again, alone: %s\n' "${second[@]}"
  echo "$passed passed, $failed failed"
  [ "$failed" = 0 ]
  exit
}

if [ ! -c /dev/fuse ]; then
  echo "tests/run.sh: NO /dev/fuse: the mount tests cannot run, so this" \
       "run fails. Load the fuse module, or start the container with" \
       "--device /dev/fuse --cap-add SYS_ADMIN." >&2
  failed=1
  finish
fi

# Where tests make their trees. ext4 puts the folders of one folder close
# together, and a new file there first looks at all inodes that were freed
# lately. With +T each folder lies elsewhere, and a file takes a twentieth of the
# time to make. Other file systems refuse +T.
TMPDIR=$(mktemp -d "${TMPDIR:-/var/tmp}/shufflefs-tests.XXXXXX") || {
  failed=1
  finish
}
export TMPDIR
chmod 1777 "$TMPDIR"
chattr +T "$TMPDIR" 2>/dev/null || true
trap 'rm -rf --one-file-system "$TMPDIR"' EXIT

stage "install" mount-tools/install-deps.sh --build --test || finish
fetch_readers
# --all leaves to the sanitizers what they run.
mounts=(-L mount) others=(-L 'meta|docs|peers|bench|long')
[ "$all" = yes ] || { mounts+=(-LE slow); others=(-LE 'mount|slow'); }
stage "build release, programs" build_programs release
built=$?
[ "$built" != 0 ] || build_aside release
stage "readers" readers_are_there
if [ "$built" = 0 ]; then
  tests release mounts "${mounts[@]}"
  stage "build release, what was left" built_aside release
  built=$?
fi
[ "$all" = no ] || build_aside asan
[ "$built" != 0 ] || tests release others "${others[@]}"
if [ "$all" = yes ]; then
  stage "build asan, what was left" built_aside asan
  built=$?
  build_aside tsan
  [ "$built" != 0 ] || tests asan all -L 'unit|model|sanitize'
  stage "build tsan, what was left" built_aside tsan &&
    tests tsan all -L 'unit|model|sanitize'
fi
finish
