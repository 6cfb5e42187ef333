package routing

import (
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/planparse"
)

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
		case isShell(l.Lang), l.Lang == "" && strings.HasPrefix(strings.TrimSpace(l.Text), "$ "):
			f(action{strings.TrimPrefix(strings.TrimSpace(l.Text), "$ "), true})
		}
	})
}

func isShell(lang string) bool {
	return slices.Contains([]string{"sh", "bash", "zsh", "shell", "console", "shell-session", "fish"}, lang)
}

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
	var server, port, database, services bool
	eachAction(b, func(a action) {
		port = port || fixedPort.MatchString(a.text)
		if a.command {
			server = server || serverRun.MatchString(a.text)
			database = database || databaseRun.MatchString(a.text)
			services = services || servicesRun.MatchString(a.text)
			return
		}
		server = server || serverSaid.MatchString(a.text)
		database = database || databaseSaid.MatchString(a.text) && !serverSaid.MatchString(a.text)
	})
	var hints []string
	for _, h := range []struct {
		found bool
		name  string
	}{{server, "starts a server"}, {port, "uses a fixed port"}, {database, "changes a database"},
		{services, "controls services"}} {
		if h.found {
			hints = append(hints, h.name)
		}
	}
	return hints
}
