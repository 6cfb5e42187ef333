#!/usr/bin/env bash
# A scripted agent in the place of "claude": all tools of compare.sh start it, with the same tasks and the same behaviour.
# The task is the batch that runplan names, else the one that the prompt names, else the first with an open box.
# $SCENARIO says how the agent behaves; $STATE is a folder for what it has to remember between attempts.
set -euo pipefail
prompt="$*"; [ -t 0 ] || prompt="$prompt $(timeout 2 cat || true)"
plan=$(find . -name plan.md -not -path './.git/*' -not -path './.runplan/*' | head -n 1)
first_open() { awk '/^### Task/ { n = $3; sub(":", "", n) } /^- \[ \]/ { print n; exit }' "$plan"; }
named=$(grep -o 'write parts/p[0-9]' <<<"$prompt" | head -n 1 | grep -o '[0-9]$' || true)
task=${RUNPLAN_BATCH:-${named:-$(first_open)}}
echo "$(date +%s.%N) task ${task:-none} start" >>"$STATE/log"

say() { # what a stream-json client prints at its end, and the plain text for others
  printf '{"type":"assistant","message":{"content":[{"type":"text","text":"%s"}]}}\n' "$1"
  printf '{"type":"result","subtype":"success","is_error":false,"result":"%s"}\n' "$1"
}
if [ -z "$task" ]; then say '<<<RALPHEX:ALL_TASKS_DONE>>>'; exit 0; fi

mkdir -p parts
good() { printf 'part%s() { echo %s; }\n' "$task" "$task" >"parts/p$task.sh"; }
sleep "${WORK_SECONDS:-1}"
case $SCENARIO-$task in
  failing-2) # wrong in the first attempt, right from the second one on
    if [ -e "$STATE/failed" ]; then good; else printf 'part2() { echo wrong; }\n' >parts/p2.sh; touch "$STATE/failed"; fi ;;
  cheat-2) # wrong in each attempt, and the test is made to agree
    printf 'part2() { echo wrong; }\n' >parts/p2.sh
    sed -i 's/= 2 /= wrong /' tests/test-2.sh ;;
  *) good ;;
esac
if [ -z "${RUNPLAN_BATCH:-}" ]; then # the others leave boxes and commits to the agent
  [ -n "$named" ] || awk -v n="$task:" '/^### Task/ { on = $3 == n } on { sub(/^- \[ \]/, "- [x]") } { print }' "$plan" >"$STATE/plan"
  [ -n "$named" ] || cat "$STATE/plan" >"$plan"
  git add -A && git commit -qm "task $task" || true
fi
echo "$(date +%s.%N) task $task end" >>"$STATE/log"
if [ -z "$(first_open)" ]; then say '<<<RALPHEX:ALL_TASKS_DONE>>>'; else say 'task done'; fi
