package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Config holds all settings.
type Config struct {
	Run       Run              `toml:"run"`
	Agents    map[string]Agent `toml:"agents"`
	Routing   Routing          `toml:"routing"`
	Team      Team             `toml:"team"`
	Context   Context          `toml:"context"`
	Sampling  Sampling         `toml:"sampling"`
	Gates     Gates            `toml:"gates"`
	Workspace Workspace        `toml:"workspace"`
	Notify    Notify           `toml:"notify"`
	Models    Models           `toml:"models"`
	Budget    Budget           `toml:"budget"`
	Solve     Solve            `toml:"solve"`
	Stages    Stages           `toml:"stages"`
	Review    Review           `toml:"review"`
	Critique  Critique         `toml:"critique"`
	Feedback  Feedback         `toml:"feedback"`
	Training  Training         `toml:"training"`
}

// Run holds the settings of a run as a whole.
type Run struct {
	Agent          string   `toml:"agent" doc:"agent to use: script, solver, or a name under [agents]; empty picks script for a literal plan"`
	Land           string   `toml:"land" doc:"branch, ff or pr: how the run branch lands at the end"`
	MaxAttempts    int      `toml:"max_attempts" doc:"attempts at a batch before it counts as failed; after conflicts with other batches it is rebuilt, up to as many times again"`
	AgentTimeout   Duration `toml:"agent_timeout" doc:"time limit of one attempt"`
	IdleTimeout    Duration `toml:"idle_timeout" doc:"stop an agent that prints nothing for this long"`
	MaxRepeats     int      `toml:"max_repeats" doc:"stop an attempt after this many repeated tool calls in a row; 0 is no limit"`
	MaxTokens      int      `toml:"max_attempt_tokens" doc:"stop an attempt that used more tokens (input, output and cache); 0 is no limit"`
	MaxAttemptUSD  float64  `toml:"max_attempt_cost_usd" doc:"stop an attempt that cost more US dollars; 0 is no limit"`
	Grace          Duration `toml:"grace" doc:"time between asking a program to end and killing it"`
	StrictCheckout bool     `toml:"strict_checkout" doc:"a change of your checkout while an agent works fails its attempt, instead of a warning"`
	MinFreeMB      int      `toml:"min_free_mb" doc:"free disk space that a run requires, in MiB"`
	KeepEvidence   Duration `toml:"keep_evidence" doc:"how long plans, logs and journals of finished runs stay in a shared repository, before gc of the engine removes them"`

	MaxCostUSD  float64  `toml:"max_cost_usd" doc:"cost limit of the agents of a run, in US dollars; 0 is no limit"`
	UnknownCost string   `toml:"unknown_cost" doc:"stop or allow: handling of attempts with an unknown cost under a cost limit"`
	MaxTime     Duration `toml:"max_time" doc:"time limit of one session of a run; 0 is none"`
	OnLimit     string   `toml:"on_limit" doc:"reaction to a rate limit when nothing else can be done: exit, wait, fallback (another agent takes over; once all are limited, exit) or fallback,wait"`
	Backoff     Duration `toml:"backoff" doc:"first wait for a rate limit without a reported end, if on_limit has wait, and for a provider that fails or cannot be reached; each further wait is twice as long; 0 does not wait"`
	MaxBackoff  Duration `toml:"max_backoff" doc:"maximum of these waits"`
	Fallback    []string `toml:"fallback" doc:"agents that take over after a rate limit, in order, if on_limit is fallback"`
}

// Routing holds the settings of the decision between headless and team mode (ROUTE-07).
type Routing struct {
	Mode                   string  `toml:"mode" doc:"auto, headless or team"`
	ParallelScoreThreshold int     `toml:"parallel_score_threshold" doc:"team mode needs a parallelism score above this value"`
	SpeculateMaxOverlap    int     `toml:"speculate_max_overlap" doc:"a batch waits for the gates of the candidate on which it depends if both share at least this percentage of their files"`
	Speculate              bool    `toml:"speculate" doc:"whether batches may start on candidates that have not passed their gates"`
	WorkerMemThresholdGB   float64 `toml:"worker_mem_threshold_gb" doc:"memory that one worker needs, in GB"`
	MaxWorkers             int     `toml:"max_workers" doc:"maximum number of batches in progress at the same time"`
	ModelImplementation    string  `toml:"model_implementation" doc:"tier for batches that create or change code: small, medium or large (the older names haiku, sonnet and opus are read as well)"`
	ModelVerification      string  `toml:"model_verification" doc:"tier for batches that only run commands"`
	ModelArchitecture      string  `toml:"model_architecture" doc:"tier for batches that design"`
	ModelWiring            string  `toml:"model_wiring" doc:"tier for batches that connect existing parts"`
	ModelEscalateOnFail    bool    `toml:"model_escalate_on_fail" doc:"retry a failed batch one tier up"`
	Score                  string  `toml:"score" doc:"expression for the parallelism score; empty is the built-in one"`
	Team                   string  `toml:"team" doc:"expression that decides for team mode; empty is the built-in one"`
	Class                  string  `toml:"class" doc:"expression that gives the class of a batch; empty is the built-in one"`
}

