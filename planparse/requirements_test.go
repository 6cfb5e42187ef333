package planparse

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each dialect has its own notation for requirements; each requirement is read with its id, line and wording.
func TestRequirements(t *testing.T) {
	for name, c := range map[string]struct {
		src  string
		want []string
	}{
		"spec-kit: stories, functional requirements and success criteria": {
			in("# Feature", "### User Story 1 - Log in (Priority: P1)", "As a user", "1. **Given** x",
				"### User Story 2 — Log out", "text", "## Requirements",
				"- **FR-001**: System MUST hash", "  passwords", "- **FR-002**: System MUST log", "## Success Criteria",
				"- **SC-001**: fast"),
			[]string{
				"2 story US1 (Log in (Priority: P1)): ### User Story 1 - Log in (Priority: P1)|As a user|1. **Given** x",
				"5 story US2 (Log out): ### User Story 2 — Log out|text",
				"8 id FR-001 (System MUST hash): - **FR-001**: System MUST hash|passwords",
				"10 id FR-002 (System MUST log): - **FR-002**: System MUST log",
				"12 id SC-001 (fast): - **SC-001**: fast",
			},
		},
		"kiro: requirements with numbered criteria": {
			in("### Requirement 1: Monitoring", "**User Story:** as an admin", "#### Acceptance Criteria", "1. WHEN a THEN b",
				"2. WHEN c", "   THEN d", "### Requirement 2",
				"2.1 WHEN e THEN f", "", "2.2. WHEN g", "", "3 days later", "## Notes", "9. not a criterion"),
			[]string{
				"1 requirement 1 (Monitoring): ### Requirement 1: Monitoring|**User Story:** as an admin|#### Acceptance " +
					"Criteria|1. WHEN a THEN b|2. WHEN c|THEN d",
				"4 criterion 1.1 of 1 (WHEN a THEN b): 1. WHEN a THEN b", "5 criterion 1.2 of 1 (WHEN c): 2. WHEN c|THEN d",
				"7 requirement 2 (): ### Requirement 2|2.1 WHEN e THEN f|2.2. WHEN g|3 days later",
				"8 criterion 2.1 of 2 (WHEN e THEN f): 2.1 WHEN e THEN f", "10 criterion 2.2 of 2 (WHEN g): 2.2. WHEN g",
			},
		},
		"openspec: requirements with scenarios, but for those that are removed": {
			in("## ADDED Requirements", "### Requirement: User can log in", "It SHALL", "#### Scenario: Wrong password",
				"- **WHEN** x", "## REMOVED Requirements",
				"### Requirement: Old way", "#### Scenario: gone", "## MODIFIED Requirements", "### Requirement: New way",
				"#### Scenario: b"),
			[]string{
				"2 requirement User can log in (User can log in): ### Requirement: User can log in|It SHALL|#### Scenario: Wrong " +
					"password|- **WHEN** x",
				"4 scenario User can log in / Wrong password of User can log in (Wrong password): #### Scenario: Wrong " +
					"password|- **WHEN** x",
				"10 requirement New way (New way): ### Requirement: New way|#### Scenario: b",
				"11 scenario New way / b of New way (b): #### Scenario: b",
			},
		},
		"ids in headings, items, paragraphs, tables and boxes": {
			in("## REQ-1 Heading", "text", "- `REQ-2` in code", "", "REQ-3: a line", "goes on", "REQ-4: the next", "",
				"| ID | Promise |", "|---|---|", "| RUN-01, RUN-02 | two in a row |",
				"- [x] NFR-SEC-01 – boxed", "1. [REQ-5] brackets"),
			[]string{
				"1 id REQ-1 (Heading): ## REQ-1 Heading|text|- `REQ-2` in code|REQ-3: a line|goes on|REQ-4: the next|" +
					"| ID | Promise ||" + "|---|---||" +
					"| RUN-01, RUN-02 | two in a row ||- [ ] NFR-SEC-01 – boxed|1. [REQ-5] brackets",
				"3 id REQ-2 (in code): - `REQ-2` in code", "5 id REQ-3 (a line): REQ-3: a line|goes on",
				"7 id REQ-4 (the next): REQ-4: the next",
				"11 id RUN-01 (two in a row): | RUN-01, RUN-02 | two in a row |",
				"11 id RUN-02 (two in a row): | RUN-01, RUN-02 | two in a row |",
				"12 id NFR-SEC-01 (boxed): - [ ] NFR-SEC-01 – boxed", "13 id REQ-5 (brackets): 1. [REQ-5] brackets",
			},
		},
		"no definition: sentences, standards, fences, comments, and the second time": {
			in("REQ-7 is meant here", "- UTF-8: an encoding", "- **REQ-8**: first", "- **REQ-8**: second", "'''",
				"REQ-9: fenced", "'''", "<!--", "REQ-10: hidden", "-->"),
			[]string{"3 id REQ-8 (first): - **REQ-8**: first"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, q := range Requirements("spec.md", []byte(c.src)) {
				of := ""
				if q.Parent != "" {
					of = " of " + q.Parent
				}
				got = append(got, fmt.Sprintf("%d %s %s%s (%s): %s", q.Line, q.Kind, q.ID, of, q.Title,
					strings.ReplaceAll(q.Text, "\n", "|")))
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// Tasks refer to requirements by id, story, number or title, depending on the dialect.
func TestMentions(t *testing.T) {
	for name, c := range map[string]struct {
		plan, spec string
		want       []string
	}{
		"ids whose prefix is known": {
			in("## Batch 1: REQ-1 and UTF-8", "### Task 1: a", "Covers REQ-2, XY-9 and FR-003.", "'''", "REQ-1", "'''",
				"### Task 2: b", "see docs/REQ-1.md, REQ-1abc and AREQ-1"),
			in("- **REQ-1**: a", "- **REQ-2**: b"), []string{"1 REQ-1 true", "1.1 REQ-2 true", "1.1 FR-003 false"},
		},
		"stories of spec-kit": {
			in("## Phase 1: User Story 2 - x", "- [ ] T001 [P] [US1] a", "- [ ] T002 b"), in("### User Story 1 - a"),
			[]string{"1 US2 false", "1.T001 US1 true"},
		},
		"numbers of Kiro, with a range": {
			in("- [ ] 1. a", "  - [ ] 1.1 b", "    - _Requirements: 1.1, 2.1-2.3_", "  - [ ] 1.2 c for Requirement 3",
				"    - 5.5 is no requirement"),
			in("### Requirement 1", "1. x"),
			[]string{"1.1 1.1 true", "1.1 2.1 false", "1.1 2.2 false", "1.1 2.3 false", "1.1 3 false"},
		},
		"titles of OpenSpec": {
			in("## 1. Log in", "- [ ] 1.1 Cover wrong  PASSWORD, as **User can log-in** says", "- [ ] 1.2 Login"),
			in("### Requirement: User can log in", "#### Scenario: Wrong password", "### Requirement: Login"),
			[]string{"1.1.1 User can log in true", "1.1.1 User can log in / Wrong password true"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Parse("plan.md", []byte(c.plan))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range p.Mentions([]byte(c.plan), Requirements("spec.md", []byte(c.spec))) {
				at := p.Batches[m.Batch].Number
				if m.Task >= 0 {
					at += "." + p.Batches[m.Batch].Tasks[m.Task].Number
				}
				got = append(got, fmt.Sprint(at, " ", m.ID, " ", m.Known))
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// Only definitions outside of batches are requirements of the plan itself.
func TestPlanRequirements(t *testing.T) {
	src := in("# p", "- **REQ-1**: above", "## Batch 1: a", "- REQ-2: in a batch")
	p, err := Parse("plan.md", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	got := p.Requirements("plan.md", []byte(src))
	if len(got) != 1 || got[0].ID != "REQ-1" {
		t.Errorf("got %v", got)
	}
}

// The wording of a requirement ignores ticks, blank lines and white space.
func TestWordingIgnoresFormatting(t *testing.T) {
	a, b := "x\n- [x] do  it\n\n  - then\t that\nend", "x\r\n- [ ] do it\r\n  - then that  \r\nend"
	if x, y := WordingOf([]byte(a))(2, 4), WordingOf([]byte(b))(2, 3); x != y || x != "- [ ] do it\n- then that" {
		t.Errorf("%q, %q", x, y)
	}
	if got := WordingOf(nil)(1, 9); got != "" {
		t.Errorf("nothing has the wording %q", got)
	}
}

func FuzzRequirements(f *testing.F) {
	for _, src := range []string{
		in("### User Story 1 - a", "- **FR-001**: b [US1]", "## Batch 1: FR-001"),
		in("### Requirement 1: a", "1. b", "2.2 c", "- [ ] 1. x", "  - _Requirements: 1.1-1.9_"),
		in("## ADDED Requirements", "### Requirement: two words", "#### Scenario: b c", "## 1. two words", "- [ ] 1.1 b c"),
		"| A-1, B-2 | x |\r\n`C-3`\r\n\xff- [REQ-1]\x00", "\r- **A-1**:\rb",
	} {
		f.Add([]byte(src))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		lines := len(lineOffsets([]byte(strings.ReplaceAll(string(src), "\r", "\n"))))
		found := Requirements("spec.md", src)
		seen := map[string]bool{}
		for _, q := range found {
			if q.ID == "" || seen[q.ID] || q.Line < 1 || q.Line > lines || q.Text == "" || strings.ContainsRune(q.ID, '\n') {
				t.Errorf("%+v of %q", q, src)
			}
			if q.Parent != "" && !slices.ContainsFunc(found, func(p Requirement) bool { return p.ID == q.Parent }) {
				t.Errorf("%q has a missing parent", q.ID)
			}
			seen[q.ID] = true
		}
		p, err := Parse("plan.md", src)
		if err != nil {
			return
		}
		for _, m := range p.Mentions(src, found) {
			if m.ID == "" || m.Known != seen[m.ID] || m.Batch < 0 || m.Batch >= len(p.Batches) ||
				m.Task >= len(p.Batches[m.Batch].Tasks) {
				t.Errorf("%+v of %q", m, src)
			}
		}
	})
}
