package page

import (
	"fmt"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/routing"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/ledger"
	"github.com/runplan/runplan/runner/report"
)

// face is a displayed state: a word, and the tone that selects its color and sign.
type face struct{ Word, Tone string }

func faceOfRun(s runner.Summary) face {
	word, tone := report.OutcomeOf(s)
	return face{word, string(tone)}
}

// reasonOf returns the reason for the state of a run, with the end of a pause.
func (o Options) reasonOf(s runner.Summary) string {
	if s.Status != runner.RunPaused || s.Until.IsZero() {
		return s.Reason
	}
	return strings.TrimSuffix("until "+s.Until.In(o.Zone).Format("2006-01-02 15:04")+": "+s.Reason, ": ")
}

// toneOf returns the tone of a row. An idle row is not shown as active.
func toneOf(r ui.Row) ui.Tone {
	if r.Still && r.Tone == ui.Busy {
		return ui.Idle
	}
	return r.Tone
}

func modeOf(s runner.Summary) string {
	if s.Mode == string(routing.Team) {
		return fmt.Sprintf("team of %d", s.Workers)
	}
	return s.Mode
}

// costText formats the known and the unknown parts of a sum.
func costText(s ledger.Sum) string {
	var parts []string
	if s.BilledUSD != nil {
		parts = append(parts, phrase.Money(*s.BilledUSD))
	}
	if s.PlanUSD != nil {
		parts = append(parts, phrase.Money(*s.PlanUSD)+" paid by a subscription")
	}
	if s.Unknown > 0 && s.Unknown == s.Attempts {
		return "unknown"
	}
	if s.Unknown > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d unknown", s.Unknown, s.Attempts))
	}
	switch {
	case s.Attempts == 0:
		return none
	case len(parts) == 0:
		return "nothing"
	}
	return strings.Join(parts, " + ")
}

// none is the text for an empty value, as opposed to an unknown one.
const none = "–"

// tokens writes a number of tokens so that it can be compared at a glance.
func tokens(n int64) string {
	switch {
	case n >= 10_000_000:
		return fmt.Sprintf("%.0f M", float64(n)/1e6)
	case n >= 1_000_000:
		return fmt.Sprintf("%.1f M", float64(n)/1e6)
	case n >= 10_000:
		return fmt.Sprintf("%.0f k", float64(n)/1e3)
	case n >= 1000:
		return fmt.Sprintf("%.1f k", float64(n)/1e3)
	}
	return fmt.Sprint(n)
}

func millis(ms int64) string { return ui.Duration(time.Duration(ms) * time.Millisecond) }

func short(hash string) string { return hash[:min(len(hash), 8)] }

func nodeID(i int) string { return fmt.Sprintf("n-%d", i+1) }
func rowID(i int) string  { return fmt.Sprintf("b-%d", i+1) }
