package servertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"flag"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/server/common/testing/freeport"
	"google.golang.org/protobuf/encoding/protojson"
)

// An invalid configuration or an unreachable server is reported in plain words, with an exit status, before anything
// starts.
func TestConfigurationErrorsAreReportedBeforeStart(t *testing.T) {
	s := newStage(t)
	s.slowAgent("0.01")
	s.write("plan.md", stormPlan(2))
	s.commit()
	s.serve()
	cert, key := expired(t, s.dir)
	old := impostor(t, cert, key)
	for _, c := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"a server that is away",
			[]string{"--engine", "temporal", "--address", fmt.Sprintf("127.0.0.1:%d", freeport.MustGetFreePort()),
				"--connect-timeout", "2s"}, 5, "cannot be reached"},
		{"a wrong namespace", s.on("--namespace", "nobody"), 2, `has no namespace "nobody"`},
		{"an expired certificate", s.on("--tls-cert", cert, "--tls-key", key), 2, "expired on 2020-01-02"},
		{"a service with an expired certificate",
			[]string{"--engine", "temporal", "--address", old, "--tls-ca", cert, "--connect-timeout", "5s"}, 5,
			"a certificate has expired"},
		{"a key without its certificate", s.on("--tls-key", key), 2, "go together"},
		{"a missing API key", s.on("--api-key-env", "NO_SUCH_KEY"), 2, "--api-key-env NO_SUCH_KEY: the variable is not set"},
		{"an invalid codec key", s.on("--codec-key-env", "HOME"), 2, "64 hex digits"},
		{"an engine without support in this program", []string{"--engine", "cron"}, 2, "use one of local, temporal"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, code := s.call(append([]string{"run", "plan.md", "--plain"}, c.args...)...)
			if code != c.code || !strings.Contains(out, c.says) {
				t.Errorf("exit status %d, not %d; %q is to be said:\n%s", code, c.code, c.says, out)
			}
		})
	}
	if out, _ := s.call("status", "--all"); !strings.Contains(out, "no runs yet") {
		t.Errorf("a run was created:\n%s", out)
	}
	t.Run("a plan that is too large", func(t *testing.T) {
		var b strings.Builder
		b.WriteString("# Large\n\n")
		for i := 1; i <= 1500; i++ {
			fmt.Fprintf(&b, "## Batch %d: %s\n\n```sh\ntrue\n```\n\n", i, strings.Repeat("a long title ", 12))
		}
		s.write("plan.md", b.String())
		out, code := s.call(append([]string{"run", "plan.md", "--plain", "--allow-dirty", "--agent", "script"}, s.on()...)...)
		if code != 2 || !strings.Contains(out, "too large for Temporal") {
			t.Errorf("exit status %d:\n%s", code, out[max(0, len(out)-600):])
		}
	})
}

// A run with an unknown loop version is refused and not retried forever. Its follower prints what to do and exits
// with status 5.
func TestUnknownLoopVersionIsRefused(t *testing.T) {
	s := newStage(t)
	s.slowAgent("60")
	s.write("plan.md", stormPlan(1))
	s.commit()
	s.serve()
	s.worker("w1")
	run := s.run()
	s.await(time.Minute, "the run is in the journal here",
		func() bool { return strings.Contains(run.text(), "attempt 1") })
	run.kill()
	s.workers["w1"].kill()
	id, _ := s.events()[0]["run"].(string)
	c := s.client(t)
	if err := c.TerminateWorkflow(t.Context(), "runplan/"+id, "", "another build takes over"); err != nil {
		t.Fatal(err)
	}
	// Simulate a newer build that continues the run.
	if _, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "runplan/" + id, TaskQueue: "runplan"},
		"runplan.Run",
		map[string]any{"run": id, "info": map[string]any{"loop_version": 999, "workers": 1, "max_attempts": 1}}); err != nil {
		t.Fatal(err)
	}
	follower := s.start("resume", s.project, nil, runplan, append([]string{"resume", "--plain"}, s.on()...)...)
	s.await(time.Minute, "it is followed", func() bool { return strings.Contains(follower.text(), "following it") })
	s.worker("w2")
	code := follower.code(t, time.Minute)
	for _, want := range []string{"the run has version 999", "start a worker of that version, or start the run again"} {
		if !strings.Contains(follower.text(), want) || code != 5 {
			t.Errorf("exit status %d, not 5; %q is to be said:\n%s", code, want, follower.text())
		}
	}
}

