package routing

// Rules holds the figures and expressions for decisions (ROUTE-07, ROUTE-16). They come from the section [routing] of
// the settings; [DefaultRules] returns the defaults.
type Rules struct {
	ParallelScoreThreshold int     // team mode needs a score above it
	SpeculateMaxOverlap    int     // percent of shared files from which on a batch waits for the gates of another one
	WorkerMemGB            float64 // memory that one worker needs
	MaxWorkers             int
	Speculate              bool // whether batches may start on candidates that have not passed their gates

	// Expressions of the user's; "" is the built-in rule.
	Score string // a number from 0 to 100, over [ScoreFact]
	Team  string // yes or no
	Class string // the name of a class, over [ClassFact]

	// The tiers of the classes, by tier or alias.
	ModelImplementation string
	ModelVerification   string
	ModelArchitecture   string
	ModelWiring         string
	Escalate            bool // a failed batch is tried again one tier up
}

// DefaultRules returns the rules of a project that sets nothing.
func DefaultRules() Rules {
	return Rules{
		ParallelScoreThreshold: 60, SpeculateMaxOverlap: 20, WorkerMemGB: 8, MaxWorkers: 3, Speculate: true,
		ModelImplementation: "medium", ModelVerification: "small", ModelArchitecture: "large", ModelWiring: "small",
		Escalate: true,
	}
}
