#!/usr/bin/env bash
# firstrun: what a newcomer meets on real repositories, with the commands of the README and a scripted agent.
#
#   tools/firstrun/firstrun.sh RUNPLAN TABLE [NAME…]
#
# TABLE names a file with one repository a row:
#
#   NAME|REPOSITORY|BASE|[BATCH=]CHANGE OF EACH BATCH|PLAN|INSTALL|FLAGS OF THE RUN
#
# REPOSITORY is owner/name on GitHub, or in the folder of clones that FIRSTRUN_REPOS names. The repository stands at BASE, a
# commit of its history; the agent applies what its maintainers did next: one commit or range for each batch (see change
# below). PLAN is a file of the repository; without one it is plans/NAME.md beside the table. INSTALL is the shell command that
# the repository's own guide gives for its dependencies: it is not counted. The last line of each repository says how many
# commands it took.
set -u
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 2 ] || { echo "usage: firstrun.sh RUNPLAN TABLE [NAME…]" >&2; exit 2; }
runplan=$(realpath "$1") table=$(realpath "$2"); shift 2
root=${FIRSTRUN_DIR:-$(mktemp -d)}
mkdir -p "$root"

# venv PACKAGE…: an environment with these packages, of the system where it has them, and the project itself from src.
venv() {
	python3 -m venv --system-site-packages .venv || return 1
	.venv/bin/python -c "import ${*/%/, }pip" 2>/dev/null || .venv/bin/python -m pip install -q "$@" || return 1
	echo "$PWD/src" >"$(echo .venv/lib/python3*/site-packages)/project.pth"
}

# gems LIBRARY: the gems of the project, unless the system has the library that its tests need.
gems() { ruby -e 'require ARGV[0]' "$1" || bundle install; }

# change COMMIT[..COMMIT][:PATH,…] PLAN: what these commits changed, less the plan itself, as a patch.
change() {
	local commits=${1%%:*} paths=.
	case $1 in *:*) paths=${1#*:} ;; esac
	# shellcheck disable=SC2086
	git diff --binary "${commits%..*}^" "${commits#*..}" -- ${paths//,/ } ${2:+":!$2"}
}

# prepare NAME REPOSITORY BASE COMMITS PLAN INSTALL: a clone at its base, with the plan committed, and an agent.
prepare() {
	local name=$1 repository=$2 base=$3 commits=$4 plan=$5 install=$6 from=https://github.com/$2 number=0 commit
	local folder=$root/$name
	rm -rf "$folder" && mkdir -p "$folder/bin" "$folder/acts"
	[ -n "${FIRSTRUN_REPOS:-}" ] && from=$FIRSTRUN_REPOS/${2#*/}
	git clone -q "$from" "$folder/repo" && cd "$folder/repo" && git checkout -q -B main "$base" || return 1
	git config user.name Newcomer && git config user.email newcomer@example.com
	for batch in $commits; do
		case $batch in *=*) number=${batch%%=*} batch=${batch#*=} ;; *) number=$((number + 1)) ;; esac
		change "$batch" "$plan" >"$folder/acts/$number"
	done
	if [ -z "$plan" ]; then
		mkdir -p docs && cp "$(dirname "$table")/plans/$name.md" docs/plan.md && plan=docs/plan.md
	elif [ ! -e "$plan" ]; then # the plan came in the commit of its work, with its boxes ticked
		git checkout -q "${commits%%:*}" -- "$(dirname "$plan")" && sed -i 's/- \[x\]/- [ ]/' "$plan"
	fi
	git add -A && { git diff --cached --quiet || git commit -q --no-verify -m "Add a plan"; }
	(eval "$install") >"$folder/install.log" 2>&1 || { tail -5 "$folder/install.log"; return 1; }
	cat >"$folder/bin/claude" <<AGENT
#!/usr/bin/env bash
# applies what the maintainers did; the answer is as claude prints it
cat >/dev/null
[ ! -s "$folder/acts/\$RUNPLAN_BATCH" ] || git apply --3way "$folder/acts/\$RUNPLAN_BATCH" >&2
sed "s/SESSION/\$RUNPLAN_BATCH/" "$here/answer.txt"
AGENT
	chmod +x "$folder/bin/claude"
	printf '%s\n' "$plan" >"$folder/plan"
}

# first NAME FLAGS: the commands of the README, until a run is green.
first() {
	local name=$1 flags=$2 folder=$root/$1 plan count=0 status begin
	plan=$(cat "$folder/plan"); cd "$folder/repo" || return 1
	export RUNPLAN_HOME=$folder/home PATH=$folder/bin:$PATH
	[ -d .venv ] && PATH=$folder/repo/.venv/bin:$PATH
	begin=$SECONDS
	for command in "init" "check $plan" "$plan --agent claude${flags:+ $flags}"; do
		count=$((count + 1))
		printf '\n$ runplan %s\n' "$command"
		# shellcheck disable=SC2086
		"$runplan" $command </dev/null; status=$?
		[ $status -eq 0 ] || printf '(exit status %s)\n' "$status"
	done
	printf '\n%s: %s, %s commands, %s s\n' "$name" "$([ $status -eq 0 ] && echo green || echo red)" "$count" $((SECONDS - begin))
}

while IFS='|' read -r name repository base commits plan install flags; do
	[ $# -eq 0 ] || case " $* " in *" $name "*) ;; *) continue ;; esac
	(prepare "$name" "$repository" "$base" "$commits" "$plan" "$install" </dev/null) ||
		{ echo "$name: not prepared"; continue; }
	(first "$name" "$flags" </dev/null) 2>&1 | tee "$root/$name/transcript.txt"
done <"$table"
grep -hE '^[a-z-]+: (green|red), ' "$root"/*/transcript.txt
