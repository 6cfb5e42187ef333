package ui

import (
	"cmp"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

// LiveOptions holds the terminal, environment and callbacks of a [Live].
type LiveOptions struct {
	In        *os.File         // for keys; no terminal, or nil, turns keys off
	Out       *os.File         // the terminal to draw on, usually standard error
	Env       []string         // environment of the process, as of [os.Environ]
	Style     Style            // see [StyleFor]
	Now       func() time.Time // the clock
	Interrupt func()           // called for each ^C, in a separate goroutine
}

// Live shows a [Board] at the bottom of the terminal, below the lines printed before. It draws asynchronously: Update
// and Println never wait for a slow terminal.
//
// It does not handle signals. While it reads keys, the terminal reports ^C as a key instead of a signal, and each one
// calls Interrupt; ^Z suspends the program as usual.
type Live struct {
	o       LiveOptions
	program *tea.Program
	before  *term.State   // of In
	ended   chan struct{} // the program has ended, by Close or by a failure
	pumped  chan struct{} // the last line is written
	once    sync.Once

	mu    sync.Mutex
	board Board
	queue []string      // lines that are not written yet
	more  chan struct{} // signals that queue may have lines
	final bool          // closing: the board is removed, and lines wait in the queue
	over  bool          // closed: lines go directly to the terminal
	tall  int           // lines of the frame on the screen
}

const (
	tick     = 100 * time.Millisecond
	patience = 2 * time.Second // time limit with a terminal that does not accept output
)

// NewLive starts a live board. The caller must close it, also after a panic:
//
//	live := ui.NewLive(o)
//	defer live.Close()
func NewLive(o LiveOptions) *Live {
	l := &Live{o: o, ended: make(chan struct{}), pumped: make(chan struct{}), more: make(chan struct{}, 1)}
	w, h := Size(o.Out)
	opts := []tea.ProgramOption{
		tea.WithOutput(o.Out), tea.WithWindowSize(w, h), tea.WithFPS(20), tea.WithoutSignalHandler(),
	}
	if IsTerminal(o.In) {
		l.before, _ = term.GetState(int(o.In.Fd()))
		opts = append(opts, tea.WithInput(o.In), tea.WithEnvironment(o.Env))
	} else {
		opts = append(opts, tea.WithInput(nil), tea.WithEnvironment(mute(o.Env)))
	}
	l.program = tea.NewProgram(&model{live: l, width: w, height: h}, opts...)
	go func() {
		defer close(l.ended)
		// An error means that this terminal cannot be drawn on. The lines are printed anyway, and the watched work
		// must continue.
		_, _ = l.program.Run()
	}()
	go l.pump()
	return l
}

// mute returns an environment in which bubbletea does not query the terminal: without input, the answers would appear
// as typed text in the user's shell.
func mute(env []string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, value, _ := strings.Cut(kv, "=")
		return name == "TERM_PROGRAM" || name == "WT_SESSION" || name == "TERM" && value != "dumb"
	})
	return append(env, "TERM=xterm-256color", "SSH_TTY=-")
}

// Update shows b from now on.
func (l *Live) Update(b Board) {
	b.Rows, b.Footer = slices.Clone(b.Rows), slices.Clone(b.Footer)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.board = b
}

// Println writes a line above the board. It may contain colours of a [Style]; external text must be cleaned first.
func (l *Live) Println(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		l.write(line + "\n")
		return
	}
	l.queue = append(l.queue, strings.Split(line, "\n")...)
	if l.final {
		return
	}
	select {
	case l.more <- struct{}{}:
	default:
	}
}

// pump passes the lines to the program in their order.
func (l *Live) pump() {
	defer close(l.pumped)
	for range l.more {
		l.mu.Lock()
		lines := l.queue
		l.queue = nil
		l.mu.Unlock()
		for _, line := range lines {
			select {
			case <-l.ended:
				l.write(line + "\n")
			default:
				l.insert(line)
			}
		}
	}
}

// insert puts a line above the board.
func (l *Live) insert(line string) {
	w, _ := Size(l.o.Out)
	for _, part := range wrapped(line, w) {
		l.program.Send(tea.Println(part)())
	}
}

// wrapped breaks a line between words if whole words fit. bubbletea cannot do it: it miscounts the rows of lines that
// are a multiple of the width, and drops empty ones.
func wrapped(line string, width int) []string {
	parts := strings.Split(ansi.Wrap(line, width, ""), "\n")
	for i, p := range parts {
		parts[i] = cmp.Or(p, " ")
	}
	return parts
}

// Close draws the board for the last time, in full length, and restores the terminal. It may be called again, and
// returns within seconds even if the terminal hangs.
func (l *Live) Close() {
	l.once.Do(func() {
		l.mu.Lock()
		l.final = true
		close(l.more) // the pump writes the queued lines, and ends
		l.mu.Unlock()
		within(l.pumped, patience)
		go l.program.Quit()
		ended := within(l.ended, patience)
		if !ended {
			go l.program.Kill()
			ended = within(l.ended, patience/2)
		}
		if l.before != nil {
			_ = term.Restore(int(l.o.In.Fd()), l.before)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.over = true
		if !ended {
			return // any other write would block forever
		}
		if l.tall > 1 && IsTerminal(l.o.Out) {
			l.write(ansi.CursorUp(l.tall-1) + "\r" + ansi.EraseScreenBelow)
		}
		if len(l.queue) > 0 {
			l.write(strings.Join(l.queue, "\n") + "\n")
		}
		if !l.board.empty() {
			w, _ := Size(l.o.Out)
			f := frame{style: l.o.Style, now: l.o.Now(), width: w}
			l.write(strings.Join(l.board.lines(f), "\n") + "\n")
		}
	})
}

func within(done <-chan struct{}, d time.Duration) bool {
	select {
	case <-done:
		return true
	case <-time.After(d):
		return false
	}
}

func (l *Live) write(s string) { _, _ = io.WriteString(l.o.Out, s) }

// model is the side of [Live] that bubbletea calls.
type model struct {
	live          *Live
	width, height int
	tick          int
}

type tickMsg struct{}

func (m *model) Init() tea.Cmd { return next() }

func next() tea.Cmd { return tea.Tick(tick, func(time.Time) tea.Msg { return tickMsg{} }) }

func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tickMsg:
		m.tick++
		return m, next()
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		m.live.mu.Lock()
		m.live.tall = 0
		m.live.mu.Unlock()
	case tea.KeyPressMsg:
		switch msg.String() {
		case "ctrl+c":
			if m.live.o.Interrupt != nil {
				go m.live.o.Interrupt()
			}
		case "ctrl+z":
			return m, tea.Suspend
		}
	}
	return m, nil
}

func (m *model) View() tea.View {
	m.live.mu.Lock()
	defer m.live.mu.Unlock()
	v := tea.NewView("")
	v.DisableBracketedPasteMode = true
	var lines []string
	// Close writes the last frame itself, in full length.
	if b := m.live.board; !m.live.final && !b.empty() {
		// Keep rows free below the board: bubbletea needs them to insert lines above it.
		height := m.height - 2
		if m.height > 16 {
			height = m.height - 5
		}
		f := frame{style: m.live.o.Style, now: m.live.o.Now(), width: m.width, height: max(1, height), tick: m.tick}
		lines = append(b.lines(f), "") // where bubbletea leaves the cursor; it erases this line at the end
	}
	// Bubbletea leaves remains of a shrinking frame, so the frame never shrinks.
	for len(lines) < m.live.tall {
		lines = append(lines, "")
	}
	m.live.tall = len(lines)
	v.SetContent(strings.Join(lines, "\n"))
	return v
}
