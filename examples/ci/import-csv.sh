#!/usr/bin/env bash
# Imports a CSV file of a repository and fails the job properly: bash import-csv.sh links.csv
#
# Needs SHORTLINK_API_KEY and SHORTLINK_BASE_URL. The import's journal lies beside the file: keep it between attempts (a cache),
# and a job that was stopped goes on where it was, while a file that is imported already costs no request.
set -uo pipefail

input=${1:?which CSV file?}
# shellcheck disable=SC2086 # SHORTLINK may hold a command with arguments
run() { ${SHORTLINK:-npx --yes @shortlink/cli} "$@"; }
# GitHub shows lines that begin like this at the job and the file; everywhere else they are just text.
fail() { echo "::error file=$input::$1"; }

run import "$input" --max-wait 10m --json > summary.json
code=$?
cat summary.json

case $code in
  0) echo "All links of $input exist; see $input.results.csv" ;;
  2) fail "The file or the settings are wrong. Rows that can't be sent, if any, are in $input.rejects.csv" ;;
  3) fail "Some rows were refused; the reasons are in $input.results.csv" ;;
  4) fail "The API key was refused: check the secret SHORTLINK_API_KEY" ;;
  5) fail "The plan's limit is reached: upgrade, then run the job again, it goes on from there" ;;
  6) fail "The rate limit asks for a longer wait: run the job again later, it goes on from there" ;;
  7) fail "It is not known whether some links were created: see $input.results.csv before running again" ;;
  *) fail "The import ended with exit code $code: run the job again, it goes on from there" ;;
esac
exit "$code"
