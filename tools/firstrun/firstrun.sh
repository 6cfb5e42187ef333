#!/usr/bin/env bash
# firstrun: what a newcomer meets on eleven real repositories, with the commands of the README and a scripted agent.
#
#   tools/firstrun/firstrun.sh RUNPLAN [NAME…]
#
# Each repository stands at a commit of its history; the agent applies what its maintainers did next. Where a
# repository has plans of its own, that is the plan; the others are ours (plans/NAME.md), in the words of the repository.
# FIRSTRUN_REPOS names a folder of clones; without it they are cloned from GitHub. Dependencies are installed first, as the
# repository's own guide says: that is not counted. FIRSTRUN_TABLE names a file with other rows. The last line of each
# repository says how many commands it took.
set -u
here=$(cd "$(dirname "$0")" && pwd)
runplan=$(realpath "${1:?usage: firstrun.sh RUNPLAN [NAME…]}"); shift
root=${FIRSTRUN_DIR:-$(mktemp -d)}
mkdir -p "$root"

# NAME|REPOSITORY|BASE|[BATCH=]CHANGE OF EACH BATCH|PLAN OF THE REPOSITORY|INSTALL|FLAGS OF THE RUN; see change below
repositories() { cat <<'LIST'
cobra|spf13/cobra|ad460ea^|ad460ea||go mod download|
semver|Masterminds/semver|4ed619e^|4ed619e||go mod download|
itsdangerous|pallets/itsdangerous|4bb03cd^|4bb03cd||venv pytest freezegun|
markupsafe|pallets/markupsafe|8cb1691^|8cb1691||venv pytest|
sqlparse|andialbrecht/sqlparse|53ff44b^|53ff44b||venv pytest|
boltons|mahmoud/boltons|673e010^|673e010||venv pytest|
p-queue|sindresorhus/p-queue|9efde42^|9efde42||npm install --no-audit --no-fund|
p-limit|sindresorhus/p-limit|ef37eb2^|ef37eb2||npm install --no-audit --no-fund|
superpowers|obra/superpowers|c6fa27e3|87e4050d 28882fcb|docs/superpowers/plans/2026-07-15-sdd-fix-loop-redesign.md|true|--to 2
heck|withoutboats/heck|df22272^|df22272||true|
rack|rack/rack|8bf4eb07^|8bf4eb07||gems minitest/global_expectations|
LIST
}

# venv PACKAGE…: an environment with these packages, of the system where it has them, and the project itself from src.
venv() {
	python3 -m venv --system-site-packages .venv || return 1
	.venv/bin/python -c "import ${*/%/, }pip" 2>/dev/null || .venv/bin/pip install -q "$@" || return 1
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
		number=$((number + 1))
		case $batch in *=*) number=${batch%%=*} batch=${batch#*=} ;; esac
		change "$batch" "$plan" >"$folder/acts/$number"
	done
	if [ -z "$plan" ]; then
		mkdir -p docs && cp "$here/plans/$name.md" docs/plan.md && plan=docs/plan.md
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

{ if [ -n "${FIRSTRUN_TABLE:-}" ]; then cat "$FIRSTRUN_TABLE"; else repositories; fi; } | while IFS='|' read -r name repository base commits plan install flags; do
	[ $# -eq 0 ] || case " $* " in *" $name "*) ;; *) continue ;; esac
	(prepare "$name" "$repository" "$base" "$commits" "$plan" "$install" </dev/null) ||
		{ echo "$name: not prepared"; continue; }
	(first "$name" "$flags" </dev/null) 2>&1 | tee "$root/$name/transcript.txt"
done
grep -hE '^[a-z-]+: (green|red), ' "$root"/*/transcript.txt
