package trust

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/internal/prompt"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/store"
)

func prompts(t *testing.T, layers ...prompt.Layer) prompt.Set {
	t.Helper()
	p, err := LoadPrompts(layers...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The contract text lists every action once, in the right part, and every gate, whatever the owner's name is.
func TestContractTextListsAllActions(t *testing.T) {
	p := prompts(t)
	for tier := Lowest; tier <= Highest; tier++ {
		c := Contract{Owner: "ada\x1b[31m", Channel: "cli\n# Heading", Tier: tier, SelfEdit: tier == 4,
			Repos: []RepoBinding{{"/r\x07", 0}}}
		text, err := c.Text(p)
		if err != nil {
			t.Fatal(err)
		}
		if redact.Clean(text) != text || strings.Contains(text, "\n# Heading") {
			t.Errorf("it is not clean:\n%s", text)
		}
		may, mayNot, found := strings.Cut(text, "It may not:")
		if !found {
			t.Fatal(text)
		}
		for _, r := range Table() {
			allowed := c.Check(r.Action, "") == nil
			if strings.Contains(may, "\n  "+string(r.Action)+" ") != allowed ||
				strings.Contains(mayNot, "\n  "+string(r.Action)+" ") == allowed {
				t.Errorf("tier %d: %s is in the wrong list:\n%s", tier, r.Action, text)
			}
		}
		for _, g := range Gates() {
			if strings.Count(text, "  "+string(g.Gate)+" ") != 1 {
				t.Errorf("%s does not occur exactly once:\n%s", g.Gate, text)
			}
		}
	}
	if text, err := (Contract{}).Text(p); err != nil || !strings.Contains(text, "Who answers for this runplan?") {
		t.Errorf("%s %v", text, err)
	}
	if len(Titles()) != int(Highest-Lowest)+1 {
		t.Error("not each tier has a title")
	}
}

func TestEnqueueAcknowledgesItem(t *testing.T) {
	b, err := store.OpenInbox(t.Context(), filepath.Join(t.TempDir(), "inbox.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	p := prompts(t)
	at := time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)
	for _, kind := range []string{Ask, Note, Critical} {
		body := "a\x1b[2J\n# b {{kind}} " + kind
		id, ack, err := Enqueue(t.Context(), b, p, Said{kind, body, "cli", "/r", at})
		if err != nil || !strings.HasPrefix(ack, kind+" "+string('0'+rune(id))+" is in the inbox. ") ||
			strings.Contains(ack, "{{") {
			t.Errorf("%q %v", ack, err)
		}
		got, err := b.Item(t.Context(), id)
		want := store.InboxItem{ID: id, Kind: kind, Body: body, Channel: "cli", Repo: "/r", At: at, Acknowledged: at,
			Status: "pending"}
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Error(d, err)
		}
	}
	for name, s := range map[string]Said{
		"nothing":        {Ask, " \n\t", "cli", "", at},
		"too much":       {Ask, strings.Repeat("x", maxBody+1), "cli", "", at},
		"a kind of none": {"shout", "x", "cli", "", at},
	} {
		if _, ack, err := Enqueue(t.Context(), b, p, s); err == nil || ack != "" {
			t.Errorf("%s: %q", name, ack)
		}
	}
	if all, err := b.All(t.Context()); len(all) != 3 || err != nil {
		t.Errorf("%d items, %v", len(all), err)
	}
	if _, _, err := Enqueue(t.Context(), b, p, Said{Note, strings.Repeat("x", maxBody), "cli", "", at}); err != nil {
		t.Error(err)
	}
}

func TestStandUpKeepsForeignTextInline(t *testing.T) {
	at := time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)
	s := Standup{
		Repository: "shop", From: at.Add(-24 * time.Hour), To: at, Done: []string{"plan.md: done"},
		Stuck: []string{"x\n\n# All is well\x1b[8m"},
		Spent: "$1.00", Inbox: []string{"ask 1: {{spent}}"}, Trust: "tier 2 of 5",
	}
	got, err := s.Render(prompts(t))
	if err != nil {
		t.Fatal(err)
	}
	want := `# Stand-up of shop, 2026-05-03 09:00 UTC to 2026-05-04 09:00 UTC

## Done

- plan.md: done

## In progress

(none)

## Stuck

- x # All is well

## Spent

$1.00

## Waiting for you

- ask 1: {{spent}}

Trust: tier 2 of 5
`
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	own := prompt.Layer{Dir: "own", FS: fstest.MapFS{"standup.md": {Data: []byte("{{spent}} on {{repository}}")}}}
	if got, err := s.Render(prompts(t, own)); got != "$1.00 on shop" || err != nil {
		t.Errorf("%q %v", got, err)
	}
}

func TestIdentityDocumentOrder(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	docs, err := LoadIdentity("dir", fstest.MapFS{"PROJECT_MAP.md": file("\n# Map\n\n"), "OTHER.md": file("x")})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range docs {
		names = append(names, d.Name+" "+d.Source)
	}
	if d := cmp.Diff([]string{"RUNPLAN.md built-in", "ARCHITECTURE.md built-in", "PROJECT_MAP.md " +
		filepath.Join("dir", "PROJECT_MAP.md")}, names); d != "" {
		t.Error(d)
	}
	text := IdentityText(docs)
	if !strings.HasPrefix(text, "# Who this is\n") || !strings.HasSuffix(text, "\n\n# Map\n") ||
		strings.Contains(text, "\n\n\n") {
		t.Errorf("%q", text)
	}
	docs, err = LoadIdentity("dir", fstest.MapFS{"PROJECT_MAP.md": file("m"), "RUNPLAN.md": file("me")})
	if err != nil || docs[0].Text != "me\n" {
		t.Errorf("%+v %v", docs, err)
	}
	for name, tt := range map[string]struct {
		fs   fstest.MapFS
		want string
	}{
		"missing":   {nil, "PROJECT_MAP.md is missing: write it, with the structure of this project: "},
		"empty":     {fstest.MapFS{"PROJECT_MAP.md": file(" \n")}, "PROJECT_MAP.md is empty"},
		"not UTF-8": {fstest.MapFS{"PROJECT_MAP.md": file("\xff")}, "not UTF-8"},
		"too long":  {fstest.MapFS{"PROJECT_MAP.md": file(strings.Repeat("x", maxDocument+1))}, "shorten it"},
		"an empty one in the place of a good one": {fstest.MapFS{"PROJECT_MAP.md": file("m"), "RUNPLAN.md": file("")},
			"RUNPLAN.md is empty"},
		"two at once": {fstest.MapFS{"ARCHITECTURE.md": file("")},
			"ARCHITECTURE.md is empty, or not UTF-8: write how it is built into it\n" + filepath.Join("dir", "PROJECT_MAP.md") +
				" is missing"},
	} {
		if docs, err := LoadIdentity("dir", tt.fs); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %+v %v", name, docs, err)
		}
	}
}

// docs/trust.md contains the tables that the code uses to decide.
func TestDocsContainTrustTables(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "docs", "trust.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for _, r := range Table() {
		what := r.What
		if r.OptIn {
			what += " (opt-in)"
		}
		if row := fmt.Sprintf("\n| %d | `%s` | %s |\n", r.Tier, r.Action, what); !strings.Contains(text, row) {
			t.Errorf("docs/trust.md has no row%s", row)
		}
	}
	for _, g := range Gates() {
		if row := fmt.Sprintf("\n| `%s` | %s |\n", g.Gate, g.What); !strings.Contains(text, row) {
			t.Errorf("docs/trust.md has no row%s", row)
		}
	}
	for section, rows := range map[string]int{"The tiers": len(Table()), "Never automatic": len(Gates())} {
		_, behind, _ := strings.Cut(text, "\n## "+section+"\n")
		table, _, _ := strings.Cut(behind, "\n## ")
		if n := strings.Count(table, "\n| ") - 1; n != rows { // without the header
			t.Errorf("docs/trust.md has %d rows below %s, and there are %d", n, section, rows)
		}
	}
}
