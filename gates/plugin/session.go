package plugin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/runplan/runplan/gates"
)

// session is one life of a plugin, from start to end.
type session struct {
	cfg     Config
	log     *capture
	proc    *process
	wire    *goplugin.Client
	scratch string
	client  client

	info    gates.Info
	version string
	healthy bool // the last call was answered, possibly with an error; without an answer the plugin is ended
}

const (
	graceful   = 500 * time.Millisecond // time to exit after a request
	lastGasp   = time.Second            // wait for the end of a program after a lost connection
	justBefore = 20 * time.Millisecond
	letGo      = 2 * time.Second // time for go-plugin to drop a plugin that has ended
)

// Error reports that a plugin failed a request.
type Error struct {
	Command string // what was started
	Doing   string // "start", "ask"
	Err     error
	Stderr  string // the end of its output, without control codes and secrets; may be long
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s plugin %s: %v", e.Doing, e.Command, e.Err)
	if e.Stderr == "" {
		return text
	}
	return text + "; the end of its output:\n  " + strings.ReplaceAll(e.Stderr, "\n", "\n  ")
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// start starts a plugin and asks for its description. After an error none of its processes is left.
func start(ctx context.Context, c Config, log *capture) (*session, error) {
	log.begin()
	s := &session{cfg: c, log: log}
	err := s.start(ctx)
	if err != nil {
		s.end(0)
		return nil, &Error{Command: c.commandLine(), Doing: "start", Err: err, Stderr: log.excerpt()}
	}
	return s, nil
}

func (s *session) start(ctx context.Context) error {
	if ctx.Err() != nil {
		return fmt.Errorf("stopped before it began: %w", context.Cause(ctx))
	}
	env := environment(s.cfg.Environ, s.cfg.Env)
	program, args, err := s.cfg.program(env)
	if err != nil {
		return err
	}
	settings, err := settingsJSON(s.cfg.Settings)
	if err != nil {
		return err
	}
	if s.scratch, err = scratch(); err != nil {
		return fmt.Errorf("make a folder for its socket: %w", err)
	}
	s.proc = newProcess(program, args)
	s.proc.dir, s.proc.log, s.proc.reaper = s.cfg.Dir, s.log, s.cfg.Reaper
	s.proc.env = append(env, "TMPDIR="+s.scratch, "TMP="+s.scratch, "TEMP="+s.scratch)

	limited, cancel := context.WithTimeout(ctx, s.cfg.StartTimeout)
	defer cancel()
	// go-plugin uses no context and may wait forever; the end of the process ends all of its waits.
	stop := context.AfterFunc(limited, func() { s.proc.end(0) })
	err = s.greet(limited, settings)
	if !stop() && err == nil {
		err = context.Cause(limited)
	}
	if err != nil {
		return s.why(ctx, limited, err, "before it had described itself", s.cfg.StartTimeout)
	}
	s.healthy = true
	return nil
}

// greet starts the program, connects to it and makes the first call.
func (s *session) greet(ctx context.Context, settings string) error {
	s.wire = goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig:  handshake(),
		VersionedPlugins: map[int]goplugin.PluginSet{ProtocolVersion: {}},
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		SkipHostEnv:      true,
		StartTimeout:     s.cfg.StartTimeout + letGo, // this package sets the limit
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: s.scratch},
		Logger:           hclog.NewNullLogger(),
		SyncStdout:       s.log,
		SyncStderr:       s.log,
		GRPCDialOptions: []grpc.DialOption{grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(s.cfg.MaxAnswer), grpc.MaxCallSendMsgSize(math.MaxInt32))},
		RunnerFunc: func(_ hclog.Logger, spec *exec.Cmd, _ string) (runner.Runner, error) {
			s.proc.env = append(s.proc.env, spec.Env...) // cookie, versions, folder of the socket
			return s.proc, nil
		},
	})
	wire, err := s.wire.Client()
	if err != nil {
		return err
	}
	s.client.conn, s.client.settings, s.client.hide = wire.(*goplugin.GRPCClient).Conn, settings, s.cfg.Redact
	s.info, s.version, err = s.client.info(ctx)
	return err
}

// check makes a call. s.healthy says afterwards whether the plugin can take another one.
func (s *session) check(ctx context.Context, subject gates.Subject, limit time.Duration) (gates.Report, error) {
	s.healthy = false
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	rep, err := s.client.check(limited, subject, limit)
	if err == nil {
		s.healthy = true
		return rep, nil
	}
	err = s.why(ctx, limited, err, "before it had answered", limit)
	if s.healthy {
		s.proc.settle()
	} else {
		s.proc.end(0) // and the log has all of its output
	}
	return gates.Report{}, &Error{Command: s.cfg.commandLine(), Doing: "ask", Err: err, Stderr: s.log.excerpt()}
}

// why finds the cause of an error of go-plugin or gRPC, which report only a lost connection.
func (s *session) why(ctx, limited context.Context, err error, when string, limit time.Duration) error {
	var call *callError
	asked := errors.As(err, &call)
	// The plugin knows its deadline too, and may give up shortly before it is reached here.
	end, _ := limited.Deadline()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("it was stopped: %w", context.Cause(ctx))
	case limited.Err() != nil || time.Until(end) < justBefore:
		return fmt.Errorf("%w %v reached %s; raise the limit, or find the cause in its log", gates.ErrTimeLimit, limit,
			when)
	case s.proc.err != nil:
		return s.proc.err
	case s.proc.greets != nil && s.proc.greets.wrong() != nil:
		return s.proc.greets.wrong()
	case asked && answered(call.err):
		s.healthy = true
		return call
	case s.proc.ended(gasp(err)):
		return fmt.Errorf("%w: %s %s", ErrExited, s.proc.how(), when)
	case asked:
		return s.refused(call)
	}
	return err
}

// gasp returns how long to wait for the plugin to end after err. It is longer if err may mean that the connection was
// lost because the plugin is ending.
func gasp(err error) time.Duration {
	if code := status.Code(err); code == codes.Unavailable || code == codes.Unknown {
		return lastGasp
	}
	return lastGasp / 10
}

// answered reports whether the plugin itself answered with an error.
func answered(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.Canceled, codes.DeadlineExceeded, codes.ResourceExhausted, codes.Unimplemented,
		codes.Internal:
		return false
	}
	return status.Code(err) != codes.Unknown || status.Convert(err).Message() != ""
}

// refused describes failures that come from gRPC and not from the plugin's own code.
func (s *session) refused(call *callError) error {
	switch code := status.Code(call.err); code {
	case codes.ResourceExhausted:
		return fmt.Errorf("its answer is too long (%s); the limit is %s", call.text, size(s.cfg.MaxAnswer))
	case codes.Unimplemented:
		return fmt.Errorf("it does not serve %s of runplan.gate.v1.GateService (%s); serve the whole of gate.proto",
			call.method, call.text)
	case codes.Internal:
		return fmt.Errorf("unreadable answer to %s: %s", call.method, call.text)
	default:
		return fmt.Errorf("no answer to %s: %s: %s", call.method, code, call.text)
	}
}

func size(n int) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}

// end ends the plugin and removes its files. With grace it first asks the plugin to exit.
func (s *session) end(grace time.Duration) {
	if s.proc != nil {
		s.proc.end(grace)
	}
	if s.wire != nil {
		// It sometimes waits forever for a dead connection.
		forgotten := make(chan struct{})
		go func() { s.wire.Kill(); close(forgotten) }()
		select {
		case <-forgotten:
		case <-time.After(letGo):
		}
	}
	if s.scratch != "" {
		_ = os.RemoveAll(s.scratch)
	}
}