// client opens a separate connection for the test.
func (s *stage) client(t *testing.T) client.Client {
	t.Helper()
	c, err := client.Dial(client.Options{HostPort: s.address()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// history returns the history of a workflow as Temporal exports it, and as text with readable payloads.
func (s *stage) history(t *testing.T, id string) (exported []byte, open string) {
	t.Helper()
	var h historypb.History
	it := s.client(t).GetWorkflowHistory(t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for it.HasNext() {
		e, err := it.Next()
		if err != nil {
			t.Fatal(err)
		}
		h.Events = append(h.Events, e)
	}
	out, err := protojson.Marshal(&h)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, p := range regexp.MustCompile(`"data": ?"([A-Za-z0-9+/=]+)"`).FindAllSubmatch(out, -1) {
		plain, err := base64.StdEncoding.DecodeString(string(p[1]))
		if err != nil {
			t.Fatal(err)
		}
		text.Write(plain)
	}
	return out, text.String() + string(out)
}

// A secret in a worker's environment appears in no history, no file of the server, no journal and no report, even if
// an agent prints it.
func TestWorkerSecretsAreNotStored(t *testing.T) {
	const canary = "cnry-8Zk2vQ7rT4mX9bL3"
	s := newStage(t)
	s.slowAgent("0.01")
	config, err := os.ReadFile(filepath.Join(s.project, ".runplan/config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	s.write(".runplan/config.toml",
		strings.Replace(string(config), "env = {", "pass_env = [\"SERVICE_TOKEN\"]\nenv = {", 1))
	agent, err := os.ReadFile(filepath.Join(s.dir, "agent.sh"))
	if err != nil {
		t.Fatal(err)
	}
	loud := string(agent) +
		"echo \"the token is $SERVICE_TOKEN\"; echo \"$SERVICE_TOKEN\" >&2\nif [ \"$RUNPLAN_ATTEMPT\" = 1 ]; then echo " +
		"\"failed with $SERVICE_TOKEN\"; exit 3; fi\n"
	if err := os.WriteFile(filepath.Join(s.dir, "agent.sh"), []byte(loud), 0o755); err != nil {
		t.Fatal(err)
	}
	s.write("plan.md", stormPlan(1))
	s.commit()
	s.serve()
	s.env = append(s.env, "SERVICE_TOKEN="+canary)
	s.worker("w1")
	s.env = s.env[:len(s.env)-1]
	run := s.run()
	if code := run.code(t, 2*time.Minute); code != 0 {
		t.Fatalf("exit status %d:\n%s", code, run.text())
	}
	events := s.events()
	id, _ := events[0]["run"].(string)
	_, history := s.history(t, "runplan/"+id)
	if len(history) < 1000 || !strings.Contains(history, "redacted") {
		t.Errorf("the history has no redacted value: %d bytes", len(history))
	}
	if strings.Contains(history, canary) {
		t.Error("the history contains the secret")
	}
	s.server.kill() // what it stores is in its files then
	for _, dir := range []string{s.dir + "/server.db", s.dir + "/server.db-wal", s.project + "/.runplan", s.dir + "/w1"} {
		out, _ := exec.Command("grep", "-rlaF", canary, dir).Output()
		if len(out) > 0 {
			t.Errorf("it is in %s", out)
		}
	}
	for line := range strings.Lines(
		s.git(s.remote(), "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)")) {
		name, kind, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.Contains(s.git(s.remote(), "cat-file", kind, name), canary) {
			t.Errorf("git object %s has it", name)
		}
	}
	if strings.Contains(history, s.remote()) {
		t.Error("the history has the address of the shared repository")
	}
}

// recordTo is the folder into which histories are written for the replay tests of temporal/flow.
var recordTo = flag.String("record", "", "folder to write the histories of some tests to, for temporal/flow/testdata")

// record saves the history of a workflow without the names of this machine.
func (s *stage) record(t *testing.T, id, name string) {
	t.Helper()
	if *recordTo == "" {
		return
	}
	history, _ := s.history(t, id)
	history = regexp.MustCompile(`"identity": ?"[^"]*"`).ReplaceAll(history, []byte(`"identity":"worker"`))
	history = regexp.MustCompile(`"name": ?"[^"]*:[0-9a-f-]{36}"`).ReplaceAll(history, []byte(`"name":"sticky"`))
	if err := os.WriteFile(filepath.Join(*recordTo, name+".json"), append(history, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A run that waits for a person stops; after the answer it continues by itself.
func TestAnswerContinuesRun(t *testing.T) {
	s := newStage(t)
	s.slowAgent("0.01")
	s.write("plan.md", strings.Replace(stormPlan(1), "## Batch 1: file 1\n", "## Batch 1: file 1\napprove: true\n", 1))
	s.commit()
	s.serve()
	s.worker("w1")
	run := s.run()
	if code := run.code(t, 2*time.Minute); code != 3 {
		t.Fatalf("exit status %d, not 3:\n%s", code, run.text())
	}
	id, _ := s.events()[0]["run"].(string)
	out, code := s.call(append([]string{"approve", id[:8] + "/1"}, s.on()...)...)
	if code != 0 {
		t.Fatalf("exit status %d:\n%s", code, out)
	}
	s.await(time.Minute, "the run ends by itself", func() bool {
		out, _ := s.call(append([]string{"status", "--json"}, s.on()...)...)
		return strings.Contains(out, `"status": "done"`)
	})
	if err := s.landed(1); err != nil {
		t.Error(err)
	}
	s.record(t, "runplan/"+id, "approved")
}

// A run continues after its follower is killed, and the next follower sees all of it.
func TestRunContinuesWithoutFollower(t *testing.T) {
	s := newStage(t)
	s.slowAgent("0.1")
	s.write("plan.md", stormPlan(3))
	s.commit()
	s.serve()
	s.worker("w1")
	run := s.run()
	s.await(time.Minute, "an agent is running", func() bool { return len(s.ledger()) > 0 })
	run.kill()
	if out, code := s.call("resume", "--plain"); code != 2 || !strings.Contains(out, "is on engine temporal") {
		t.Errorf("resume without Temporal: exit status %d\n%s", code, out)
	}
	out, code := s.call(append([]string{"resume", "--plain"}, s.on()...)...)
	if code != 0 {
		t.Fatalf("exit status %d:\n%s", code, out)
	}
	if err := s.landed(3); err != nil {
		t.Error(err)
	}
	if n := len(s.ledger()); n != 3 {
		t.Errorf("%d agents were started for 3 batches", n)
	}
	id, _ := s.events()[0]["run"].(string)
	s.record(t, "runplan/"+id, "three-batches")
}

// impostor listens with a certificate and sends no response.
func impostor(t *testing.T, cert, key string) (address string) {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0",
		&tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_ = c.(*tls.Conn).Handshake()
				c.Close()
			}()
		}
	}()
	return l.Addr().String()
}

// expired creates a certificate that was valid on one day only.
func expired(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	from := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "t"}, NotBefore: from,
		NotAfter: from.AddDate(0, 0, 1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der},
		key: {Type: "EC PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}
