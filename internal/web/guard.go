package web

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"html"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// guard checks every request before it reaches the pages.
type guard struct {
	pages    http.Handler
	key      []byte
	cookie   string // its name
	token    string
	address  string
	asked    string // requested host
	port     string
	insecure bool
	now      func() time.Time
}

// stay limits the validity of a browser's cookie.
const stay = 30 * 24 * time.Hour

const maxForm = 64 << 10

func newGuard(o Options, host string, at *net.TCPAddr) (*guard, error) {
	if len(o.Key) < 16 {
		return nil, fmt.Errorf("the key of the page has %d bytes, at least 16 are needed", len(o.Key))
	}
	name := sha256.Sum256([]byte(o.Name))
	g := &guard{
		pages: o.Pages, key: o.Key, cookie: "runplan_" + hex.EncodeToString(name[:5]), token: rand.Text(),
		address: addressOf(host, at), asked: strings.ToLower(host), port: strconv.Itoa(at.Port), insecure: o.Insecure,
		now: o.Now,
	}
	if g.now == nil {
		g.now = time.Now
	}
	return g, nil
}

// policy is the Content-Security-Policy of pages: load only from this server.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// harden sets the headers of all answers.
func harden(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin") // with a stricter policy, a browser would not send a form's origin
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// ServeHTTP passes a request on or refuses it with a reason.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	harden(w.Header())
	defer func() {
		if broken := recover(); broken != nil && broken != http.ErrAbortHandler {
			Refuse(w, http.StatusInternalServerError, "The page could not be made", "This is an error in runplan itself.")
		}
	}()
	switch {
	case !g.ours(r.Host):
		Refuse(w, http.StatusMisdirectedRequest, "Not served under this name",
			"The page is for "+g.address+". Another name for this server may be an attack by another site.")
	case r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPost:
		w.Header().Set("Allow", "GET, HEAD, POST")
		Refuse(w, http.StatusMethodNotAllowed, "Method not allowed", "The page accepts GET, HEAD and POST.")
	case strings.HasPrefix(r.URL.Path, assetPath):
		serveAsset(w, r)
	case r.Method == http.MethodGet && r.URL.Query().Has("token"):
		g.enter(w, r)
	default:
		g.known(w, r)
	}
}

// ours reports whether a request is meant for this server. A foreign host name that resolves to it is refused (DNS
// rebinding). An IP address is safe, because no attacker can make it point to another machine.
func (g *guard) ours(host string) bool {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = strings.Trim(host, "[]"), "80"
	}
	if port != g.port {
		return false
	}
	name = strings.ToLower(name)
	if ip, err := netip.ParseAddr(name); err == nil {
		return g.insecure || ip.Unmap().IsLoopback()
	}
	return name == "localhost" || name == g.asked
}

// enter signs in a browser with the token and removes the token from the address.
func (g *guard) enter(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if !same(q.Get("token"), g.token) {
		Refuse(w, http.StatusForbidden, "Wrong token",
			"Open the address that runplan serve printed last; each start has another token.")
		return
	}
	until := g.now().Add(stay)
	http.SetCookie(w, &http.Cookie{
		Name: g.cookie, Value: g.pass(until), Path: "/", Expires: until, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	q.Del("token")
	to := url.URL{Path: "/" + strings.TrimLeft(r.URL.Path, "/"), RawQuery: q.Encode()}
	if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
		// If the user came from a link on another site, the browser would not send the new cookie after a redirect. So this
		// answers with a page of our own that leads to the target.
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w,
			`<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=%s"><title>runplan</title><p><a href="%[1]s">Go on</a>`, html.EscapeString(to.String()))
		return
	}
	http.Redirect(w, r, to.String(), http.StatusSeeOther)
}

// pass returns the value of a browser's cookie: its signed expiry time.
func (g *guard) pass(until time.Time) string {
	when := strconv.FormatInt(until.Unix(), 10)
	return when + "." + g.sign("pass "+when)
}

func (g *guard) sign(text string) string {
	m := hmac.New(sha256.New, g.key)
	m.Write([]byte(g.cookie + " " + text))
	return hex.EncodeToString(m.Sum(nil))
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// signedIn returns the content of a known browser's cookie.
func (g *guard) signedIn(r *http.Request) (pass string, ok bool) {
	for _, c := range r.CookiesNamed(g.cookie) {
		when, _, _ := strings.Cut(c.Value, ".")
		seconds, err := strconv.ParseInt(when, 10, 64)
		if err == nil && g.now().Before(time.Unix(seconds, 0)) && same(c.Value, g.pass(time.Unix(seconds, 0))) {
			return c.Value, true
		}
	}
	return "", false
}

type formKey struct{}

// FormField is the name of the form field with the browser's token.
const FormField = "form_token"

// FormToken returns the token that a form must send in the field [FormField].
func FormToken(ctx context.Context) string {
	token, _ := ctx.Value(formKey{}).(string)
	return token
}

// known serves a browser that has signed in before.
func (g *guard) known(w http.ResponseWriter, r *http.Request) {
	pass, ok := g.signedIn(r)
	if !ok {
		Refuse(w, http.StatusForbidden, "Not signed in",
			"Open the address that runplan serve printed: it has a token that lets this browser in.")
		return
	}
	token := g.sign("form " + pass)
	if r.Method == http.MethodPost {
		if why := g.foreign(w, r, token); why != "" {
			Refuse(w, http.StatusForbidden, "Nothing was changed", why)
			return
		}
	}
	g.pages.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), formKey{}, token)))
}

// foreign returns why a form does not come from this server, or "".
func (g *guard) foreign(w http.ResponseWriter, r *http.Request, token string) string {
	if r.Header.Get("Origin") != "http://"+r.Host {
		return "The form was sent from another site: its origin is " + cmp.Or(r.Header.Get("Origin"), "not told") + "."
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
		return "The form was sent from another site."
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil ||
		kind != "application/x-www-form-urlencoded" {
		return "The request is not a form."
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return "The form could not be read: " + err.Error() + "."
	}
	if !same(r.PostForm.Get(FormField), token) {
		return "The form has no valid token of this browser. Reload its page."
	}
	return ""
}

// Refuse answers with a short error page.
func Refuse(w http.ResponseWriter, status int, title, text string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintf(w,
		`<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">`+
			`<title>%s – runplan</title><link rel="stylesheet" href="%sapp.css"></head><body><main class="alone"><h1>%[1]s</h1><p>%[3]s</p></main></body></html>`,
		html.EscapeString(Visible(title)), assetPath, html.EscapeString(Visible(text)))
}
