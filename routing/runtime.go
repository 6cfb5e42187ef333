package routing

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/wordset"
	"github.com/runplan/runplan/planparse"
)

// sameRuntime puts batches that touch the same state of the machine into the plan's order.
func (g *graph) sameRuntime() {
	last := map[string]int{}
	for _, i := range g.order {
		for _, h := range g.hints[i] {
			if from, ok := last[h]; ok {
				e := g.found[[2]int{from, i}]
				// Exact state comes first, because it is more specific than its kind.
				if e == nil || !slices.Contains(e.kinds, EdgeRuntime) || !slices.Contains(kindsOfState(), h) {
					g.add(from, i, EdgeRuntime, 0, "each of the two "+h)
				}
			}
			last[h] = i
		}
	}
}

// targetsOf names the state of the machine that a batch touches: a port, a database, a service. Each is described by
// the batch's use of it, as in [runtimeHints], which only returns the kind.
func targetsOf(b *planparse.Batch) []string {
	var out []string
	add := func(target string) {
		if target != "" && !slices.Contains(out, target) {
			out = append(out, target)
		}
	}
	eachAction(b, func(a action) {
		for _, port := range portsIn(a.text) {
			add("uses port " + port)
		}
		if !a.command {
			return
		}
		for _, words := range commandsIn(a.text) {
			add(targetOf(words))
		}
	})
	return out
}

// A number is a port only with evidence: the word, an address of this machine, or a flag. "Port 12 tests" is work.
var portAt = lazyre.New(`(?:(?i:\b(?:localhost|127\.0\.0\.1|0\.0\.0\.0)|\[::1?\]):|(?i:\b(?:on|at|uses?|using|via|the|to) (?:fixed )?port:? )|(?i:\bport )|(?i:--port[ =])|(?i:\bport ?[=:] ?["']?)|` +
	"(?:^|\\s)-p[ =]?|(?:^|[\\s\"'(`=]):)([0-9]{2,5})\\b")

func portsIn(text string) []string {
	var out []string
	for _, m := range portAt.FindAllStringSubmatchIndex(text, -1) {
		lead, number := strings.ToLower(text[m[0]:m[2]]), text[m[2]:m[3]]
		n, err := strconv.Atoi(number)
		if err != nil || n > 65535 {
			continue
		}
		bare := strings.TrimSpace(lead) == "port" || strings.HasSuffix(lead, ":") && len(strings.TrimSpace(lead)) <= 2 ||
			strings.Contains(lead, "-p") && !strings.Contains(lead, "-port")
		if n < 80 && n != 22 || bare && n < 1024 {
			continue
		}
		out = append(out, number)
	}
	return out
}

var (
	cutCommands = lazyre.New(`&&|\|\||[;|<>]`)
	assignment  = lazyre.New(`^[A-Za-z_]\w*=`)
)

// commandsIn splits a shell line into commands, each without its prefixes.
func commandsIn(line string) [][]string {
	var out [][]string
	for _, part := range cutCommands.Split(strings.TrimLeft(line, " \t$"), -1) {
		words := strings.Fields(part)
		for len(words) > 0 && (words[0] == "sudo" || words[0] == "env" || words[0] == "time" ||
			assignment.MatchString(words[0])) {
			words = words[1:]
		}
		words = lists.Map(words, func(word string) string { return strings.Trim(word, `"'`) })
		if len(words) > 0 {
			words[0] = path.Base(words[0])
			out = append(out, words)
		}
	}
	return out
}

// targetOf returns the machine state that a command uses; "" if none is known.
func targetOf(words []string) string {
	name, args := words[0], words[1:]
	switch name {
	case "psql", "pg_dump", "pg_restore", "createdb", "dropdb":
		return database("PostgreSQL", args, []string{"-d", "--dbname"}, "-h", "-p", "-U", "-f", "-c", "-v", "-o", "-F", "-L",
			"-P", "-R", "-T", "-O", "-E", "-l", "--host", "--port", "--username", "--file", "--command")
	case "mysql", "mariadb", "mysqldump":
		return database("MySQL", args, []string{"-D", "--database"}, "-h", "-u", "-P", "-S", "-e", "--host", "--user",
			"--port", "--execute")
	case "sqlite3":
		return database("SQLite", args, nil, "-cmd", "-init", "-separator")
	case "redis-cli":
		return "uses the Redis database " + valueOf(args, "0", "-n")
	case "mongosh", "mongo":
		return database("MongoDB", args, nil, "--host", "--port", "--eval", "-u", "-p")
	case "systemctl", "service":
		return service(name, args)
	case "kubectl", "helm":
		return "controls the cluster"
	case "docker-compose":
		return compose(args)
	case "docker", "podman":
		if len(args) > 0 && args[0] == "compose" {
			return compose(args[1:])
		}
	}
	return ""
}

