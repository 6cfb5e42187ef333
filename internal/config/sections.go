package config

import (
	"fmt"
	"time"
)

// Config is all that can be set.
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
	Land           string   `toml:"land" doc:"branch, ff or pr: what happens with the run branch at the end"`
	MaxAttempts    int      `toml:"max_attempts" doc:"attempts at a batch before it counts as failed; where the work of others got in its way it is rebuilt, as often again"`
	AgentTimeout   Duration `toml:"agent_timeout" doc:"time limit of one attempt"`
	IdleTimeout    Duration `toml:"idle_timeout" doc:"an agent that prints nothing for so long is stopped"`
	MaxRepeats     int      `toml:"max_repeats" doc:"an attempt whose last tool calls, this many in a row, were all made before is stopped; 0 is no limit"`
	MaxTokens      int      `toml:"max_attempt_tokens" doc:"an attempt that used more tokens (input, output and cache) is stopped; 0 is no limit"`
	MaxAttemptUSD  float64  `toml:"max_attempt_cost_usd" doc:"an attempt that cost more US dollars is stopped; 0 is no limit"`
	Grace          Duration `toml:"grace" doc:"time between asking a program to end and killing it"`
	StrictCheckout bool     `toml:"strict_checkout" doc:"a change of your checkout while an agent works fails its attempt, instead of a warning"`
	MinFreeMB      int      `toml:"min_free_mb" doc:"free disk space that a run asks for, in MiB"`
	KeepEvidence   Duration `toml:"keep_evidence" doc:"how long plans, logs and journals of runs that are done stay in a repository that several machines share, before gc of the engine removes them"`

	MaxCostUSD  float64  `toml:"max_cost_usd" doc:"what the agents of a run may cost, in US dollars; 0 is no limit"`
	UnknownCost string   `toml:"unknown_cost" doc:"stop or allow: what an attempt without a known cost means under a cost limit"`
	MaxTime     Duration `toml:"max_time" doc:"time limit of one go at a run; 0 is none"`
	OnLimit     string   `toml:"on_limit" doc:"what follows when an agent met a rate limit and nothing else can be done: exit, wait, fallback (another agent takes over; once all are limited, exit) or fallback,wait"`
	Backoff     Duration `toml:"backoff" doc:"first wait for a rate limit whose end is not told (with on_limit = wait), and for a provider that fails or cannot be reached (always, a few times); it doubles from wait to wait; 0 waits for no limit without a time and for no outage"`
	MaxBackoff  Duration `toml:"max_backoff" doc:"longest such wait"`
	Fallback    []string `toml:"fallback" doc:"agents that take over, in order, from those that met a rate limit, where on_limit says so"`
}

// Routing holds the figures of the decision between headless and team mode (ROUTE-07).
type Routing struct {
	Mode                   string  `toml:"mode" doc:"auto, headless or team"`
	ParallelScoreThreshold int     `toml:"parallel_score_threshold" doc:"team mode needs a parallelism score above it"`
	SpeculateMaxOverlap    int     `toml:"speculate_max_overlap" doc:"a batch starts on a candidate whose gates still run only when fewer of their files are shared, in percent"`
	Speculate              bool    `toml:"speculate" doc:"whether work may start on what is not yet gated"`
	WorkerMemThresholdGB   float64 `toml:"worker_mem_threshold_gb" doc:"memory that one worker is given, in GB"`
	MaxWorkers             int     `toml:"max_workers" doc:"maximum number of batches in progress at the same time"`
	ModelImplementation    string  `toml:"model_implementation" doc:"tier for batches that create or change code: small, medium or large (the older names haiku, sonnet and opus are read as well)"`
	ModelVerification      string  `toml:"model_verification" doc:"tier for batches that only run commands"`
	ModelArchitecture      string  `toml:"model_architecture" doc:"tier for batches that design"`
	ModelWiring            string  `toml:"model_wiring" doc:"tier for batches that connect what is there"`
	ModelEscalateOnFail    bool    `toml:"model_escalate_on_fail" doc:"a failed batch is tried again one tier up"`
	Score                  string  `toml:"score" doc:"expression for the parallelism score; empty is the built-in one"`
	Team                   string  `toml:"team" doc:"expression that decides for team mode; empty is the built-in one"`
	Class                  string  `toml:"class" doc:"expression that gives the class of a batch; empty is the built-in one"`
}

