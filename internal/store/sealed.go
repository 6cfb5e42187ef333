package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/runplan/runplan/internal/seal"
)

// ErrForged reports that runplan did not write the journal in its present form.
var ErrForged = errors.New("the journal contains rows that this runplan did not write, or lacks rows that it wrote")

// Seal makes the journal sign new events and check existing ones before it adds to them. A nil seal signs and checks
// nothing.
func (j *Journal) Seal(s *seal.Seal) {
	j.seal = s
	j.heads = map[string]*chainHead{}
}

// Signs returns the seal that signs new events; nil for none.
func (j *Journal) Signs() *seal.Seal { return j.seal }

// chainHead is the last link of a run's chain, as known to this process.
type chainHead struct {
	seal.Chain
	unsealed bool // an older program began the run, so none of it is signed
	file     *seal.HeadFile
}

// root returns the link before the first event: the parameters of the run.
func root(s *seal.Seal, r Run) string {
	return s.Sum(seal.Run, r.ID, r.Slug, r.Plan, string(r.PlanText), stamp(r.Started))
}

// fields of an event that its seal covers.
func (r Record) fields(prev string) []string {
	return []string{prev, r.Run, strconv.Itoa(r.Seq), stamp(r.At), r.Kind, r.Batch, string(r.Body)}
}

// link signs records that follow the head of their run.
func (j *Journal) link(ctx context.Context, tx *sql.Tx, records []Record) (*chainHead, error) {
	if j.seal == nil || len(records) == 0 {
		return nil, nil
	}
	run := records[0].Run
	head, err := j.head(ctx, tx, run)
	if err != nil || head.unsealed {
		return head, err
	}
	next := &chainHead{Chain: head.Chain, file: head.file}
	for i, r := range records {
		if r.Run != run {
			return nil, fmt.Errorf("one write must not contain records of two runs: %s and %s", run, r.Run)
		}
		records[i].Seal = j.seal.Sum(seal.Event, r.fields(next.Sum)...)
		next.Chain = seal.Chain{Seq: r.Seq, Sum: records[i].Seal}
	}
	return next, nil
}

// head returns the last link of a run's chain. It checks that the last link of this process is still the last one.
func (j *Journal) head(ctx context.Context, tx *sql.Tx, run string) (*chainHead, error) {
	var last seal.Chain
	err := tx.QueryRowContext(ctx, "SELECT seq, seal FROM events WHERE run = ? ORDER BY seq DESC LIMIT 1",
		run).Scan(&last.Seq, &last.Sum)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	known := j.heads[run]
	switch {
	case known == nil:
		c, err := verify(ctx, tx, j.seal, run)
		if err != nil {
			return nil, err
		}
		if c.Bad != nil {
			return nil, c.Bad
		}
		return &chainHead{Chain: c.Last, unsealed: !c.Sealed && c.Rows > 0}, nil
	case known.unsealed:
		return known, nil
	case known.Chain != last:
		return nil, fmt.Errorf("%w: run %s ends with event %d, and event %d was written last", ErrForged, run, last.Seq,
			known.Seq)
	}
	return known, nil
}

// written records the head of a run, once it is in the file.
func (j *Journal) written(run string, head *chainHead) {
	if head == nil {
		return
	}
	if !head.unsealed {
		if head.file == nil {
			head.file = j.seal.OpenHead(run)
		}
		head.file.Set(head.Chain)
	}
	j.heads[run] = head
}

// Check is the result of verifying the seals of a run.
type Check struct {
	Rows    int        // number of events of the run in the journal
	Sealed  bool       // its events carry seals; those of older programs carry none
	Last    seal.Chain // the last event that verifies together with all earlier ones
	Bad     *BadRow    // the first event that does not verify; nil if all do
	Missing int        // number of missing events at the end
}

// BadRow is the first event of a run that does not verify. It and all later ones have no effect.
type BadRow struct {
	Run string
	Seq int
	Why string
}

func (e *BadRow) Error() string {
	return fmt.Sprintf("journal: event %d of run %s %s", e.Seq, e.Run, e.Why)
}

// Unwrap makes it an [ErrForged].
func (e *BadRow) Unwrap() error { return ErrForged }

// Verify checks the seals of a run from its first event on.
func (j *Journal) Verify(ctx context.Context, run string) (Check, error) {
	if j.seal == nil {
		return Check{}, errors.New("journal: it was opened without a key, so nothing can be verified")
	}
	c, err := verify(ctx, j.db, j.seal, run)
	return c, failed(err, "journal: verify run %s", run)
}

