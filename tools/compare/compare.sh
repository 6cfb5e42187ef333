#!/usr/bin/env bash
# Gives the same plans and the same scripted agent to runplan and its peers, and prints what each did as a table:
#
#   tools/compare/compare.sh RUNPLAN [RALPHEX [RALPHY]]
#
# TOOLS and SCENARIOS choose some of them; KEEP=folder keeps what they left. "strict" is runplan with
# [gates.tests] changed = "fail". Each row is one tool in one scenario: its exit code, the tasks whose test passes on the branch it made, the tests as they
# were before, how often the agent was started, commits, files left in the checkout, and seconds.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
runplan=$(realpath "$1")
ralphex=${2:+$(realpath "$2")}
ralphy=${3:+$(realpath "$3")}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export GIT_AUTHOR_NAME=Ada GIT_AUTHOR_EMAIL=ada@example.org GIT_COMMITTER_NAME=Ada GIT_COMMITTER_EMAIL=ada@example.org
export GIT_CONFIG_GLOBAL=/dev/null

project() { # DIR: three tasks, with a test for each that is there before
  mkdir -p "$1/docs/plans" "$1/tests" "$1/parts"
  (
    cd "$1"
    git init -qb main
    printf '.runplan/\n.ralphex/\n' >.gitignore
    touch parts/.keep
    { echo "# Parts"; for n in 1 2 3; do
      printf '\n### Task %s: Part %s\n\n**Files:**\n- Create: `parts/p%s.sh`\n\n- [ ] write parts/p%s.sh with a function part%s that prints %s\n' $n $n $n $n $n $n
      printf '#!/bin/bash\n# fails only where the part is there and wrong\n[ -e parts/p%s.sh ] || exit 0\n. parts/p%s.sh\n[ "$(part%s)" = %s ]\n' $n $n $n $n | sed 's/= \([0-9]\)\]/= \1 ]/' >tests/test-$n.sh
      chmod +x tests/test-$n.sh
    done; printf '\n## Validation Commands\n\n- `for t in tests/*.sh; do bash $t || exit 1; done`\n'; } >docs/plans/plan.md
    git add -A && git commit -qm start && git tag start
  )
}

start() { # TOOL SCENARIO: become the tool, in the current folder
  case $1 in
    runplan | strict)
      mode=(--mode headless); [ "$2" != parallel ] || mode=(--mode team --workers 3)
      exec "$runplan" docs/plans/plan.md --agent claude "${mode[@]}" --no-sample ;;
    ralphex) exec "$ralphex" --tasks-only --max-iterations 8 docs/plans/plan.md ;;
    ralphy)
      parallel=(); [ "$2" != parallel ] || parallel=(--parallel)
      exec "$ralphy" --claude --prd docs/plans/plan.md --max-iterations 8 --retry-delay 1 "${parallel[@]}" ;;
  esac
}

try() { # TOOL SCENARIO
  local dir=$work/$1-$2 began ended code=0 branch right=0 honest=0
  mkdir -p "$dir/bin" "$dir/state" "$dir/home/runplan"
  printf '[agents.claude]\npreset = "claude"\npass_env = ["STATE", "SCENARIO", "WORK_SECONDS"]\n' >"$dir/home/runplan/config.toml"
  [ "$1" != strict ] || printf '[gates.tests]\nchanged = "fail"\n' >>"$dir/home/runplan/config.toml"
  cp "$here/agent.sh" "$dir/bin/claude" && chmod +x "$dir/bin/claude"
  project "$dir/repo"
  export STATE=$dir/state SCENARIO=$2 HOME=$dir/home RUNPLAN_HOME=$dir/home/runplan RUNPLAN_TRUST=all PATH=$dir/bin:$OLDPATH
  cd "$dir/repo"
  began=$(date +%s%N)
  if [ "$2" = kill ]; then
    export WORK_SECONDS=3
    (start "$1" "$2") >"$dir/first.log" 2>&1 &
    local pid=$!
    until grep -q 'task 2 start' "$STATE/log" 2>/dev/null || ! kill -0 $pid 2>/dev/null; do sleep 0.1; done
    kill -9 "$pid" || true
    wait "$pid" 2>/dev/null || true
    sleep 1
    export WORK_SECONDS=1
    if [ "$1" = runplan ] || [ "$1" = strict ]; then "$runplan" resume >"$dir/log" 2>&1 || code=$?; else (start "$1" "$2") >"$dir/log" 2>&1 || code=$?; fi
    unset WORK_SECONDS
  else
    (start "$1" "$2") >"$dir/log" 2>&1 || code=$?
  fi
  ended=$(date +%s%N)
  branch=$(git for-each-ref --sort=-committerdate --format='%(refname:short)' refs/heads | grep -v '^main$' | head -n 1 || true)
  git worktree add -q --detach "$dir/look" "${branch:-main}" 2>/dev/null
  for n in 1 2 3; do
    if [ -e "$dir/look/parts/p$n.sh" ] && (cd "$dir/look" && git show start:tests/test-$n.sh | bash); then right=$((right + 1)); fi
    if (cd "$dir/look" && git diff --quiet start -- "tests/test-$n.sh"); then honest=$((honest + 1)); fi
  done
  printf '| %-8s | %-8s | %4s | %s of 3 | %s of 3 | %6s | %7s | %4s | %5.1f |\n' "$2" "$1" "$code" "$right" "$honest" \
    "$(grep -c start "$STATE/log")" "$(git rev-list --count "start..${branch:-main}")" "$(git status --porcelain | wc -l)" "$(((ended - began) / 100000000))e-1"
  [ -z "${KEEP:-}" ] || cp -r "$dir" "$KEEP/"
  cd "$work"
}

OLDPATH=$PATH
echo '| scenario | tool     | exit | tasks right | tests unchanged | starts | commits | left | s |'
echo '|---|---|---|---|---|---|---|---|---|'
for scenario in ${SCENARIOS:-honest failing cheat kill parallel}; do
  for tool in ${TOOLS:-runplan strict ${ralphex:+ralphex} ${ralphy:+ralphy}}; do try "$tool" "$scenario"; done
done
