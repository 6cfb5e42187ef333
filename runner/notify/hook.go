package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/proc"
)

// Hook is the target of messages: a program, a web address, or both.
type Hook struct {
	Command []string
	Dir     string   // where the program runs
	Env     []string // its environment, complete
	Webhook string
	Timeout time.Duration // of one message
	Reaper  *proc.Reaper  // may be nil

	Redact func(string) string // removes secrets
	Note   func(string)        // gets failed notifications
}

// Send sends one message.
func (h Hook) Send(m Message) error {
	m.Version = Version
	m.write()
	return h.send(nil, m)
}

// errHurry ends a message because the run is over.
var errHurry = errors.New("the run ended before the message was delivered")

func (h Hook) send(stop <-chan struct{}, m Message) error {
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	go func() {
		select {
		case <-stop:
			cancel(errHurry)
		case <-ctx.Done():
		}
	}()
	var errs []error
	if len(h.Command) > 0 {
		errs = append(errs, h.run(ctx, m, body))
	}
	if h.Webhook != "" {
		errs = append(errs, h.post(ctx, body))
	}
	return errors.Join(errs...)
}

// run hands the message to the program. No process of it survives its time limit.
func (h Hook) run(ctx context.Context, m Message, body []byte) error {
	res, err := proc.Run(ctx, proc.Cmd{
		Args: h.Command, Dir: h.Dir, Stdin: bytes.NewReader(append(body, '\n')), Keep: 4 << 10, Redact: h.Redact,
		Env:    append(append([]string{}, h.Env...), "RUNPLAN_EVENT="+string(m.Event), "RUNPLAN_TEXT="+m.Text),
		Limits: proc.Limits{Total: h.Timeout, Grace: 500 * time.Millisecond}, Sweep: proc.NewTag(), Reaper: h.Reaper,
	})
	switch {
	case err != nil:
		return fmt.Errorf("%w; correct notify.command", err)
	case res.OK():
		return nil
	}
	how := res.How()
	switch res.Ended {
	case proc.Total:
		how = fmt.Sprintf("took longer than %s and was ended", h.Timeout)
	case proc.Cancelled:
		how = fmt.Sprintf("was ended: %v", res.Cause)
	}
	text := fmt.Sprintf("%s %s", h.Command[0], how)
	if last := strings.TrimSpace(res.Tail); last != "" {
		text += ": " + strings.TrimSpace(last[strings.LastIndexByte(last, '\n')+1:])
	}
	return errors.New(text)
}

// post sends the message to the address. It follows no redirects, because the message is only for the configured
// host. The address may contain a key, so errors do not contain it.
func (h Hook) post(ctx context.Context, body []byte) error {
	where := "webhook " + config.HostOf(h.Webhook)
	ctx, cancel := context.WithTimeout(ctx, h.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.Webhook, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%s: the address cannot be used; correct notify.webhook", where)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "runplan")
	client := http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(req)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err
		}
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("no answer within %s", h.Timeout)
		}
		return fmt.Errorf("%s: %w", where, err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10))
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("%s: it answered %s", where, res.Status)
	}
	return nil
}