// valueOf returns the value of a flag, in one word with it or in the next.
func valueOf(args []string, none string, flags ...string) string {
	for i, a := range args {
		for _, flag := range flags {
			switch {
			case a == flag && i+1 < len(args):
				return args[i+1]
			case strings.HasPrefix(a, flag+"="):
				return a[len(flag)+1:]
			case len(flag) == 2 && strings.HasPrefix(a, flag) && len(a) > 2:
				return a[2:]
			}
		}
	}
	return none
}

// database finds the database that a client is called with: by a flag, or as its first argument. valued lists the
// flags that take the next word.
func database(kind string, args, flags []string, valued ...string) string {
	name := valueOf(args, "", flags...)
	for i := 0; i < len(args) && name == ""; i++ {
		switch a := args[i]; {
		case slices.Contains(valued, a):
			i++
		case !strings.HasPrefix(a, "-"):
			name = a
		}
	}
	if strings.Contains(name, "://") { // the last part of an address
		name, _, _ = strings.Cut(path.Base(name), "?")
	}
	if name == "" || strings.ContainsAny(name, "()[]{}=") {
		return ""
	}
	if kind == "SQLite" {
		name = clean(name)
		if name == ":memory:" {
			return ""
		}
	}
	return "uses the " + kind + " database " + name
}

// service names the unit that is started or stopped. A status query changes nothing.
func service(name string, args []string) string {
	words := lists.Filter(args, func(a string) bool { return !strings.HasPrefix(a, "-") })
	if len(words) < 2 {
		return ""
	}
	verb, unit := words[0], words[1]
	if name == "service" {
		verb, unit = unit, verb
	}
	switch verb {
	case "start", "stop", "restart", "reload", "enable", "disable", "try-restart", "reload-or-restart", "kill", "mask",
		"unmask":
		return "controls the service " + strings.TrimSuffix(unit, ".service")
	}
	return ""
}

// compose identifies the container set of a compose command.
func compose(args []string) string {
	if !slices.ContainsFunc(args, func(a string) bool {
		return slices.Contains([]string{"up", "down", "start", "stop", "restart", "run", "exec", "rm", "kill", "create",
			"pause", "unpause"}, a)
	}) {
		return ""
	}
	if file := valueOf(args, "", "-f", "--file", "-p", "--project-name"); file != "" {
		return "controls the containers of " + file
	}
	return "controls the containers of docker compose"
}

// action is an action of a batch on its machine: a command, or an instruction in a sentence. Design statements
// about ports, servers and databases do not count.
type action struct {
	text    string
	command bool // text is a line for a shell
}

// eachAction calls f with the actions of a batch: its commands, the lines of its shell blocks, and its sentences such
// as "Start the server on port 8080" with the code spans in them.
func eachAction(b *planparse.Batch, f func(action)) {
	for _, c := range b.Commands {
		for line := range strings.Lines(c.Run) {
			f(action{strings.TrimSpace(line), true})
		}
	}
	sentences(b.Title, f)
	planparse.EachLine(b, func(l planparse.Line) {
		switch {
		case !l.Fenced:
			sentences(l.Text, f)
		case shells.Has(l.Lang), l.Lang == "" && strings.HasPrefix(strings.TrimSpace(l.Text), "$ "):
			f(action{strings.TrimPrefix(strings.TrimSpace(l.Text), "$ "), true})
		}
	})
}

var shells = wordset.New("sh bash zsh shell console shell-session fish")

