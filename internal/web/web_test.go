package web

import (
	"context"
	"errors"
	"fmt"
	"github.com/runplan/runplan/internal/redact"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

var testKey = []byte("0123456789abcdef0123456789abcdef")

// served starts a server for a test, by default with a page that contains a form token.
func served(t *testing.T, pages http.Handler) *Server {
	t.Helper()
	if pages == nil {
		pages = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "%s %s token=%s", r.Method, r.URL, FormToken(r.Context()))
		})
	}
	s, err := Listen(t.Context(), Options{Addr: "127.0.0.1:0", Name: t.Name(), Key: testKey, Pages: pages})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

// ask sends a request as a browser would; change can modify the request.
func ask(t *testing.T, s *Server, method, target, body string, change func(*http.Request)) (status int,
	header http.Header, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.guard.address+target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", "http://"+s.guard.address)
	}
	if change != nil {
		change(req)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, _ := io.ReadAll(res.Body)
	return res.StatusCode, res.Header, string(data)
}

// signIn signs a browser in and returns its cookie and the token for its forms.
func signIn(t *testing.T, s *Server) (cookie, token string) {
	t.Helper()
	u, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	status, header, _ := ask(t, s, "GET", u.RequestURI()+"&page=2", "", nil)
	if status != http.StatusSeeOther || header.Get("Location") != "/?page=2" {
		t.Fatalf("%d, to %q", status, header.Get("Location"))
	}
	set := header.Get("Set-Cookie")
	if !strings.Contains(set, "HttpOnly") || !strings.Contains(set, "SameSite=Strict") {
		t.Errorf("the cookie is %q", set)
	}
	cookie, _, _ = strings.Cut(set, ";")
	_, _, text := ask(t, s, "GET", "/", "", func(r *http.Request) { r.Header.Set("Cookie", cookie) })
	_, token, ok := strings.Cut(text, "token=")
	if !ok || token == "" {
		t.Fatalf("no token in %q", text)
	}
	return cookie, token
}

func TestAccessControl(t *testing.T) {
	s := served(t, nil)
	cookie, token := signIn(t, s)
	form := FormField + "=" + token
	with := func(kv ...string) func(*http.Request) {
		return func(r *http.Request) {
			r.Header.Set("Cookie", cookie)
			for i := 0; i < len(kv); i += 2 {
				switch {
				case kv[i] == "Host":
					r.Host = kv[i+1]
				case kv[i+1] == "":
					r.Header.Del(kv[i])
				default:
					r.Header.Set(kv[i], kv[i+1])
				}
			}
		}
	}
	_, port, _ := strings.Cut(s.guard.address, ":")
	forged := strings.Replace(cookie, "=", "=9", 1) // for much longer
	for _, tt := range []struct {
		name, method, target, body string
		change                     func(*http.Request)
		want                       int
	}{
		{"a browser that was let in", "GET", "/", "", with(), 200},
		{"no cookie", "GET", "/", "", nil, 403},
		{"wrong token", "GET", "/?token=x", "", nil, 403},
		{"empty token", "GET", "/?token=", "", nil, 403},
		{"forged cookie", "GET", "/", "", with("Cookie", forged), 403},
		{"another's cookie", "GET", "/", "", with("Cookie", "runplan=1"), 403},
		{"name of another site", "GET", "/", "", with("Host", "evil.example:"+port), 421},
		{"name without a port", "GET", "/", "", with("Host", "localhost"), 421},
		{"name that looks like it", "GET", "/", "", with("Host", "localhost.evil.example:"+port), 421},
		{"address of the network", "GET", "/", "", with("Host", "192.168.1.7:"+port), 421},
		{"localhost", "GET", "/", "", with("Host", "localhost:"+port), 200},
		{"IPv6", "GET", "/", "", with("Host", "[::1]:"+port), 200},
		{"a token under another name", "GET", "/?token=" + s.guard.token, "", with("Host", "evil.example:"+port), 421},
		{"style without a cookie", "GET", "/-/app.css", "", nil, 200},
		{"a way out of the files", "GET", "/-/../web.go", "", nil, 404},
		{"method", "PUT", "/", "", with(), 405},
		{"a form", "POST", "/", form, with(), 200},
		{"a form without its token", "POST", "/", "x=1", with(), 403},
		{"a form with the token in the address", "POST", "/?" + form, "x=1", with(), 403},
		{"a form with another token", "POST", "/", FormField + "=0", with(), 403},
		{"a form of nobody", "POST", "/", form, with("Cookie", ""), 403},
		{"a form from elsewhere", "POST", "/", form, with("Origin", "http://evil.example"), 403},
		{"a form from another port", "POST", "/", form, with("Origin", "http://127.0.0.1:1"), 403},
		{"a form without an origin", "POST", "/", form, with("Origin", ""), 403},
		{"a form of no origin", "POST", "/", form, with("Origin", "null"), 403},
		{"a form that says it is foreign", "POST", "/", form, with("Sec-Fetch-Site", "cross-site"), 403},
		{"JSON", "POST", "/", form, with("Content-Type", "application/json"), 403},
		{"text", "POST", "/", form, with("Content-Type", "text/plain"), 403},
		{"a huge form", "POST", "/", form + "&x=" + strings.Repeat("x", maxForm), with(), 403},
	} {
		status, header, text := ask(t, s, tt.method, tt.target, tt.body, tt.change)
		if status != tt.want {
			t.Errorf("%s: %d, want %d: %s", tt.name, status, tt.want, text)
		}
		if header.Get("Content-Security-Policy") != policy || header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: the answer is not hardened: %v", tt.name, header)
		}
	}
}

