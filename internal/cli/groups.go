package cli

// Command groups in the order in which the help shows them, which is the order in which users need them.
const (
	GroupRun   = "Run plans"
	GroupLook  = "Before a run"
	GroupJudge = "Judge code"
	GroupKnow  = "Know and learn"
	GroupTalk  = "Talk to runplan"
	GroupTrust = "Decide what it may do"
	GroupSetup = "Set up and maintain"
)
