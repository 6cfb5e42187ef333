#!/usr/bin/env bash
# captures: what the main commands look like on terminals of three sizes, and with NO_COLOR, as text under docs/terminal.
#
#   tools/captures/captures.sh RUNPLAN FOLDER
#
# It needs tmux. The repository is made from examples/quickstart; its agent is the embedded one.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
runplan=$(realpath "$1") out=$(realpath "$2")
work=$(mktemp -d)
socket=runplan-captures-$$
trap 'tmux -L "$socket" kill-server 2>/dev/null || true; rm -rf "$work"' EXIT
mkdir -p "$work/bin" "$work/home"
ln -s "$runplan" "$work/bin/runplan"

prepare() {
	rm -rf "$work/shop" "$work/home"
	cp -r "$root/examples/quickstart" "$work/shop" && cd "$work/shop"
	git init -q -b main . && git config user.name Ada && git config user.email ada@example.com
	git add -A && git commit -q -m "Begin"
}

# shot SIZE NAME WAIT COMMAND: the screen after COMMAND ended, or WAIT seconds into it.
shot() {
	local size=$1 name=$2 wait=$3 command=$4 i
	tmux -L "$socket" -f /dev/null new-session -d -x "${size%x*}" -y "${size#*x}" -s shot \
		"env -i PATH='$work/bin:$PATH' HOME='$work' RUNPLAN_HOME='$work/home' LANG=C.UTF-8 TERM=screen-256color ${color:-} bash --norc"
	tmux -L "$socket" send-keys -t shot "cd $work/shop; PS1='\$ '; clear" Enter
	sleep 0.5
	tmux -L "$socket" send-keys -t shot "$command; touch $work/ended" Enter
	if [ "$wait" = end ]; then
		for ((i = 0; i < 1200; i++)); do [ -e "$work/ended" ] && break; sleep 0.1; done
		sleep 0.3
	else
		sleep "$wait"
	fi
	tmux -L "$socket" capture-pane -p -t shot | sed -e "s|$work|/home/ada|g" -e 's/; touch .*//' -e 's/[[:space:]]*$//' |
		awk '{ line[NR] = $0; if ($0 != "") last = NR } END { for (i = 1; i <= last; i++) print line[i] }' >"$out/$name-$size${color:+-no-color}.txt"
	[ "$wait" = end ] || for ((i = 0; i < 1200; i++)); do [ -e "$work/ended" ] && break; sleep 0.1; done
	tmux -L "$socket" kill-session -t shot
	rm -f "$work/ended"
}

all() {
	local size=$1
	prepare
	shot "$size" help end "runplan help"
	shot "$size" doctor end "runplan doctor"
	shot "$size" check end "runplan check plan.md"
	shot "$size" route end "runplan route plan.md"
	shot "$size" run-headless end "runplan plan.md --plain"
	shot "$size" status end "runplan status"
	shot "$size" log end "runplan log"
	shot "$size" run-team 2 "runplan plan.md --new --mode team --workers 3"
	runplan_here note "The printer is out of paper"
	shot "$size" inbox end "runplan inbox"
	shot "$size" standup end "runplan standup"
	shot "$size" gate-green end "runplan gate"
	printf 'if true; then\n' >>"$(git ls-files '*.sh' | head -1)"
	shot "$size" gate-red end "runplan gate"
	git checkout -q .
}

runplan_here() { (cd "$work/shop" && HOME=$work RUNPLAN_HOME=$work/home "$runplan" "$@" >/dev/null 2>&1) || true; }

for size in 80x24 120x40 200x50; do all "$size"; done
color=NO_COLOR=1 all 80x24
