package plugin

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// ErrVersion reports that a plugin speaks another version of the protocol.
var ErrVersion = errors.New("another version of the plugin protocol")

// greeting reads the standard output of a plugin: one handshake line, then any output that does not belong there. Only
// a valid line reaches go-plugin.
type greeting struct {
	log *capture
	out *io.PipeReader
	in  *io.PipeWriter

	mu  sync.Mutex
	err error
}

// maxGreeting limits the bytes of a handshake line.
const maxGreeting = 8 << 10

func newGreeting(log *capture) *greeting {
	g := &greeting{log: log}
	g.out, g.in = io.Pipe()
	return g
}

// read reads stdout to its end, so that the plugin never blocks on it.
func (g *greeting) read(stdout *os.File) {
	var first []byte
	buf := make([]byte, 32<<10)
	for decided := false; ; {
		n, err := stdout.Read(buf)
		data := buf[:n]
		if !decided {
			first = append(first, data...)
			data = nil
			end := bytes.IndexByte(first, '\n')
			if end >= 0 || len(first) > maxGreeting {
				line, rest := first, []byte(nil)
				if end >= 0 {
					line, rest = first[:end], first[end+1:]
				}
				decided = true
				g.decide(string(line))
				data = rest
			} else if err != nil && len(first) > 0 { // it ended in the middle of a line
				g.decide(string(first))
			}
		}
		_, _ = g.log.Write(data)
		if err != nil {
			return
		}
	}
}

// decide forwards the line, or ends the connection with a reason.
func (g *greeting) decide(line string) {
	err := checkGreeting(line, g.log.show)
	if err == nil {
		_, _ = io.WriteString(g.in, strings.TrimSpace(line)+"\n")
		return
	}
	g.mu.Lock()
	g.err = err
	g.mu.Unlock()
	_ = g.in.Close()
}

func (g *greeting) wrong() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

func (g *greeting) end() { _ = g.in.Close() }

// checkGreeting checks a handshake line: CORE|PROTOCOL|NETWORK|ADDRESS|grpc, and more that is ignored.
func checkGreeting(line string, quoted func(string) string) error {
	parts := strings.Split(strings.TrimSpace(line), "|")
	core, coreErr := strconv.Atoi(parts[0])
	if len(parts) < 4 || coreErr != nil {
		return fmt.Errorf(
			"its standard output begins with %s instead of the handshake line; a plugin must print nothing before it, and "+
				"log to standard error",
			quoted(line))
	}
	if core != 1 {
		return fmt.Errorf("%w: its handshake has core version %d; only 1 is supported", ErrVersion, core)
	}
	version, err := strconv.Atoi(parts[1])
	if err != nil {
		return fmt.Errorf("its handshake line %s has no protocol version in the second field", quoted(line))
	}
	if version != ProtocolVersion {
		what := "update the plugin"
		if version > ProtocolVersion {
			what = "update runplan, or use an older plugin"
		}
		return fmt.Errorf("%w: it speaks version %d, this runplan version %d; %s", ErrVersion, version, ProtocolVersion, what)
	}
	if len(parts) < 5 || parts[4] != "grpc" {
		return fmt.Errorf("the fifth field of its handshake line %s is not grpc, the only supported protocol",
			quoted(line))
	}
	// The plugin chooses the address, but it must be on this machine.
	switch network, address := parts[2], parts[3]; network {
	case "unix":
		if !filepath.IsAbs(address) {
			return fmt.Errorf("its handshake line names the socket %s, which is not an absolute path", quoted(address))
		}
	case "tcp":
		host, _, err := net.SplitHostPort(address)
		if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
			return fmt.Errorf(
				"its handshake line names the address %s; a plugin must listen on this machine, on 127.0.0.1 or a Unix socket",
				quoted(address))
		}
	default:
		return fmt.Errorf("its handshake line names the network %s; it must be unix or tcp", quoted(network))
	}
	return nil
}
