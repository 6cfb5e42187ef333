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
		"```\n$ systemctl restart hub\n```":                                      "controls services",
		"```\nsystemctl restart hub\n```":                                        "",
		"```text\n$ systemctl restart hub\n```":                                  "",
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

// A number is a port only with evidence. A bare "port 80" or "-p 80" may mean something else, but an address does not.
func TestPorts(t *testing.T) {
	for text, want := range map[string]string{
		"localhost:80": "80", "localhost:22": "22", "localhost:23": "", "localhost:79": "", "127.0.0.1:8080": "8080",
		"0.0.0.0:8080": "8080", "[::1]:8080": "8080", "[::]:8080": "8080", "example.org:8080": "",
		"localhost:65535": "65535", "localhost:65536": "", "on port 80": "80", "uses fixed port 443": "443",
		"port 1024": "1024", "port 1023": "", "port 80": "", "--port 80": "80", "--port=80": "80", "-p 1024": "1024",
		"-p 80":     "",
		"PORT=9000": "9000", "port: 9000": "9000", "listen :9000": "9000", "listen :80": "",
		"x :9000 and localhost:9001": "9000 9001",
		"mkdir -p 2024":              "2024", "ratio 1:9000": "", "export 9000": "", "report 9000": "",
	} {
		if got := strings.Join(portsIn(text), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// A command's target is found behind its prefixes and flags, and in each part of a shell line.
func TestTargetsOfCommands(t *testing.T) {
	for line, want := range map[string]string{
		"psql appdb": "uses the PostgreSQL database appdb",
		"$ sudo env A=1 B=2 time /usr/bin/psql one": "uses the PostgreSQL database one",
		"createdb 'one' && dropdb two; pg_dump three | cat": "uses the PostgreSQL database one, " +
			"uses the PostgreSQL database two, uses the PostgreSQL database three",
		"psql -h db -p 5432 -U me":                   "",
		"psql -Ume --dbname=appdb x":                 "uses the PostgreSQL database appdb",
		"psql -dappdb":                               "uses the PostgreSQL database appdb",
		"psql -d":                                    "",
		"psql \"$DATABASE_URL()\"":                   "",
		"psql postgres://me@db:5432/appdb?sslmode=x": "uses the PostgreSQL database appdb",
		"mysql --host db --user me appdb":            "uses the MySQL database appdb",
		"mariadb --database appdb":                   "uses the MySQL database appdb",
		"sqlite3 -init x.sql ./data//app.db":         "uses the SQLite database data/app.db",
		"sqlite3 :memory:":                           "",
		"redis-cli get a":                            "uses the Redis database 0",
		"redis-cli -n3 get a":                        "uses the Redis database 3",
		"mongosh --port 27017 appdb":                 "uses the MongoDB database appdb",
		"mongo mongodb://db/appdb":                   "uses the MongoDB database appdb",
		"systemctl --user restart hub.service":       "controls the service hub",
		"systemctl stop":                             "",
		"systemctl status hub":                       "",
		"service hub restart":                        "controls the service hub",
		"service hub status":                         "",
		"helm install x":                             "controls the cluster",
		"docker-compose -f dev.yml up -d":            "controls the containers of dev.yml",
		"docker compose --project-name x down":       "controls the containers of x",
		"podman compose exec a sh":                   "controls the containers of docker compose",
		"docker compose ps":                          "",
		"docker ps":                                  "",
		"docker":                                     "",
		"echo psql appdb":                            "",
		"env":                                        "",
	} {
		var got []string
		for _, words := range commandsIn(line) {
			if target := targetOf(words); target != "" {
				got = append(got, target)
			}
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// The edge names the exact state that two batches share, not only its kind, and the nearest earlier batch.
func TestSharedStateOfThreeBatches(t *testing.T) {
	body := "X\n**Files:**\n- Create: `X/a.py`\n\nRun: `psql appdb`"
	d := decided(t, batches(strings.ReplaceAll(body, "X", "p"), "Q\n**Files:**\n- Create: `q/a.py`\n\nRun: `psql other`",
		strings.ReplaceAll(body, "X", "r")), Options{})
	if diff := cmp.Diff("1 -> 3 runtime: each of the two uses the PostgreSQL database appdb", arrows(d)); diff != "" {
		t.Error(diff)
	}
}