// A link on another site also signs the browser in. The response is a page, because a redirect would lose the new
// cookie.
func TestLinkFromOtherSiteSignsIn(t *testing.T) {
	s := served(t, nil)
	status, header, text := ask(t, s, "GET", fmt.Sprintf("/waiting?token=%s&a=%%22%%3E%%3Cb", s.guard.token), "",
		func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") })
	if status != 200 || header.Get("Set-Cookie") == "" ||
		!strings.Contains(text, `content="0;url=/waiting?a=%22%3E%3Cb"`) || strings.Contains(text, s.guard.token) {
		t.Errorf("%d %v\n%s", status, header, text)
	}
}

// A sign-in address never redirects to another site.
func TestSignInBlocksOpenRedirect(t *testing.T) {
	s := served(t, nil)
	_, header, _ := ask(t, s, "GET", "//evil.example/?token="+s.guard.token, "", nil)
	if got := header.Get("Location"); got != "/evil.example/" && got != "" {
		t.Errorf("it leads to %q", got)
	}
}

// A cookie is valid for one server and a limited time, and stays valid after a restart.
func TestCookieValidity(t *testing.T) {
	now := time.Now()
	at := func(name string, key []byte) *guard {
		g, err := newGuard(Options{Name: name, Key: key, Now: func() time.Time { return now }}, "127.0.0.1", tcp(t))
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	first := at("a", testKey)
	req, _ := http.NewRequest("GET", "/", nil)
	req.AddCookie(&http.Cookie{Name: first.cookie, Value: first.pass(now.Add(stay))})
	knows := func(g *guard) bool { _, ok := g.signedIn(req); return ok }
	if !knows(first) || !knows(at("a", testKey)) {
		t.Error("after a restart the browser has to sign in again")
	}
	other := at("b", testKey)
	other.cookie = first.cookie
	if other.sign("x") != first.sign("x") {
		t.Error("the test is wrong")
	}
	if knows(at("b", testKey)) || knows(at("a", []byte("another key, another key, another"))) {
		t.Error("a browser of another server is let in")
	}
	now = now.Add(stay + time.Second)
	if knows(at("a", testKey)) {
		t.Error("an expired session is accepted")
	}
}

func TestListenRefusesReachableAddress(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.org:0"} {
		s, err := Listen(t.Context(), Options{Addr: addr, Key: testKey})
		if !errors.Is(err, ErrReachable) {
			t.Errorf("%s: %v", addr, err)
			if err == nil {
				s.listener.Close()
			}
		}
	}
	s, err := Listen(t.Context(), Options{Addr: "0.0.0.0:0", Key: testKey, Insecure: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.listener.Close()
	if !s.guard.ours("192.168.1.7:"+s.guard.port) || s.guard.ours("evil.example:"+s.guard.port) {
		t.Error("an IP address must be accepted, a foreign host name must not")
	}
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\n":    "plain\ttext\n",
		"\x1b[31mred\x07":  "␛[31mred␇",
		"a\u202egnp.exe":   "a⟨U+202E⟩gnp.exe",
		"\x00\x7f\u009b":   "␀␡⟨U+009B⟩",
		"no\xffutf8":       "no⟨FF⟩utf8",
		"tag\U000e0041end": "tag⟨U+E0041⟩end",
		"für 日本 👩‍🚀":       "für 日本 👩‍🚀",
		"a\rb":             "a␍b",
	} {
		if got := Visible(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("\x1b]0;x\x07\u202e\xff")
	f.Fuzz(func(t *testing.T, s string) {
		once := Visible(s)
		if Visible(once) != once {
			t.Errorf("%q: a second call changes the result", s)
		}
		for _, r := range once {
			if r < 0x20 && r != '\t' && r != '\n' || redact.Unseen(r) {
				t.Errorf("%q has %U", once, r)
			}
		}
	})
}

func cookieOf(t *testing.T, s *Server) (cookie string, header http.Header) {
	t.Helper()
	_, header, _ = ask(t, s, "GET", "/?token="+s.guard.token, "", nil)
	cookie, _, _ = strings.Cut(header.Get("Set-Cookie"), ";")
	return cookie, header
}

// If a page panics, the browser gets status 500 without details, and the server continues.
func TestPagePanicReturns500(t *testing.T) {
	s := served(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("broken") }))
	cookie, _ := cookieOf(t, s)
	for range 2 {
		if status, _, text := ask(t, s, "GET", "/", "",
			func(r *http.Request) { r.Header.Set("Cookie", cookie) }); status != 500 || strings.Contains(text, "broken") {
			t.Errorf("%d %s", status, text)
		}
	}
}

func tcp(t *testing.T) *net.TCPAddr {
	t.Helper()
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 4711}
}
