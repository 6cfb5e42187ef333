package routing

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/planparse"
)

// Two batches that use the same port, database or service run one after the other, even if they mention it in
// different forms.
func TestSharedTargetsRunSequentially(t *testing.T) {
	for _, tt := range []struct{ a, b, want string }{
		{"Start the server on port 9000.", "Run: `curl http://localhost:9000/`", "uses port 9000"},
		{"Run: `curl http://127.0.0.1:9000/`", "Open the page at port 9000.", "uses port 9000"},
		{"Run: `serve -p 9000`", "```sh\nserve --port 9000\n```", "uses port 9000"},
		{"```sh\nPORT=9000 ./serve\n```", "Run: `serve --port=9000`", "uses port 9000"},
		{"Run: `docker run -p 9000:80 x`", "Run: `nc localhost 9000; curl localhost:9000`", "uses port 9000"},
		{"Run: `psql appdb -f one.sql`", "Run: `psql -h db -U me -f two.sql appdb`", "uses the PostgreSQL database appdb"},
		{"Run: `psql -d appdb`", "Run: `psql \"postgres://me@db/appdb?x=1\"`", "uses the PostgreSQL database appdb"},
		{"Run: `mysql -D appdb`", "```sh\nmysql -u root -pX appdb < two.sql\n```", "uses the MySQL database appdb"},
		{"Run: `sqlite3 app.db`", "Run: `cat x | sqlite3 ./app.db`", "uses the SQLite database app.db"},
		{"Run: `redis-cli -n 2 set a 1`", "Run: `redis-cli -n 2 del a`", "uses the Redis database 2"},
		{"Run: `docker compose up -d`", "Run: `docker-compose down`", "controls the containers of docker compose"},
		{"Run: `sudo systemctl restart x`", "Run: `systemctl stop x.service`", "controls the service x"},
		{"Run: `kubectl apply -f a.yml`", "Run: `kubectl delete pod a`", "controls the cluster"},
	} {
		d := decided(t, batches("A\n**Files:**\n- Create: `a/a.py`\n\n"+tt.a, "B\n**Files:**\n- Create: `b/b.py`\n\n"+tt.b),
			Options{})
		if diff := cmp.Diff("1 -> 2 runtime: each of the two "+tt.want, arrows(d)); diff != "" {
			t.Errorf("%s | %s\n%s", tt.a, tt.b, diff)
		}
	}
}

// Similar text is not a shared target, and batches with different targets need not wait.
func TestDifferentTargetsRunInParallel(t *testing.T) {
	for _, text := range []string{
		"Port 12 tests to the new API, and 3000 lines.", "Run: `mkdir -p 20`", "Meet at 10:30.",
		"See https://example.org:9000/x", "Listen on port 99999.",
		"psql is a client of PostgreSQL.", "Run: `apt-get install psql`", "Run: `sqlite3 :memory:`",
		"Run: `systemctl status x`", "Run: `docker compose config`",
		"Run: `which mysql`", "A ratio of 1:2000 lines.", "Run: `psql --version`",
	} {
		if got := targetsOf(&planparse.Batch{Text: text}); got != nil {
			t.Errorf("%s %q", text, got)
		}
	}
	d := decided(t, batches("A\n**Files:**\n- Create: `a/a.py`\n\nRun: `psql one`",
		"B\n**Files:**\n- Create: `b/b.py`\n\nRun: `psql two`"), Options{})
	if arrows(d) != "" {
		t.Error(arrows(d))
	}
}

// Shared targets count against team mode.
func TestSharedTargetsCountAgainstTeamMode(t *testing.T) {
	body := "X\n**Files:**\n- Create: `X/a.py`\n- Test: `X/test_a.py`\n\nRun: `psql appdb`"
	d := decided(t, batches(strings.ReplaceAll(body, "X", "p"), strings.ReplaceAll(body, "X", "q")),
		Options{TeamsEnabled: true, Rules: rules(100), Memory: machine(64)})
	if d.Mode != Headless || !strings.Contains(strings.Join(d.Reasons, "\n"), "B1, B2 share state of the machine") {
		t.Errorf("%s: %q", d.Mode, d.Reasons)
	}
}

// An action of a batch on the machine is a runtime hint; a description of ports, servers and databases in its design
// is not.
func TestRuntimeHints(t *testing.T) {
	for text, want := range map[string]string{
		"Starts server X on port 80.":                                            "starts a server, uses a fixed port",
		"This batch modifies DB rows.":                                           "changes a database",
		"Runtime: starts server, modifies DB":                                    "starts a server, changes a database",
		"- [ ] **Step 1: Start the server manually**":                            "starts a server",
		"- [ ] **Step 2: Open browser to http://localhost:9876**":                "uses a fixed port",
		"Run: `docker compose up -d`":                                            "controls services",
		"```bash\nsystemctl --user restart hub\n```":                             "controls services",
		"```sh\nPORT=9000 npm start\n```":                                        "starts a server, uses a fixed port",
		"Run the DB migrations.":                                                 "changes a database",
		"Run: `alembic upgrade head`":                                            "changes a database",
		"Write a function.":                                                      "",
		"The server listens on localhost:8080 and modifies the database.":        "",
		"`main.go` loads the settings, starts the server and waits.":             "",
		"Shared runtime hints: \"starts server\", \"modifies DB\"":               "",
		"Add a schema migration with ALTER TABLE.":                               "",
		"Key rule: use `systemctl restart` only where it is needed.":             "",
		"```python\nclient.get(\"http://localhost:8080\")\n```":                  "",
		"Run: `pytest --cov-report=term-missing`":                                "",
		"Run: `systemctl --user show hub`":                                       "",
		"The Service Ports table lists docker-compose and port 8080 of the API.": "",
	} {
		if diff := cmp.Diff(want,
			strings.Join(runtimeHints(&parsed(t, "# P\n\n## Batch 1: A\n\n"+text+"\n").Batches[0]), ", ")); diff != "" {
			t.Errorf("%s\n%s", text, diff)
		}
	}
}
