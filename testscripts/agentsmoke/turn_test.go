package agentsmoke

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"time"
)

// wire is one of the APIs of the providers.
type wire string

const (
	anthropic    wire = "anthropic"
	responsesAPI wire = "responses" // of OpenAI
	chat         wire = "chat"      // completions of OpenAI, which most others speak too
	google       wire = "gemini"
)

// The reasons for which an answer can end early.
const (
	lengthStop  = "length"
	refusalStop = "refusal"
)

// turn describes one answer of the model. The zero turn lets the work succeed.
type turn struct {
	n    int // number of the request
	wait time.Duration

	// does is what the answer requests: "" one file and then the end, "more" another file each time, "loop" the same
	// file each time, "shell" a command, "say" only its text.
	does, text string
	stop       string // lengthStop or refusalStop

	status int                        // of HTTP, in place of an answer
	header map[wire]map[string]string // of a status; under "" for every API
	words  map[wire]words             // of a status; under "" for those that are not named
	body   string                     // of a status, in place of words

	// how is how the connection ends: "" normally, "drop" before the first byte, "cut" in the middle of the answer,
	// "hang" never, "garbage" with events that are not JSON.
	how string
}

// words holds the error of one API.
type words struct {
	kind, code, message string
	more                map[string]any // fields of the error
}

// trouble answers a request with the fault of the turn; it returns false if the turn has none.
func (m *model) trouble(w http.ResponseWriter, r *http.Request, t turn, api wire) bool {
	select {
	case <-time.After(t.wait):
	case <-r.Context().Done():
		return true
	case <-m.over:
		return true
	}
	switch {
	case t.how == "drop":
		panic(http.ErrAbortHandler)
	case t.how == "hang":
		select {
		case <-r.Context().Done():
		case <-m.over:
		}
		return true
	case t.status == 0:
		return false
	}
	for _, group := range []wire{"", api} {
		for name, value := range t.header[group] {
			w.Header().Set(name, value)
		}
	}
	if t.body != "" {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(t.status)
		fmt.Fprint(w, t.body)
		return true
	}
	said, ok := t.words[api]
	if !ok {
		said = t.words[""]
	}
	reply(w, t.status, said.as(api, t.status))
	return true
}

// as returns the body of an error in the format of an API.
func (s words) as(api wire, status int) any {
	e := map[string]any{"message": s.message}
	maps.Copy(e, s.more)
	switch api {
	case anthropic:
		e["type"] = s.kind
		return map[string]any{"type": "error", "error": e}
	case google:
		e["code"], e["status"] = status, s.kind
		if e["details"] == nil {
			e["details"] = []any{}
		}
	default:
		e["type"], e["code"] = s.kind, s.code
	}
	return map[string]any{"error": e}
}

// stream writes server-sent events. It returns false if the turn ends the stream early.
func (m *model) stream(w http.ResponseWriter, t turn, events []any) bool {
	w.Header().Set("Content-Type", "text/event-stream")
	cut := t.how == "cut" || t.how == "garbage"
	for i, e := range events {
		b, _ := json.Marshal(e)
		if name := eventName(e); name != "" {
			fmt.Fprintf(w, "event: %s\n", name)
		}
		if cut && i >= len(events)/2 {
			fmt.Fprintf(w, "data: %s", b[:len(b)/2])
			if t.how == "garbage" {
				fmt.Fprint(w, "\n\n")
			}
			break
		}
		fmt.Fprintf(w, "data: %s\n\n", b)
		w.(http.Flusher).Flush()
	}
	w.(http.Flusher).Flush()
	if t.how == "cut" {
		panic(http.ErrAbortHandler)
	}
	return !cut
}

// whole writes an answer that is not a stream.
func (m *model) whole(w http.ResponseWriter, t turn, answer any) {
	b, _ := json.Marshal(answer)
	w.Header().Set("Content-Type", "application/json")
	switch t.how {
	case "cut":
		w.Header().Set("Content-Length", fmt.Sprint(len(b)))
		_, _ = w.Write(b[:len(b)/2])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	case "garbage":
		b = b[:len(b)/2]
	}
	_, _ = w.Write(b)
}

// eventName returns the type of an event, which two of the APIs also write in an event line.
func eventName(e any) string {
	name, _ := e.(map[string]any)["type"].(string)
	return name
}