func verify(ctx context.Context, q querier, s *seal.Seal, run string) (Check, error) {
	var c Check
	began := Run{ID: run}
	var at string
	err := q.QueryRowContext(ctx, "SELECT slug, plan, plan_text, started_at FROM runs WHERE run = ?",
		run).Scan(&began.Slug, &began.Plan, &began.PlanText, &at)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return c, err
	}
	began.Started, _ = time.Parse(time.RFC3339Nano, at)
	c.Last.Sum = root(s, began)
	head, headKnown := s.Head(run)
	events := paged(page, func(last *sealedRow) ([]sealedRow, error) {
		if last == nil {
			return eventsFrom(ctx, q, run, 0)
		}
		return eventsFrom(ctx, q, run, last.Seq+1)
	})
	for r, err := range events {
		if err != nil {
			return c, err
		}
		c.Rows++
		c.Sealed = c.Sealed || r.Seal != ""
		if c.Bad == nil {
			c.take(s, r, head, headKnown)
		}
	}
	switch {
	case c.Sealed:
	case headKnown && c.Rows > 0:
		c.Sealed = true // their seals were removed
	default:
		c.Bad = nil // an older program wrote it, or there are no events
	}
	if c.Bad == nil && c.Sealed && headKnown && head.Seq > c.Last.Seq {
		c.Missing = head.Seq - c.Last.Seq
	}
	return c, nil
}

// take checks the next event.
func (c *Check) take(s *seal.Seal, r sealedRow, head seal.Chain, headKnown bool) {
	bad := func(why string) { c.Bad = &BadRow{r.Run, r.Seq, why} }
	switch {
	case r.Seq != c.Last.Seq+1:
		bad(fmt.Sprintf("does not follow event %d: events between them were removed", c.Last.Seq))
	case r.Seal == "":
		bad("carries no seal: another program added it")
	case !s.Check(r.Seal, seal.Event, r.fields(c.Last.Sum)...):
		bad("does not verify: another program added or changed it, or one before it")
	case headKnown && r.Seq == head.Seq && r.Seal != head.Sum:
		bad("is not the last written event: the journal is an older copy that was changed")
	default:
		c.Last = seal.Chain{Seq: r.Seq, Sum: r.Seal}
	}
}

// sealedRow is an event with its unparsed time.
type sealedRow struct {
	Record
	at string
}

// fields uses the time in the row's own text, because an invalid time could not be formatted again.
func (r sealedRow) fields(prev string) []string {
	f := r.Record.fields(prev)
	f[3] = r.at
	return f
}

func eventsFrom(ctx context.Context, q querier, run string, from int) ([]sealedRow, error) {
	return rowsBy(ctx, q, "events", func(rs *sql.Rows, r *sealedRow) error {
		r.Run = run
		return rs.Scan(&r.Seq, &r.at, &r.Kind, &r.Batch, &r.Body, &r.Seal)
	}, "SELECT seq, at, kind, batch, body, seal FROM events WHERE run = ? AND seq >= ? ORDER BY seq LIMIT ?", run, from,
		page)
}

// SetAside moves the events of a run from seq on to a table where they have no effect. It returns their claimed kinds
// with the batch, in order. The table keeps the events.
func (j *Journal) SetAside(ctx context.Context, run string, seq int, why string, now time.Time) (claims []string,
	err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	err = j.tx(ctx, "set aside events of run "+run, func(ctx context.Context, tx *sql.Tx) error {
		var err error
		if claims, err = rows[string](ctx, tx, "events", "SELECT trim(kind || ' ' || batch) FROM events "+
			"WHERE run = ? AND seq >= ? ORDER BY seq", run, seq); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO events_set_aside (run, seq, at, kind, batch, body, seal, why, set_aside_at)
			SELECT run, seq, at, kind, batch, body, seal, ?, ? FROM events WHERE run = ? AND seq >= ?`, why, stamp(now), run, seq); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "DELETE FROM events WHERE run = ? AND seq >= ?", run, seq)
		return err
	})
	delete(j.heads, run)
	return claims, err
}

// VerifyEnd checks only the last event of a run, which is enough to prove that runplan wrote it. Otherwise the error
// wraps [ErrForged]. Runs of older programs pass.
func (j *Journal) VerifyEnd(ctx context.Context, run string) error {
	if j.seal == nil {
		return nil
	}
	var seq, unsealed int
	err := j.db.QueryRowContext(ctx, "SELECT COALESCE(MAX(seq), 0), COALESCE(MAX(seal) = '', 1) FROM events WHERE run = ?",
		run).Scan(&seq, &unsealed)
	if err != nil || seq == 0 {
		return explain(err)
	}
	head, known := j.seal.Head(run)
	if unsealed == 1 && !known {
		return nil
	}
	last, err := eventsFrom(ctx, j.db, run, seq-1)
	if err != nil {
		return err
	}
	if seq == 1 { // the first link follows the parameters of the run
		c, err := j.Verify(ctx, run)
		if err == nil && c.Bad != nil {
			err = c.Bad
		}
		return err
	}
	if len(last) != 2 || known && head.Seq > seq ||
		!j.seal.Check(last[1].Seal, seal.Event, last[1].fields(last[0].Seal)...) {
		return &BadRow{run, seq, "does not verify: another program added or changed it, or one before it"}
	}
	return nil
}
