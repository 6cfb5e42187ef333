package testscripts

import (
	"encoding/json"
	"os"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/runplan/runplan/tools/llmtest"
)

// ollamaCommands returns the commands that replace a model server.
func ollamaCommands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		// fake-ollama SCRIPT.json [ADDRESS]: start a server that answers as the script defines (see llmtest.Script).
		// Its address is in $OLLAMA_URL and in SCRIPT.json.url; requests are logged to SCRIPT.json.log, one JSON
		// object per line. The server ends with the test script, or with "! fake-ollama SCRIPT.json".
		"fake-ollama": cmdFakeOllama,
	}
}

// fakeOllamas holds the running servers, by the file of their script.
var fakeOllamas sync.Map

func cmdFakeOllama(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: [!] fake-ollama SCRIPT.json [ADDRESS]")
	}
	file := ts.MkAbs(args[0])
	if running, ok := fakeOllamas.LoadAndDelete(file); ok {
		running.(*llmtest.Server).Close()
	} else if neg {
		ts.Fatalf("no server of %s runs", args[0])
	}
	if neg {
		return
	}
	var script llmtest.Script
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	dec.DisallowUnknownFields()
	ts.Check(dec.Decode(&script))
	log, err := os.OpenFile(file+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	ts.Check(err)
	address := "127.0.0.1:0"
	if len(args) == 2 {
		address = args[1]
	}
	srv, err := llmtest.Serve(address, script, func(r llmtest.Recorded) {
		line, err := json.Marshal(r)
		if err == nil {
			_, err = log.Write(append(line, '\n'))
		}
		if err != nil {
			panic(err) // a log with holes would prove nothing
		}
	})
	ts.Check(err)
	fakeOllamas.Store(file, srv)
	ts.Defer(func() {
		if running, ok := fakeOllamas.LoadAndDelete(file); ok {
			running.(*llmtest.Server).Close()
		}
		log.Close()
	})
	ts.Setenv("OLLAMA_URL", srv.URL)
	ts.Check(os.WriteFile(file+".url", []byte(srv.URL+"\n"), 0o644))
}
