package redact

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/literal"
	"github.com/runplan/runplan/internal/tables"
)

// Kind is a kind of secret with a known form.
type Kind struct {
	ID    string
	Re    *lazyre.Regexp
	Edge  bool
	Exact bool
	Guess bool

	lits  []literal.Lit     // each match contains one of them; nil derives them from the expression
	check func(string) bool // further condition for the secret; nil for none

	// at is a quick check of a literal at an offset, for a literal that is frequent in code: false if it is not part of a
	// match. nil accepts all.
	at func(text string, offset int) bool
}

func (k *Kind) mark() string {
	return mark(strings.ToUpper(strings.ReplaceAll(k.ID, "-", "_")))
}

// begins returns a check for a kind whose literals are at the beginning of each match: whether one begins at an offset.
// No kind needs more than 200 bytes for that.
func (k *Kind) begins() func(text string, offset int) bool {
	re := lazyre.New("^(?:" + k.Re.String() + ")")
	return func(text string, offset int) bool {
		return re.MatchString(text[offset:min(len(text), offset+200)])
	}
}

func (k *Kind) needs() []literal.Lit {
	if k.lits != nil {
		return k.lits
	}
	return literal.Needs(k.Re.String())
}

const uuid = `[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}`

//go:embed kinds.toml
var kindTable string

// kinds lists the kinds in the order in which they are tried.
var kinds = sync.OnceValue(func() []Kind {
	var t struct{ Kind []Kind }
	tables.Read(kindTable, &t)
	for i := range t.Kind {
		k := &t.Kind[i]
		k.Re = lazyre.New(strings.ReplaceAll(k.Re.String(), "{uuid}", uuid))
		switch k.ID {
		case "azure-client-secret":
			k.lits = pairs("0 1 2 3 4 5 6 7 8 9", "Q~")
		case "datadog-key":
			k.lits = append(literal.Folded("dd_", "dd-", "dd api", "ddkey", "ddap", "datadog"),
				literal.Exactly("ddapi_", "ddapp_")...)
			k.at = k.begins()
		case "discord-token":
			base64 := pairs("MD MT Mj Mz ND NT Nj Nz OD OT", "A E I M Q U Y c g k") // of the digits of a number
			k.lits = append(base64, literal.Exactly("mfa.")...)
			k.at = k.begins()
		case "telegram-token":
			k.lits = pairs("0 1 2 3 4 5 6 7 8 9", ":A")
		case "twilio-key":
			k.lits = pairs("SK", "0 1 2 3 4 5 6 7 8 9 a b c d e f")
		case "crates-token":
			k.at = k.begins()
		case "work-token":
			begins := k.begins()
			k.at = func(text string, offset int) bool { return noWord(text, offset) && begins(text, offset) }
		case "openai-key":
			k.check = mixed
		case "url-password":
			k.at = password
		case "assignment":
			k.at, k.Re = assigns, assignment
		}
	}
	return t.Kind
})

// pairs lists the literals of each beginning with each end, which spaces separate. One of the two is too short to search
// for.
func pairs(beginnings, ends string) []literal.Lit {
	var out []literal.Lit
	for _, a := range strings.Fields(beginnings) {
		for _, b := range strings.Fields(ends) {
			out = append(out, literal.Exactly(a+b)...)
		}
	}
	return out
}
