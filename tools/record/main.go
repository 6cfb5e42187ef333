// Program record runs a command in a terminal and records its output as an animated SVG file, for README and docs. tmux
// is the terminal.
//
//	go run ./tools/record -out docs/demo.svg bin/runplan demo --keep=false
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/svg"
)

const (
	columns, rows = 104, 34
	cell, line    = 8.4, 19 // size of a character in pixels
	margin        = 14
	hold          = 9 * time.Second // how long the last frame stays
)

func main() {
	out := flag.String("out", "", "`file` to write")
	every := flag.Duration("every", 350*time.Millisecond, "time between two captures of the terminal")
	flag.Parse()
	frames, err := watch(*every, flag.Args())
	if err == nil {
		err = os.WriteFile(*out, []byte(draw(frames)), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
	info, err := os.Stat(*out)
	if err == nil {
		fmt.Printf("%s: %d frames, %.1f s, %.0f kB\n", *out, len(frames), frames[len(frames)-1].at.Seconds(),
			float64(info.Size())/1e3)
	}
}

// frame holds a screen of the terminal, line by line with escape codes, and the time from which it was shown.
type frame struct {
	at    time.Duration
	lines []string
}

// watch runs a command in tmux until it ends, and returns each different screen.
func watch(every time.Duration, args []string) ([]frame, error) {
	if len(args) == 0 {
		return nil, errors.New("give a command")
	}
	session := fmt.Sprintf("record-%d", os.Getpid())
	tmux := func(args ...string) (string, error) {
		text, err := exec.Command("tmux", append([]string{"-L", session}, args...)...).Output()
		return string(text), err
	}
	// The shell waits at the end, so that the last screen can be taken. Its window is exactly as large as the picture.
	script := `"$@"; echo $? >"$STATUS"; sleep 3600`
	status, err := os.CreateTemp("", "record-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(status.Name())
	status.Close()
	start := append([]string{"new-session", "-d", "-x", fmt.Sprint(columns), "-y", fmt.Sprint(rows), "-e", "STATUS=" +
		status.Name(), "sh", "-c", script, "sh"}, args...)
	if _, err := tmux(append([]string{"-f", "/dev/null"}, start...)...); err != nil {
		return nil, fmt.Errorf("start tmux: %w", err)
	}
	defer tmux("kill-server")
	if _, err := tmux("set-option", "-g", "status", "off"); err != nil {
		return nil, err
	}
	var frames []frame
	begun := time.Now()
	for tick := time.NewTicker(every); ; <-tick.C {
		ended, err := os.ReadFile(status.Name())
		if err != nil {
			return nil, err
		}
		text, err := tmux("capture-pane", "-e", "-p")
		if err != nil {
			return nil, err
		}
		lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
		if len(frames) == 0 || strings.Join(frames[len(frames)-1].lines, "\n") != strings.Join(lines, "\n") {
			frames = append(frames, frame{time.Since(begun), lines})
		}
		if code := strings.TrimSpace(string(ended)); code == "0" {
			return frames, nil
		} else if code != "" {
			return nil, fmt.Errorf("the command ended with exit status %s", code)
		}
	}
}

// style is the CSS of a recording, with places for its length, its moves, and twice its end.
const style = `text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#c9d1d9;white-space:pre}
.b{font-weight:bold}.d{fill:#8b949e}.c31{fill:#ff7b72}.c32{fill:#7ee787}.c33{fill:#e3b341}.c34{fill:#79c0ff}.c35{fill:#d2a8ff}.c36{fill:#56d4dd}
.strip{animation:play %.1fs infinite step-end}
@keyframes play{%s100%%{transform:translateY(%.0fpx)}}
@media (prefers-reduced-motion:reduce){.strip{animation:none;transform:translateY(%.0fpx)}}
`

// draw returns the frames as a strip that moves behind a window. Repeated lines are drawn once.
func draw(frames []frame) string {
	width, height := margin*2+cell*columns, float64(margin*2+line*rows)
	total := frames[len(frames)-1].at + hold
	moves := ""
	for i, f := range frames {
		moves += fmt.Sprintf("%.2f%%{transform:translateY(%.0fpx)}", 100*f.at.Seconds()/total.Seconds(), -float64(i)*height)
	}
	last := -float64(len(frames)-1) * height
	p := svg.New("r", "Recording of a terminal", fmt.Sprintf(style, total.Seconds(), moves, last, last), width, height)
	p.Draw(`<rect width="%v" height="%v" rx="8" fill="#0d1117"/>`+"\n", width, height)
	p.Draw(`<svg width="%v" height="%v"><g class="strip">`+"\n", width, height)
	known := map[string]int{}
	for i, f := range frames {
		for n, text := range f.lines {
			if plain(text) == "" {
				continue
			}
			x, y := margin, float64(i)*height+margin+float64(line*(n+1))-5
			if id, ok := known[text]; ok {
				p.Draw(`<use href="#l%v" x="%v" y="%v"/>`+"\n", id, x, y)
				continue
			}
			known[text] = len(known)
			p.Draw(`<g transform="translate(%v %v)"><text id="l%v">`, x, y, known[text])
			spans(p, text)
			p.Draw("</text></g>\n")
		}
	}
	p.Draw("</g></svg>\n")
	return p.String()
}

var sgr = regexp.MustCompile("\x1b\\[([0-9;]*)m")

func plain(text string) string { return strings.TrimSpace(sgr.ReplaceAllString(text, "")) }

// spans draws a line. Each run of one style is placed by its column, so the width of the font does not matter.
func spans(p *svg.Picture, text string) {
	class, column := map[string]string{}, 0
	put := func(part string) {
		if strings.TrimSpace(part) != "" {
			p.Draw(`<tspan x="%v" class="%v %v">%v</tspan>`, float64(column)*cell, class["b"], cmp.Or(class["c"], class["d"]),
				part)
		}
		column += len([]rune(part))
	}
	for {
		at := sgr.FindStringSubmatchIndex(text)
		if at == nil {
			put(text)
			return
		}
		put(text[:at[0]])
		for code := range strings.SplitSeq(text[at[2]:at[3]], ";") {
			switch {
			case code == "0" || code == "":
				clear(class)
			case code == "1":
				class["b"] = "b"
			case code == "2":
				class["d"] = "d"
			case code == "39":
				delete(class, "c")
			case len(code) == 2 && code[0] == '3' && code[1] <= '6':
				class["c"] = "c" + code
			}
		}
		text = text[at[1]:]
	}
}
