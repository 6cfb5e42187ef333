package trust

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/prompt"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/store"
)

//go:embed prompts/*.md
var promptFiles embed.FS

// LoadPrompts reads the texts of this package. Layers override the built-in ones.
func LoadPrompts(layers ...prompt.Layer) (prompt.Set, error) {
	return prompt.LoadEmbedded("trust", promptFiles, layers...)
}

// Text describes the contract for people (TRUST-03). Without an owner it asks who the owner is (TRUST-02).
func (c Contract) Text(p prompt.Set) (string, error) {
	if !c.Owned() {
		return p.Render("first", nil)
	}
	allowed, refused := c.Split()
	notes := []string{Titles()[c.Tier]}
	if c.SelfEdit {
		notes = append(notes, "The owner allowed it to edit itself.")
	}
	if c.MergeBar > 0 {
		notes = append(notes, fmt.Sprintf("It may merge without a signature if the confidence of the review is %d "+
			"%% or more.", c.MergeBar))
	}
	for _, r := range c.Repos {
		notes = append(notes, fmt.Sprintf("In %s: tier %d at most.", line(r.Root), r.MaxTier))
	}
	if c.Behind {
		notes = append(notes,
			"owner.toml lacks the last change. The audit has it and is authoritative; the next change writes the file.")
	}
	gates := lists.Map(Gates(), func(g GateRule) string { return fmt.Sprintf("  %-18s %s", g.Gate, g.What) })
	return p.Render("contract", map[string]string{
		"owner": line(c.Owner), "channel": line(c.Channel), "tier": strconv.Itoa(int(c.Tier)),
		"highest": strconv.Itoa(int(Highest)), "title": strings.Join(notes, "\n"),
		"allowed": ruleLines(allowed, false), "refused": ruleLines(refused, true), "gates": strings.Join(gates, "\n"),
	})
}

// Split divides the rules into allowed and refused ones, independent of any repository.
func (c Contract) Split() (allowed, refused []Rule) {
	allowed, refused = []Rule{}, []Rule{}
	for _, r := range Table() {
		if c.Check(r.Action, "") == nil {
			allowed = append(allowed, r)
		} else {
			refused = append(refused, r)
		}
	}
	return allowed, refused
}

func ruleLines(rules []Rule, withTier bool) string {
	var lines []string
	for _, r := range rules {
		l := fmt.Sprintf("  %-12s %s", r.Action, r.What)
		if withTier {
			l += fmt.Sprintf(" (tier %d", r.Tier)
			if r.OptIn {
				l += ", opt-in"
			}
			l += ")"
		}
		if r.UsedBy == "" {
			l += " [no command does this yet]"
		}
		lines = append(lines, l)
	}
	return strings.Join(lines, "\n")
}

// line makes a text safe and puts it on one line.
func line(s string) string { return phrase.Line(redact.Clean(s)) }

// Words formats the arguments of a command unambiguously. It quotes arguments that are not plain words.
func Words(args []string) string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = a
		if a == "" || strings.ContainsFunc(a,
			func(r rune) bool { return r <= ' ' || r == '"' || r == '\'' || r == '\\' || r > '~' }) {
			out[i] = strconv.Quote(a)
		}
	}
	return strings.Join(out, " ")
}

// Standup holds the facts of a stand-up report (TRUST-16). No model is involved.
type Standup struct {
	Repository string    `json:"repository"`
	From       time.Time `json:"from"`
	To         time.Time `json:"to"`
	Done       []string  `json:"done"`
	UnderWay   []string  `json:"under_way"`
	Stuck      []string  `json:"stuck"`
	Spent      string    `json:"spent"`
	Inbox      []string  `json:"inbox"`
	Trust      string    `json:"trust"`
}

// Render renders the report.
func (s Standup) Render(p prompt.Set) (string, error) {
	const form = "2006-01-02 15:04 MST"
	return p.Render("standup", map[string]string{
		"repository": line(s.Repository), "from": s.From.Format(form), "to": s.To.Format(form),
		"done": bullets(s.Done), "under_way": bullets(s.UnderWay), "stuck": bullets(s.Stuck), "spent": line(s.Spent),
		"inbox": bullets(s.Inbox), "trust": line(s.Trust),
	})
}