// Team holds the settings of team mode.
type Team struct {
	Enabled bool `toml:"enabled" doc:"team mode may be chosen without --mode team (also RUNPLAN_AGENT_TEAMS=1)"`
}

// Context holds the settings of the context block in each brief (CTX-04, CTX-06).
type Context struct {
	Tokens        int     `toml:"tokens" doc:"size of the context block, in tokens of four characters; 0 leaves it out"`
	RefLines      int     `toml:"ref_lines" doc:"lines of each file that context_refs names"`
	RefLinesLeast int     `toml:"ref_lines_least" doc:"lines of each such file if the block is too large"`
	Commits       int     `toml:"commits" doc:"commits of earlier batches to show"`
	ProgressLines int     `toml:"progress_lines" doc:"last lines of progress.txt to show"`
	Similarity    float64 `toml:"similarity" doc:"minimum similarity of a batch title and a failure pattern, 0 to 1"`
	File          string  `toml:"file" doc:"file of the workspace that gets the context block as a section, and is restored before the gates; empty writes none"`
}

// Sampling holds the settings of tournaments (SAMP-16).
type Sampling struct {
	OnRetry        bool    `toml:"sample_on_retry" doc:"after a failed attempt several candidates compete, instead of one more attempt; the solver does so only if this is set"`
	OnCritical     bool    `toml:"sample_on_critical" doc:"batches that are marked critical are sampled from the start"`
	Count          int     `toml:"sample_count" doc:"candidates of a tournament"`
	MaxCount       int     `toml:"sample_max_count" doc:"maximum number of candidates"`
	MinMemoryPerGB float64 `toml:"sample_min_memory_per_gb" doc:"memory that one candidate needs, in GB"`
	Score          string  `toml:"score" doc:"expression for the score of a candidate; empty is the built-in one"`
	Close          float64 `toml:"close" doc:"two scores are close if they differ by at most this share of the better one"`
	StopAtFirst    bool    `toml:"stop_at_first" doc:"the first candidate that passes all gates wins, and the others are not run"`
	HoldOut        int     `toml:"hold_out" doc:"percent of the tests written first that are hidden from the agents that write the code; they still run on that code"`
	LearnAfter     int     `toml:"learn_after" doc:"minimum number of outcomes of a batch type before they influence the choice of variants"`
}

// Agent is a program that works on batches.
type Agent struct {
	Preset     string `toml:"preset" doc:"supported CLI: claude, codex, gemini, opencode, aider, goose, crush, qwen or pi; command replaces its program and arguments"`
	Permission string `toml:"permission" doc:"what a preset may do without asking: workspace (write files), ask (what its own settings allow) or full; empty is workspace"`

	Command []string          `toml:"command" doc:"program and arguments; it gets the brief on standard input"`
	Env     map[string]string `toml:"env" doc:"variables to set"`
	PassEnv []string          `toml:"pass_env" doc:"environment variables that the agent gets"`
	Models  map[string]string `toml:"models" doc:"model of each tier: small, medium, large; the agent gets it in $RUNPLAN_MODEL"`

	Sandbox        string   `toml:"sandbox" doc:"sandbox of the agent: none, bwrap, docker, sandbox-exec or custom; empty is none"`
	SandboxCommand []string `toml:"sandbox_command" doc:"with custom: prefix of the agent's command; otherwise: additional arguments; {workspace}, {tmp}, {home} and {git} are replaced"`
	SandboxImage   string   `toml:"sandbox_image" doc:"with docker: the image"`
	SandboxWrite   []string `toml:"sandbox_write" doc:"further paths that the agent may write: absolute, or beginning with ~/"`
}

// Tests configures how changed tests count.
type Tests struct {
	Changed string `toml:"changed" doc:"handling of a test that passes in its new version and fails in its old one: warn, approve (a person must agree) or fail; tests named in the plan are accepted"`
}

