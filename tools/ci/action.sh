#!/usr/bin/env bash
# What the GitHub Action does once runplan is installed. COMMAND is gate, review or run; action.yml says what the other
# variables are. Annotations go to standard output, the summary to $GITHUB_STEP_SUMMARY.
set -euo pipefail

summary=${GITHUB_STEP_SUMMARY:-/dev/null}
sarif=${RUNNER_TEMP:-/tmp}/runplan.sarif
[ -n "${RUNPLAN_TRUST:-}" ] || unset RUNPLAN_TRUST
base=${BASE:-${GITHUB_BASE_REF:+origin/$GITHUB_BASE_REF}}

code=0
case ${COMMAND:-gate} in
gate)
  runplan gate --github --sarif "$sarif" ${base:+--base "$base"} || code=$?
  ;;
review)
  runplan review --sarif "$sarif" ${base:+--base "$base"} >"$sarif.txt" || code=$?
  cat "$sarif.txt"
  { echo '```'; cat "$sarif.txt"; echo '```'; } >>"$summary"
  ;;
run)
  git config user.name >/dev/null || git config user.name runplan
  git config user.email >/dev/null || git config user.email runplan@users.noreply.github.com
  runplan run --plain --land "${LAND:-branch}" ${AGENT:+--agent "$AGENT"} "${PLAN:-plan.md}" || code=$?
  sarif=
  { echo '```'; runplan status; echo '```'; } >>"$summary" || true
  if [ "$code" = 3 ]; then echo "::warning::the run waits for a person; see: runplan approve"; fi
  ;;
*)
  echo "::error::unknown command ${COMMAND}; it is gate, review or run"
  code=2
  ;;
esac
if [ ! -s "$sarif" ]; then sarif=; fi
printf 'exit-code=%s\nsarif=%s\n' "$code" "$sarif" >>"${GITHUB_OUTPUT:-/dev/null}"
exit "$code"
