#!/bin/sh
# Recomputes every table, figure and notebook of the project; -h says how.
# This file only finds Go and Python; notebooks/runner does the work.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)

if ! command -v python3 >/dev/null 2>&1; then
	echo "reproduce: python3 is not on PATH; install Python 3.10 or newer" >&2
	exit 1
fi
# -S leaves out the packages beside that Python: an interrupt of their imports shows a traceback.
exec python3 -I -S -X utf8 "$root/notebooks/runner" "$@"