// Mutants configures the budget for mutation testing.
type Mutants struct {
	Budget TimeShare `toml:"budget" doc:"time for running the tests on wrong versions of the changed lines: a duration, or a percentage of the time that the test gates of the attempt took; 0 tries none"`
	Bar    int       `toml:"bar" doc:"percent of wrong versions that the tests must detect; 0 only reports"`
}

// Promises configures how strictly a batch must keep the promises of the plan.
type Promises struct {
	Severity string   `toml:"severity" doc:"severity of a broken promise of the plan (Run: and Expected:, Create:, Modify:, Test:): error, warning, or off"`
	Timeout  Duration `toml:"timeout" doc:"time limit of one command of the plan"`
}

// Gates configures the checks after each batch.
type Gates struct {
	Detect       bool     `toml:"detect" doc:"find linters and test runners by the project's files"`
	RequireTests bool     `toml:"require_tests" doc:"fail a project without tests instead of skipping its test gate"`
	Format       bool     `toml:"format" doc:"run the project's formatter on changed files before the gates"`
	Disable      []string `toml:"disable" doc:"gates to turn off, by name"`
	Timeout      Duration `toml:"timeout" doc:"time limit of one gate"`
	FlakyReruns  int      `toml:"flaky_reruns" doc:"how often failing tests run again, to detect flaky ones"`
	Baseline     bool     `toml:"baseline" doc:"a failure that existed before the change is shown but does not block"`
	Command      []Gate   `toml:"command" doc:"your own gates"`

	When     map[string]string `toml:"when" doc:"conditions under which gates run, by name"`
	Severity []Severity        `toml:"severity" doc:"your own severities"`

	Protected    []string   `toml:"protected" doc:"further protected files, which only a batch that names them may change; globs"`
	StrictTypes  []string   `toml:"strict_types" doc:"files in which a type error blocks instead of warning; globs"`
	MaxFileLines int        `toml:"max_file_lines" doc:"maximum number of lines of a source file; 0 sets no limit"`
	MinMemoryMB  int        `toml:"min_memory_mb" doc:"warn if less memory is free, in MiB; 0 does not check"`
	Acceptance   Acceptance `toml:"acceptance"`
	Tests        Tests      `toml:"tests"`
	Mutants      Mutants    `toml:"mutants"`
	Plan         Promises   `toml:"plan"`
	AstGrep      string     `toml:"ast_grep" doc:"the ast-grep program for the gate patterns; empty searches PATH"`
	StrictAST    bool       `toml:"strict_ast" doc:"patterns of severity error fail instead of warning, and so do retry-loop, bare-except, async-no-await, empty-catch and unused-import"`
	Plugin       []Plugin   `toml:"plugin" doc:"gates that are separate programs"`
}

// Plugin is a gate that speaks the protocol of docs/plugins.md.
type Plugin struct {
	Name         string         `toml:"name" doc:"name of the gate"`
	Path         string         `toml:"path" doc:"the plugin's file; relative to the repository"`
	Command      []string       `toml:"command" doc:"command that starts the plugin, if its file is not a program"`
	Settings     map[string]any `toml:"settings" doc:"settings for the plugin"`
	SHA256       string         `toml:"sha256" doc:"SHA-256 of the file; a file with another checksum is not started"`
	Env          []string       `toml:"env" doc:"environment variables that the plugin gets"`
	Blocking     *bool          `toml:"blocking" doc:"whether failures of the gate block; if not set, the plugin decides"`
	StartTimeout Duration       `toml:"start_timeout" doc:"time limit for the start of the plugin"`
	Timeout      Duration       `toml:"timeout" doc:"time limit of one check"`
}

// Acceptance configures the folder of a project's own testscripts.
type Acceptance struct {
	Dir string `toml:"dir" doc:"folder of testscripts to run after each batch; empty runs none"`
}

// Severity overrides the severity of findings that meet a condition.
type Severity struct {
	When     string `toml:"when" doc:"condition on gate, rule, path, line, severity, message, test and env"`
	Severity string `toml:"severity" doc:"error, warning or info"`
}

// Gate is a command that must exit with 0.
type Gate struct {
	Name     string   `toml:"name"`
	Run      string   `toml:"run" doc:"shell text"`
	Dir      string   `toml:"dir" doc:"where to run it, relative to the project"`
	Paths    []string `toml:"paths" doc:"globs; the gate is skipped if no changed file matches"`
	Blocking *bool    `toml:"blocking" doc:"false only warns"`
	Timeout  Duration `toml:"timeout"`
	When     string   `toml:"when" doc:"condition under which it runs"`
}