// Team says whether team mode may be chosen without being asked for.
type Team struct {
	Enabled bool `toml:"enabled" doc:"team mode may be chosen without --mode team (also RUNPLAN_AGENT_TEAMS=1)"`
}

// Context holds the figures of the block of context that each brief carries (CTX-04, CTX-06).
type Context struct {
	Tokens        int     `toml:"tokens" doc:"size of the context block, in tokens of four characters; 0 leaves it out"`
	RefLines      int     `toml:"ref_lines" doc:"lines of each file that context_refs names"`
	RefLinesLeast int     `toml:"ref_lines_least" doc:"lines of each such file once the block is too large"`
	Commits       int     `toml:"commits" doc:"commits of earlier batches to show"`
	ProgressLines int     `toml:"progress_lines" doc:"last lines of progress.txt to show"`
	Similarity    float64 `toml:"similarity" doc:"how alike a batch title and a failure pattern have to be, 0 to 1"`
	File          string  `toml:"file" doc:"file of the workspace that gets the context block as a section, put back before the gates; empty writes none"`
}

// Sampling says when several candidates of a batch compete (SAMP-16).
type Sampling struct {
	OnRetry        bool    `toml:"sample_on_retry" doc:"after a failed attempt several candidates compete, instead of one more attempt"`
	OnCritical     bool    `toml:"sample_on_critical" doc:"batches that are marked critical are sampled from the start"`
	Count          int     `toml:"sample_count" doc:"candidates of a tournament"`
	MaxCount       int     `toml:"sample_max_count" doc:"most candidates that may be asked for"`
	MinMemoryPerGB float64 `toml:"sample_min_memory_per_gb" doc:"memory that one candidate is given, in GB"`
	Score          string  `toml:"score" doc:"expression for the score of a candidate; empty is the built-in one"`
	Close          float64 `toml:"close" doc:"two scores are close when they differ by at most this share of the better one"`
	StopAtFirst    bool    `toml:"stop_at_first" doc:"the first candidate that passes all gates wins, and the others are not run"`
	HoldOut        int     `toml:"hold_out" doc:"percent of the tests written first that no agent sees which writes the code; they run on its code all the same"`
	LearnAfter     int     `toml:"learn_after" doc:"outcomes of a batch type before what was learned chooses variants"`
}

// Agent is a program that works on batches.
type Agent struct {
	Preset     string `toml:"preset" doc:"CLI that runplan knows how to drive: claude, codex, gemini, opencode, aider, goose, crush, qwen or pi; a command besides it takes the place of its program and arguments"`
	Permission string `toml:"permission" doc:"what a preset may do without asking: workspace (write files), ask (what its own settings allow) or full; empty is workspace"`

	Command []string          `toml:"command" doc:"program and arguments; the brief comes on standard input"`
	Env     map[string]string `toml:"env" doc:"variables to set"`
	PassEnv []string          `toml:"pass_env" doc:"variables of yours that the agent may see"`
	Models  map[string]string `toml:"models" doc:"model of each tier: small, medium, large; it comes in $RUNPLAN_MODEL"`

	Sandbox        string   `toml:"sandbox" doc:"what the agent is confined by: none, bwrap, docker, sandbox-exec or custom; empty is none"`
	SandboxCommand []string `toml:"sandbox_command" doc:"with custom: what stands before the agent's command; with another: arguments to add; {workspace}, {tmp}, {home} and {git} are filled in"`
	SandboxImage   string   `toml:"sandbox_image" doc:"with docker: the image"`
	SandboxWrite   []string `toml:"sandbox_write" doc:"what the agent may write besides its workspace and its own state: absolute, or beginning with ~/"`
}

// Tests says how changed tests count.
type Tests struct {
	Changed string `toml:"changed" doc:"what follows from a test that passes as the change has it and fails as it was before: warn, approve (a person has to agree) or fail; what the plan names is agreed"`
}

