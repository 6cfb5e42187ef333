package testscripts

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// httpCommands returns the commands that send requests to a page that a script serves.
func httpCommands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		// http STATUS METHOD PATH [KEY=VALUE...]: send a request to the server whose address is the first line of
		// $WORK/url; the response must have STATUS. Prints the headers and the body of the response. TOKEN in PATH
		// stands for the token of that address, RUN in any argument for the content of $WORK/run, @FILE for the
		// content of FILE. A key that begins with a capital letter is a header, such as Cookie, Host or Origin (an
		// empty value removes the header); all others are form fields. The last cookie, the last form token and the
		// right origin are sent automatically.
		"http": cmdHTTP,
	}
}

var formToken = regexp.MustCompile(`name="form_token" value="([0-9a-f]+)"`)

func cmdHTTP(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: http STATUS METHOD PATH [KEY=VALUE...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	line, _, _ := strings.Cut(ts.ReadFile(inWork(ts, "url")), "\n")
	at, err := url.Parse(strings.TrimSpace(line))
	ts.Check(err)
	path := strings.ReplaceAll(args[2], "TOKEN", at.Query().Get("token"))
	if run, err := os.ReadFile(inWork(ts, "run")); err == nil {
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "RUN", strings.TrimSpace(string(run)))
		}
		path = strings.ReplaceAll(path, "RUN", strings.TrimSpace(string(run)))
	}
	form := url.Values{}
	header := http.Header{}
	if token := ts.Getenv("FORM_TOKEN"); token != "" && args[1] == http.MethodPost {
		form.Set("form_token", token)
		header.Set("Origin", "http://"+at.Host)
	}
	if cookie := ts.Getenv("COOKIE"); cookie != "" {
		header.Set("Cookie", cookie)
	}
	host := ""
	for _, kv := range args[3:] {
		if file, ok := strings.CutPrefix(kv, "@"); ok {
			kv = strings.TrimSpace(ts.ReadFile(file))
		}
		key, value, _ := strings.Cut(kv, "=")
		switch {
		case key == "Host":
			host = value
		case key[0] >= 'A' && key[0] <= 'Z' && value == "":
			header.Del(key)
		case key[0] >= 'A' && key[0] <= 'Z':
			header.Set(key, value)
		default:
			form.Set(key, value)
		}
	}
	var body io.Reader
	if args[1] == http.MethodPost {
		body = strings.NewReader(form.Encode())
		header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	req, err := http.NewRequest(args[1], "http://"+at.Host+path, body)
	ts.Check(err)
	req.Header, req.Host = header, host
	client := http.Client{Timeout: patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	ts.Check(err)
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 8<<20))
	if len(text) == 0 {
		ts.Check(err)
	}
	for _, c := range res.Cookies() {
		ts.Setenv("COOKIE", c.Name+"="+c.Value)
	}
	if m := formToken.FindSubmatch(text); m != nil {
		ts.Setenv("FORM_TOKEN", string(m[1]))
	}
	var head bytes.Buffer
	ts.Check(res.Header.Write(&head))
	fmt.Fprintf(ts.Stdout(), "%s\n%s\n%s\n", res.Status, strings.ReplaceAll(head.String(), "\r", ""), text)
	if res.StatusCode != want {
		ts.Fatalf("%s %s: %s, want %d", args[1], path, res.Status, want)
	}
}

// listenCommands returns the command that reads the event stream of a page.
func listenCommands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		// listen PATH TEXT: wait until the stream at PATH of the server whose address is in $WORK/url contains TEXT.
		// RUN in PATH is as for http.
		"listen": cmdListen,
	}
}

func cmdListen(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: listen PATH TEXT")
	}
	data, err := os.ReadFile(inWork(ts, "url"))
	ts.Check(err)
	line, _, _ := strings.Cut(string(data), "\n")
	at, err := url.Parse(strings.TrimSpace(line))
	ts.Check(err)
	path := args[0]
	if run, err := os.ReadFile(inWork(ts, "run")); err == nil {
		path = strings.ReplaceAll(path, "RUN", strings.TrimSpace(string(run)))
	}
	req, err := http.NewRequest(http.MethodGet, "http://"+at.Host+path, nil)
	ts.Check(err)
	req.Header.Set("Cookie", ts.Getenv("COOKIE"))
	res, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		ts.Fatalf("%s: %s, %s", args[0], res.Status, res.Header.Get("Content-Type"))
	}
	late := time.AfterFunc(patience, func() { res.Body.Close() })
	defer late.Stop()
	var seen bytes.Buffer
	piece := make([]byte, 32<<10)
	for !strings.Contains(seen.String(), args[1]) {
		n, err := res.Body.Read(piece)
		seen.Write(piece[:n])
		if err != nil {
			ts.Fatalf("the stream of %s ended (%v) without %q:\n%s", args[0], err, args[1], seen.String())
		}
	}
	fmt.Fprintln(ts.Stdout(), seen.String())
}
