#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# readers.sh FOLDER
#
# Makes FOLDER a virtual environment of Debian's Python with the readers that
# readers.txt names, or leaves it alone if it is one already. Takes three
# minutes at most. Exits 0 if it is made, 3 if PyPI cannot be reached, and 1
# with pip's words if anything else is wrong.
set -uo pipefail
wanted=$(dirname "$0")/readers.txt

case "${1:-}" in
  "" | -*) sed -n '4,9s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
folder=$1
stamp=$folder/installed
log=$folder.log

if cmp -s "$wanted" "$stamp" && "$folder/bin/python" -c '' 2>/dev/null; then
  exit 0
fi
rm -rf "$folder"
# numpy, torch and yaml are Debian's.
if ! timeout 60 /usr/bin/python3 -m venv --system-site-packages "$folder" \
  >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
timeout 150 "$folder/bin/python" -m pip --disable-pip-version-check install \
  --no-input --no-deps --only-binary :all: --require-hashes --no-compile \
  --timeout 10 --retries 2 --requirement "$wanted" >>"$log" 2>&1
code=$?
if [ "$code" = 0 ]; then
  cp "$wanted" "$stamp"
  exit 0
fi
# Out of time, no connection, or an index that knows nothing at all.
if [ "$code" = 124 ] || grep -qE 'connection broken|timed out|Max retries|HTTP error (403|407|429|5..)|from versions: none' "$log"; then
  echo "readers.sh: PyPI cannot be reached: $log" >&2
  exit 3
fi
tail -n 20 "$log" >&2
exit 1