// Mutants configures the budget for mutation testing.
type Mutants struct {
	Budget Duration `toml:"budget" doc:"time for running the tests on wrong versions of the lines that a batch changed; 0 tries none"`
	Bar    int      `toml:"bar" doc:"percent of wrong versions that the tests must notice; 0 only reports"`
}

// Promises configures how strictly a batch must keep the promises of the plan.
type Promises struct {
	Severity string   `toml:"severity" doc:"of a broken promise of the plan (Run: and Expected:, Create:, Modify:, Test:): error, warning, or off to look at none"`
	Timeout  Duration `toml:"timeout" doc:"time limit of one command of the plan"`
}

// Gates configures the checks after each batch.
type Gates struct {
	Detect       bool     `toml:"detect" doc:"find linters and test runners by the project's files"`
	RequireTests bool     `toml:"require_tests" doc:"fail a project without tests instead of skipping its test gate"`
	Format       bool     `toml:"format" doc:"run the project's formatter on changed files before the gates"`
	Disable      []string `toml:"disable" doc:"gates to leave out, by name"`
	Timeout      Duration `toml:"timeout" doc:"time limit of one gate"`
	FlakyReruns  int      `toml:"flaky_reruns" doc:"how often failing tests are run again, to tell flaky ones"`
	Baseline     bool     `toml:"baseline" doc:"a failure that was there before the change is shown and does not block"`
	Command      []Gate   `toml:"command" doc:"gates of your own"`

	When     map[string]string `toml:"when" doc:"conditions under which gates look, by name"`
	Severity []Severity        `toml:"severity" doc:"severities of your own"`

	Protected    []string   `toml:"protected" doc:"files that only a batch that names them may change, besides CI, .runplan and the settings of linters and tests; globs"`
	StrictTypes  []string   `toml:"strict_types" doc:"files in which a type error blocks instead of warning; globs"`
	MaxFileLines int        `toml:"max_file_lines" doc:"length that a source file may have; 0 is any"`
	MinMemoryMB  int        `toml:"min_memory_mb" doc:"warn when less memory is free, in MiB; 0 does not look"`
	Acceptance   Acceptance `toml:"acceptance"`
	Tests        Tests      `toml:"tests"`
	Mutants      Mutants    `toml:"mutants"`
	Plan         Promises   `toml:"plan"`
	AstGrep      string     `toml:"ast_grep" doc:"the ast-grep program for the gate patterns; empty looks on PATH"`
	StrictAST    bool       `toml:"strict_ast" doc:"patterns of severity error fail instead of warning, and so do retry-loop, bare-except, async-no-await, empty-catch and unused-import"`
	Plugin       []Plugin   `toml:"plugin" doc:"gates that are programs of their own"`
}

// Plugin is a gate that speaks the protocol of docs/plugins.md.
type Plugin struct {
	Name         string         `toml:"name" doc:"of the gate"`
	Path         string         `toml:"path" doc:"the plugin's file; relative to the repository"`
	Command      []string       `toml:"command" doc:"what starts it, where it is no program itself"`
	Settings     map[string]any `toml:"settings" doc:"for the plugin"`
	SHA256       string         `toml:"sha256" doc:"of the file; another content is not started"`
	Env          []string       `toml:"env" doc:"variables of yours that it may see"`
	Blocking     *bool          `toml:"blocking" doc:"whether its failures block; left out, the plugin says"`
	StartTimeout Duration       `toml:"start_timeout" doc:"time limit of its start"`
	Timeout      Duration       `toml:"timeout" doc:"time limit of one look"`
}

// Acceptance configures the folder of a project's own testscripts.
type Acceptance struct {
	Dir string `toml:"dir" doc:"folder of testscripts to run after each batch; empty has none"`
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
	When     string   `toml:"when" doc:"condition under which it looks"`
}

// Workspace says how the worktree of a batch is set up.
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
			Tests: Tests{Changed: "warn"}, Plan: Promises{Severity: "error", Timeout: Duration(10 * time.Minute)}},
		Workspace: Workspace{SetupTimeout: Duration(10 * time.Minute)},
		Notify:    Notify{Timeout: Duration(10 * time.Second)},
		Models:    defaultModels(),
		Stages:    Stages{Files: 60, Symbols: 160},
		Critique:  defaultCritique(),
		Training:  defaultTraining(),
	}
}
