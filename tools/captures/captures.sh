#!/usr/bin/env bash
# captures: what the main commands look like on terminals of three sizes, and with NO_COLOR, as text under docs/terminal.
#
#   tools/captures/captures.sh RUNPLAN FOLDER [SIZE…]
#
# CAPTURE_ONLY=PATTERN takes some of them. It needs tmux. One repository is examples/quickstart, with the embedded agent; the
# other one has a script as its agent, which works slowly, meets a limit, leaves a bad file, or does what needs an approval.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
runplan=$(realpath "$1") out=$(realpath "$2")
shift 2
[ $# -gt 0 ] || set -- 80x24 120x40 200x50 no-color
work=$(mktemp -d)
socket=runplan-captures-$$
trap 'tmux -L "$socket" kill-server 2>/dev/null || true; rm -rf "$work"' EXIT
mkdir -p "$work/bin"
tmux -L "$socket" -f /dev/null new-session -d -s keep # the server stays between shots
ln -s "$runplan" "$work/bin/runplan"
cache=$(go env GOCACHE)
patience=${CAPTURE_PATIENCE:-3000} # tenths of a second

commit() { git init -q -b main . && git config user.name Ada && git config user.email ada@example.com && git add -A && git commit -q -m "Begin"; }

prepare() {
	rm -rf "$work/shop" "$work/slow" "$work/home"
	cp -r "$root/examples/quickstart" "$work/shop"
	(cd "$work/shop" && commit)
	mkdir -p "$work/slow/.runplan" && cp "$root"/tools/captures/*.md "$work/slow"
	cat >"$work/slow/.runplan/config.toml" <<CONFIG
[agents.claude]
preset = "claude"
command = ["$root/tools/captures/agent.sh"]
[[gates.command]]
name = "no-todo"
run = "sleep 3; ! grep -rn TODO src"
CONFIG
	(cd "$work/slow" && commit)
	local digest # the user has said yes to the configuration
	digest=$(cd "$work/slow" && HOME=$work RUNPLAN_HOME=$work/home "$runplan" failed.md 2>&1 | sed -n 's/.*RUNPLAN_TRUST=//p')
	runplan_here slow trust config "$digest"
}

screen() { tmux -L "$socket" capture-pane -p -t shot; }

# until_seen WHAT: waits until the command has ended (end), or until the screen shows a pattern.
until_seen() {
	local i
	for ((i = 0; i < patience; i++)); do
		[ -e "$work/ended" ] && return
		[ "$1" = end ] || ! screen | grep -qE "$1" || return 0
		sleep 0.1
	done
	echo "captures: $1 was not seen" >&2
}

# shot NAME FOLDER WHAT COMMAND [KEY]: the screen once WHAT is there; with KEY, once that key was pressed and the
# command has ended.
shot() {
	[[ $1 =~ ${CAPTURE_ONLY:-.} ]] || return 0
	local name=$1 folder=$2 what=$3 command=$4 key=${5:-}
	tmux -L "$socket" -f /dev/null new-session -d -x "${size%x*}" -y "${size#*x}" -s shot \
		"env -i PATH='$work/bin:$PATH' HOME='$work' RUNPLAN_HOME='$work/home' GOCACHE='$cache' LANG=C.UTF-8 TERM=screen-256color ${color:-} bash --norc"
	tmux -L "$socket" send-keys -t shot "cd $work/$folder; PS1='\$ '; PROMPT_COMMAND='[ -z \"\$on\" ] || touch $work/ended; on=1'; clear" Enter
	sleep 1
	rm -f "$work/ended"
	tmux -L "$socket" send-keys -t shot "$command" Enter
	until_seen "$what"
	[ -z "$key" ] || { tmux -L "$socket" send-keys -t shot "$key"; until_seen end; }
	sleep 0.5
	screen | sed -e "s|$work|/home/ada|g" -e 's/[[:space:]]*$//' |
		awk '{ line[NR] = $0; if ($0 != "") last = NR } END { for (i = 1; i <= last; i++) print line[i] }' >"$out/$name-$size${color:+-no-color}.txt"
	[ -e "$work/ended" ] || { tmux -L "$socket" send-keys -t shot C-c; until_seen end; }
	tmux -L "$socket" kill-session -t shot
	rm -f "$work/ended"
}

all() {
	prepare
	shot help shop end "runplan help"
	shot doctor shop end "runplan doctor"
	shot check shop end "runplan check plan.md"
	shot route shop end "runplan route plan.md"
	shot run shop end "runplan plan.md"
	shot status shop end "runplan status"
	shot log shop end "runplan log"
	runplan_here shop note "The printer is out of paper"
	shot inbox shop end "runplan inbox"
	shot gate-green shop end "runplan gate"
	printf 'func (\n' >>"$work/shop/tally.go"
	shot gate-red shop end "runplan gate"
	(cd "$work/shop" && git checkout -q .)

	team="--mode team --workers 3 --agent claude"
	shot team-live slow '2/5' "runplan team.md $team"
	shot team-stopped slow editing "runplan team.md --new $team" C-c
	shot gate-live slow 'running ' "runplan gate"
	shot limit-live slow 'paused' "runplan limit.md --agent claude --on-limit wait"
	shot approval slow end "runplan approval.md --agent claude"
	shot approve-list slow end "runplan approve"
	shot standup slow end "runplan standup"
	shot failed slow end "runplan failed.md --agent claude --max-attempts 1"
	shot status-others slow end "runplan status"
	shot status-failed slow end "runplan status --all"
}

runplan_here() { (cd "$work/$1" && shift && HOME=$work RUNPLAN_HOME=$work/home "$runplan" "$@" >/dev/null 2>&1) || true; }

for size in "$@"; do
	color=
	[ "$size" != no-color ] || { size=80x24 color=NO_COLOR=1; }
	all
done
