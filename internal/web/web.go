// Package web serves the pages of one user, only to that user's browser.
//
// A [Server] listens on the loopback interface unless configured otherwise. It accepts a browser with the token of the
// printed address, and after that by a cookie. A form is accepted only with a token of that browser, from a page of
// this server. Requests for other host names are rejected. The package does not depend on the content of the pages: the
// caller supplies a handler, the parts of a page that change ([Part]) and a stream of updates ([Streams]).
package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"time"
)

// Options configures what is served, on which address and to whom.
type Options struct {
	Addr     string // host:port; port 0 chooses a free one
	Insecure bool   // allow addresses that other machines can reach
	Name     string // distinguishes the cookies of several servers
	Key      []byte // secret that signs cookies; its holder can sign in
	Pages    http.Handler
	Now      func() time.Time
}

// Server is a listening server.
type Server struct {
	listener net.Listener
	guard    *guard
	http     *http.Server
	cancel   context.CancelFunc
}

// ErrReachable reports that other machines can reach an address.
var ErrReachable = errors.New("other machines can reach this address")

// Listen opens the listener. It serves nothing before [Server.Serve].
func Listen(ctx context.Context, o Options) (*Server, error) {
	host, _, err := net.SplitHostPort(o.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w", o.Addr, err)
	}
	if !o.Insecure && !loopback(host) {
		return nil, fmt.Errorf("listen on %s: %w", o.Addr, ErrReachable)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", o.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", o.Addr, err)
	}
	at, ok := listener.Addr().(*net.TCPAddr)
	if !ok || !o.Insecure && !at.IP.IsLoopback() { // a name may resolve to any address
		listener.Close()
		return nil, fmt.Errorf("listen on %s: %w", o.Addr, ErrReachable)
	}
	g, err := newGuard(o, host, at)
	if err != nil {
		listener.Close()
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	return &Server{listener: listener, guard: g, cancel: cancel, http: &http.Server{
		Handler:           g,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      30 * time.Second, // a stream has its own
		IdleTimeout:       60 * time.Second,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // disconnects are not errors
	}}, nil
}

// loopback reports whether a requested host name means this machine.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() || host == "localhost"
}

// URL returns the address with the token, which signs a browser in.
func (s *Server) URL() string {
	u := url.URL{Scheme: "http", Host: s.guard.address, Path: "/", RawQuery: url.Values{"token": {s.guard.token}}.Encode()}
	return u.String()
}

// grace is the time that running requests get when the server stops.
const grace = 2 * time.Second

// Serve answers requests until ctx ends, which is not an error.
func (s *Server) Serve(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- s.http.Serve(s.listener) }()
	select {
	case err := <-ended:
		s.cancel()
		return fmt.Errorf("serve %s: %w", s.guard.address, err)
	case <-ctx.Done():
	}
	s.cancel() // ends streams, which would continue
	last, done := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer done()
	if err := s.http.Shutdown(last); err != nil {
		s.http.Close()
	}
	<-ended
	return nil
}

// addressOf returns the server's address in readable form.
func addressOf(host string, at *net.TCPAddr) string {
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "localhost" // it listens on all addresses, including this one
	}
	return net.JoinHostPort(host, strconv.Itoa(at.Port))
}
