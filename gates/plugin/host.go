package plugin

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/runplan/runplan/gates"
)

// Plugin is a gate that another program serves. It is safe for concurrent use. Calls run one at a time, because
// runplan ends a plugin that does not answer, which would end another call too.
type Plugin struct {
	cfg     Config
	info    gates.Info
	version string
	log     *capture

	life  context.Context // ends with Close
	close context.CancelCauseFunc
	turn  chan struct{} // held during a call to the plugin
	once  sync.Once
	now   *session // under turn
}

// ErrClosed reports a call to a plugin after [Plugin.Close], or one that Close interrupted.
var ErrClosed = errors.New("the plugin has been closed")

// ErrExited reports that the program of a plugin ended unexpectedly.
var ErrExited = errors.New("the plugin ended by itself")

// Open starts a plugin and asks for its description. The error is a [gates.GateError]: the gate could not run.
func Open(ctx context.Context, c Config) (*Plugin, error) {
	c, err := c.checked()
	if err != nil {
		return nil, &gates.GateError{Gate: c.Name, Err: err}
	}
	p := &Plugin{cfg: c, turn: make(chan struct{}, 1)}
	p.log = &capture{hide: c.Redact, whole: logFile{path: c.LogFile, keep: true}}
	// runplan:ignore lost-context a plugin lives until it is closed, whichever call started it
	p.life, p.close = context.WithCancelCause(context.Background())
	if p.now, err = start(ctx, c, p.log); err != nil {
		p.log.close()
		return nil, &gates.GateError{Gate: c.Name, Err: err, Report: gates.Report{Gate: c.Name, Command: c.commandLine()}}
	}
	p.info, p.version = p.now.info, p.now.version
	p.info.Name, p.info.Command = c.Name, c.commandLine()
	if c.Blocking != nil {
		p.info.Blocking = *c.Blocking
	}
	return p, nil
}

// Info implements [gates.Gate]. The name is the configuration's.
func (p *Plugin) Info() gates.Info { return p.info }

// Version returns the version that the plugin reports, "" if none.
func (p *Plugin) Version() string { return p.version }

// Digest returns the hex SHA-256 of the plugin's file, command line, settings and version. Together with the tree they
// determine the plugin's answers. It does not cover other files that the plugin reads.
func (p *Plugin) Digest() (string, error) { return p.cfg.digest(p.version) }

// Check implements [gates.Gate]. If the plugin has ended since the last call, Check restarts it once, and the report
// says so. If it ends during the call, Check returns an error, and the next call restarts it.
func (p *Plugin) Check(ctx context.Context, s gates.Subject) (gates.Report, error) {
	rep := gates.Report{Gate: p.info.Name, Command: p.info.Command}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(p.life, func() { cancel(context.Cause(p.life)) })()
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
	}
	if p.life.Err() != nil {
		return rep, context.Cause(p.life)
	}
	if ctx.Err() != nil {
		return rep, fmt.Errorf("stopped before it began: %w", context.Cause(ctx))
	}
	var err error
	if s.Dir, err = tree(s.Dir); err != nil {
		return rep, err
	}

	if s.Redact == nil {
		s.Redact = p.cfg.Redact
	}
	p.log.open(gates.LogName(s.LogDir, p.info.Name), s.Redact)
	began := time.Now()
	got, err := p.ask(ctx, s)
	if s.LogDir != "" && p.now != nil {
		p.now.proc.settle()
	}
	got.Gate, got.Command, got.Duration = rep.Gate, rep.Command, time.Since(began)
	var logErr error
	if got.Log, got.LogHash, logErr = p.log.done(); logErr != nil {
		note(&got, "%v", logErr)
	}
	return got, err
}

// ask makes the call. If the plugin does not run, ask starts it first.
func (p *Plugin) ask(ctx context.Context, s gates.Subject) (gates.Report, error) {
	died := ""
	if p.now != nil && p.now.proc.dead() {
		died = "the plugin had ended since the last call (" + p.now.proc.how() + ")"
		p.drop()
	}
	if p.now == nil {
		var err error
		if p.now, err = start(ctx, p.cfg, p.log); err != nil {
			if died != "" {
				err = fmt.Errorf("%s: %w", died, err)
			}
			return gates.Report{}, err
		}
	}
	rep, err := p.now.check(ctx, s, p.limit(s))
	if !p.now.healthy {
		p.drop()
	}
	if err == nil && died != "" {
		note(&rep, "%s and was started again", died)
	}
	return rep, err
}

func (p *Plugin) drop() {
	p.now.end(0)
	p.now = nil
}

func (p *Plugin) limit(s gates.Subject) time.Duration {
	switch {
	case p.cfg.CallTimeout > 0:
		return p.cfg.CallTimeout
	case s.Timeout > 0:
		return s.Timeout
	}
	return gates.DefaultTimeout
}

// Close ends the plugin and all its processes. A call in progress gets an error.
func (p *Plugin) Close() error {
	p.once.Do(func() {
		p.close(ErrClosed)
		p.turn <- struct{}{}
		defer func() { <-p.turn }()
		if p.now != nil {
			p.now.end(graceful)
			p.now = nil
		}
		p.log.close()
	})
	return nil
}