var (
	leadOfLine  = lazyre.New(`^[\s>*_+•-]*(?:\d+[.)]\s+)?(?:\[[ xX~-]\]\s*)?[*_]*(?:(?i:step|task)\s+\d+[.):]*\s*[-—–:]?\s*)?[*_]*`)
	sentenceEnd = lazyre.New(`[.!?;]\s+|\(|\)`)
	// Matches an instruction at the start of a sentence: "Start the server", "This batch modifies DB rows".
	acting = lazyre.New(`^(?i:(?:this|the) (?:batch|task|step) )?(?i:` +
		`(?:re)?starts?|launch(?:es)?|boots?|stops?|opens?|visits?|browse|` +
		`modif(?:y|ies) (?:the )?(?:db|database)|(?:migrates?|alters?|resets?|seeds?|drops?) (?:the )?(?:\w+ )?(?:db|database)|` +
		`(?:runs?|appl(?:y|ies)) (?:(?:the|all|pending|db|database|schema) )*migrations?)\b`)
	runtimeLabel = lazyre.New(`^(?i:(?:shared )?runtime(?: state| hints?)?)[*_]*:[*_]*\s*`)
)

// sentences calls f with the instructions in a line of prose.
func sentences(text string, f func(action)) {
	text = text[len(leadOfLine.FindString(text)):]
	parts := sentenceEnd.Split(text, -1)
	if label := runtimeLabel.FindString(text); label != "" {
		parts = strings.Split(text[len(label):], ",")
	}
	for _, s := range parts {
		if s = strings.TrimLeft(s, " *_"); acting.MatchString(s) {
			f(action{s, false})
			for _, span := range planparse.Spans(s) {
				f(action{span, true})
			}
		}
	}
}

var (
	serverSaid   = lazyre.New(`(?i)^(?:(?:this|the) \w+ )?(?:(?:re)?start|launch|boot|stop)\w*\b[^,]*\bservers?\b`)
	serverRun    = lazyre.New(`\brunserver\b|\bnpm (?:run dev|start)\b|\b(?:uv|g)unicorn \S|\bflask run\b|\bhttp\.server\b`)
	fixedPort    = lazyre.New(`(?i)(?:\blocalhost|\b127\.0\.0\.1|\b0\.0\.0\.0):\d|--port[ =]\d|\bport \d{2,5}\b|(?:\b|_)port=\d`)
	databaseSaid = lazyre.New(`(?i)\b(?:db|database|migrations?)\b`)
	databaseRun  = lazyre.New(`(?i)\balembic (?:up|down)grade\b|\bmigrate (?:deploy|up|down|reset)\b|\bmanage\.py (?:migrate|flush)\b|\bdb:(?:migrate|reset|seed|setup)\b|` +
		`\brun[ _-]migrations?\b|\b(?:create|alter|drop) table\b`)
	servicesRun = lazyre.New(`\bdocker[ -]compose\b.*\b(?:up|down|start|stop|restart|run|exec|rm|kill|create|pause|unpause)\b|\bdocker run\b|` +
		`\bsystemctl (?:-\S+ )*(?:start|stop|restart|reload|enable|disable|mask|unmask|kill|try-restart|reload-or-restart|daemon-reload)\b|` +
		`\bkubectl (?:-\S+ )*(?:apply|create|delete|rollout|scale|patch|replace|set|exec|run|drain|cordon)\b`)
)

// runtimeHints names the state of the machine that a batch shares with concurrent batches: a server, a fixed port, a
// database, services (PLAN-07). It uses the batch's actions.
func runtimeHints(b *planparse.Batch) []string {
	found := map[string]bool{}
	eachAction(b, func(a action) {
		found[fixedPortUse] = found[fixedPortUse] || fixedPort.MatchString(a.text)
		switch {
		case a.command:
			found[serverStart] = found[serverStart] || serverRun.MatchString(a.text)
			found[databaseChange] = found[databaseChange] || databaseRun.MatchString(a.text)
			found[serviceControl] = found[serviceControl] || servicesRun.MatchString(a.text)
		case serverSaid.MatchString(a.text):
			found[serverStart] = true
		case databaseSaid.MatchString(a.text):
			found[databaseChange] = true
		}
	})
	return lists.Filter(kindsOfState(), func(kind string) bool { return found[kind] })
}

// The hints that only name a kind of state.
const (
	serverStart    = "starts a server"
	fixedPortUse   = "uses a fixed port"
	databaseChange = "changes a database"
	serviceControl = "controls services"
)

func kindsOfState() []string {
	return []string{serverStart, fixedPortUse, databaseChange, serviceControl}
}