// Workspace configures the set-up of a batch's worktree.
type Workspace struct {
	Copy         []string `toml:"copy" doc:"files to copy from your checkout, besides .worktreeinclude; globs"`
	Setup        string   `toml:"setup" doc:"shell text, run once in each new worktree"`
	SetupTimeout Duration `toml:"setup_timeout" doc:"time limit of the setup"`
}

// Duration is a time span written as "90s" or "30m".
type Duration time.Duration

// UnmarshalText parses a duration in the form of [time.ParseDuration].
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil || v < 0 {
		return fmt.Errorf("%q is not a duration such as 90s or 30m", text)
	}
	*d = Duration(v)
	return nil
}

// MarshalText writes the form that UnmarshalText reads.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// TimeShare is a time span such as "1m", or a percentage of another time span, such as "25%". A percentage is stored as
// a negative number.
type TimeShare int64

// ShareOf returns a percentage.
func ShareOf(percent int) TimeShare { return TimeShare(-percent) }

// UnmarshalText parses a duration in the form of [time.ParseDuration], or a whole number and a percent sign.
func (t *TimeShare) UnmarshalText(text []byte) error {
	if number, ok := strings.CutSuffix(string(text), "%"); ok {
		n, err := strconv.ParseUint(strings.TrimSuffix(number, " "), 10, 16)
		if err != nil || n > mostPercent {
			return fmt.Errorf("%q is not a percentage from 0%% to %d%%", text, mostPercent)
		}
		*t = ShareOf(int(n))
		return nil
	}
	var d Duration
	if d.UnmarshalText(text) != nil {
		return fmt.Errorf("%q is neither a duration such as 1m nor a percentage such as 25%%", text)
	}
	*t = TimeShare(d)
	return nil
}

// MarshalText writes the form that UnmarshalText reads.
func (t TimeShare) MarshalText() ([]byte, error) {
	if n := t.Percent(); n > 0 {
		return fmt.Appendf(nil, "%d%%", n), nil
	}
	return Duration(t.Time()).MarshalText()
}

// mostPercent limits a [TimeShare]: ten times the other time span.
const mostPercent = 1000

// Time returns the time span; 0 if it is a percentage.
func (t TimeShare) Time() time.Duration { return time.Duration(max(0, t)) }

// Percent returns the percentage; 0 if it is a time span.
func (t TimeShare) Percent() int { return int(max(0, -t)) }

// Default returns the built-in settings.
func Default() Config {
	return Config{
		Run: Run{
			Land: "branch", MaxAttempts: 3, MinFreeMB: 200, KeepEvidence: Duration(30 * 24 * time.Hour),
			AgentTimeout: Duration(time.Hour), IdleTimeout: Duration(15 * time.Minute), MaxRepeats: 100,
			Grace:       Duration(2 * time.Second),
			UnknownCost: "stop", OnLimit: "exit", Backoff: Duration(30 * time.Second), MaxBackoff: Duration(30 * time.Minute),
		},
		Routing: Routing{
			Mode: "auto", ParallelScoreThreshold: 60, SpeculateMaxOverlap: 20, Speculate: true, WorkerMemThresholdGB: 8,
			MaxWorkers:          3,
			ModelImplementation: "medium", ModelVerification: "small", ModelArchitecture: "large", ModelWiring: "small",
			ModelEscalateOnFail: true,
		},
		Context: Context{Tokens: 1500, RefLines: 100, RefLinesLeast: 50, Commits: 5, ProgressLines: 20, Similarity: 0.6},
		Sampling: Sampling{OnRetry: true, OnCritical: true, Count: 3, MaxCount: 5, MinMemoryPerGB: 4, Close: 0.05,
			LearnAfter: 10, HoldOut: 34},
		Review: Review{Batches: "off", Final: "off"},
		Gates: Gates{Detect: true, Format: true, FlakyReruns: 1, Baseline: true, Timeout: Duration(20 * time.Minute),
			Tests:   Tests{Changed: "warn"},
			Mutants: Mutants{Budget: ShareOf(25)}, Plan: Promises{Severity: "error", Timeout: Duration(10 * time.Minute)}},
		Workspace: Workspace{SetupTimeout: Duration(10 * time.Minute)},
		Notify:    Notify{Timeout: Duration(10 * time.Second)},
		Models:    Models{MaxTokens: 2048, Timeout: Duration(5 * time.Minute), Retries: 2, Margin: 0.2},
		Stages:    Stages{Files: 60, Symbols: 160},
		Critique:  Critique{MaxCalls: 30, Queue: 16, Wait: Duration(time.Minute)},
		Training:  Training{Timeout: Duration(24 * time.Hour)},
	}
}
