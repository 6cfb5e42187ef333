#!/usr/bin/env bash
# Runs the quickstart plan in a scratch repository and says where the result is: demo.sh RUNPLAN
set -euo pipefail

runplan=$1
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/runplan-demo-XXXXXX")
cp "$here"/{go.mod,tally.go,tally_test.go,plan.md} "$scratch"

cd "$scratch"
git init --quiet
git config user.name "Demo" # for this repository only
git config user.email "demo@example.org"
git add --all
git commit --quiet --message="tally counts lines"

"$runplan" plan.md

branch=runplan/plan/main
echo
echo "What came out, on branch $branch:"
git --no-pager log --oneline --stat HEAD.."$branch"
report=$(ls -d "$scratch"/.runplan/reports/*/ | tail -n 1)
cat <<EOF

repository: $scratch
branch:     $branch   (git -C $scratch merge $branch)
report:     ${report}report.md
            ${report}report.html
EOF