// bullets formats a markdown list. Each foreign text stays on one line, so that it cannot start a heading or list.
func bullets(items []string) string {
	var b strings.Builder
	for _, i := range items {
		fmt.Fprintf(&b, "- %s\n", line(i))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// TierText describes the tier in a few words.
func (c Contract) TierText() string {
	if !c.Owned() {
		return "no owner; runplan trust asks for one"
	}
	return fmt.Sprintf("tier %d of %d (%s), owner %s", c.Tier, Highest, Titles()[c.Tier], line(c.Owner))
}

//go:embed documents/*.md
var documentFiles embed.FS

// Document is an identity document. These documents precede every prompt (TRUST-12).
type Document struct {
	Name   string `json:"name"`
	Source string `json:"source"` // built-in, or the path of the file
	Text   string `json:"text"`
}

// documents lists the identity documents in order: identity, architecture, and project. Only the project can supply
// the last.
func documents() []struct{ name, holds string } {
	return []struct{ name, holds string }{
		{"RUNPLAN.md", "who it is"},
		{"ARCHITECTURE.md", "how it is built"},
		{"PROJECT_MAP.md", "the structure of this project: its folders, how it is built and tested, and what not to change"},
	}
}

// maxDocument is the highest size of a document in bytes, because each prompt contains all of them.
const maxDocument = 64 << 10

// IdentityFolder returns the folder of a project's documents, below the folder of its prompts.
func IdentityFolder(prompts string) string { return filepath.Join(prompts, "identity") }

// LoadIdentity reads the identity documents. A document of the project in dir overrides the built-in one. One error
// reports all missing documents.
func LoadIdentity(dir string, project fs.FS) ([]Document, error) {
	var out []Document
	var errs []error
	for _, d := range documents() {
		path := filepath.Join(dir, d.name)
		text, err := fs.ReadFile(project, d.name)
		source := path
		if errors.Is(err, fs.ErrNotExist) {
			source = "built-in"
			text, err = documentFiles.ReadFile("documents/" + d.name)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			errs = append(errs, fmt.Errorf("%s is missing: write it, with %s", path, d.holds))
		case err != nil:
			errs = append(errs, fmt.Errorf("read the identity document: %w", err))
		case len(text) > maxDocument:
			errs = append(errs, fmt.Errorf("%s has %d bytes, and the limit of identity documents is %d: shorten it", path,
				len(text), maxDocument))
		case !utf8.Valid(text) || strings.TrimSpace(string(text)) == "":
			errs = append(errs, fmt.Errorf("%s is empty, or not UTF-8: write %s into it", path, d.holds))
		default:
			out = append(out, Document{d.name, source, strings.TrimSpace(string(text)) + "\n"})
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return out, nil
}

// IdentityText joins the documents in order for the start of a prompt.
func IdentityText(docs []Document) string {
	var b strings.Builder
	for i, d := range docs {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(d.Text)
	}
	return b.String()
}

// InboxFile returns the path of the inbox in a user's folder.
func InboxFile(dir string) string { return filepath.Join(dir, "inbox.sqlite") }

// Kinds of inbox items.
const (
	Ask      = "ask"      // needs an answer
	Note     = "note"     // needs no answer
	Critical = "critical" // processed before all others
)

// Said is a message to runplan from any channel (TRUST-08).
type Said struct {
	Kind, Body string
	Channel    string // how it arrived, for example cli
	Repo       string // repository of the sender; "" for none
	At         time.Time
}

const maxBody = 64 << 10

// Enqueue adds a message to the inbox and immediately returns an acknowledgement from a template. It asks no model
// (TRUST-09).
func Enqueue(ctx context.Context, b *store.Inbox, p prompt.Set, s Said) (id int64, ack string, err error) {
	if err := s.check(); err != nil {
		return 0, "", err
	}
	// Render the acknowledgement before writing, so that every item has one.
	if _, err := s.ack(p, 0); err != nil {
		return 0, "", err
	}
	id, err = b.Add(ctx, store.InboxItem{Kind: s.Kind, Body: s.Body, Channel: s.Channel, Repo: s.Repo, At: s.At,
		Acknowledged: s.At})
	if err != nil {
		return 0, "", err
	}
	ack, err = s.ack(p, id)
	return id, ack, err
}

func (s Said) check() error {
	switch {
	case strings.TrimSpace(s.Body) == "":
		return &Error{"the text is empty", "give a text: runplan " + s.Kind + " TEXT"}
	case len(s.Body) > maxBody:
		return &Error{fmt.Sprintf("the text has %d bytes; the limit is %d", len(s.Body), maxBody),
			"put it into a file, and give its path"}
	}
	return nil
}

func (s Said) ack(p prompt.Set, id int64) (string, error) {
	next := map[string]string{
		Ask:      "It stays there until a person reads it: runplan inbox.",
		Note:     "It needs no answer: runplan inbox lists it until it is done.",
		Critical: "It is listed before all others: runplan inbox.",
	}[s.Kind]
	return p.Render("ack", map[string]string{"kind": s.Kind, "id": strconv.FormatInt(id, 10), "next": next})
}
