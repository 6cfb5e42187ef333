package agentsmoke

import (
	"net/http"
	"strconv"
	"time"
)

// situation describes something that can go wrong while an agent works, and the result that runplan must report.
type situation struct {
	name   string
	script func(n int) turn // what the provider answers; nil works
	down   bool             // it takes no connection at all
	args   []string         // of runplan run
	config string           // lines of [run] in the project's config.toml
	plan   bool             // the CLI is signed in with a subscription, where it has such
	prices bool             // the user has written down what the models cost
	ctrlC  time.Duration    // runplan is interrupted after this time

	want want
	// except holds the CLIs for which another result is correct, with the reason.
	except map[string]want
	// not holds the CLIs that cannot be brought into the situation, with the reason.
	not map[string]string

	resume []string // arguments of runplan resume, which follows once all is well again
}

// want describes the expected result of a situation.
type want struct {
	exit    int      // status of runplan
	outcome string   // of the agent's attempt, as in the journal
	words   []string // in what runplan prints
	timed   bool     // when to try again is known
	tries   int      // attempts of the batch that are used up
	tokens  bool     // what the attempt used is known
	resume  int      // status of resume
	climbs  bool     // attempts move up a tier
	why     string   // of an exception
}

// always makes every request end in the same way.
func always(t turn) func(int) turn { return func(int) turn { return t } }

// first makes the given number of first requests end with t; all later requests work.
func first(many int, t turn) func(int) turn {
	return func(n int) turn {
		if n <= many {
			return t
		}
		return turn{}
	}
}

// The ways in which a run ends, with the words that runplan prints.
func limited(timed bool, words ...string) want {
	if timed {
		words = append(words, "try again at 20")
	}
	return want{exit: 4, outcome: "limited", timed: timed, words: append(words, "rate limit")}
}

func outage(words ...string) want { return want{exit: 4, outcome: "limited", words: words} }

func human(words ...string) want {
	return want{exit: 3, outcome: "needs_human", words: words}
}

// but adds the reason for an exception.
func (w want) but(why string) want {
	w.why = why
	return w
}

func failed(outcome string, words ...string) want {
	return want{exit: 1, outcome: outcome, words: words, tries: 1}
}

// opens returns the time at which the limit of a subscription resets.
func opens() time.Time { return time.Now().Add(time.Hour) }

func epoch(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

// situations returns all situations: the one in which everything succeeds, and 29 others.
func situations() []situation {
	return append(append(append([]situation{{
		name: "all goes well",
		want: want{exit: 0, outcome: "ok", words: []string{"1 merged"}, tries: 0, tokens: true},
	}}, limits()...), append(account(), outages()...)...), work()...)
}

func limits() []situation {
	const text = "This request would exceed your account's rate limit. Please try again later."
	gone := map[string]string{"X-Should-Retry": "false"}
	return []situation{
		{
			name: "429 with Retry-After",
			script: always(turn{
				status: http.StatusTooManyRequests, header: map[wire]map[string]string{"": {"Retry-After": "600"}},
				words: map[wire]words{
					anthropic: {kind: "rate_limit_error", message: text},
					google: {kind: "RESOURCE_EXHAUSTED", message: "Resource has been exhausted (e.g. check quota).",
						more: map[string]any{
							"details": []any{map[string]any{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "600s"}},
						}},
					"": {kind: "rate_limit_exceeded", code: "rate_limit_exceeded", message: "Rate limit reached for loop-1."},
				},
			}),
			want: limited(true),
			except: map[string]want{
				"claude":   limited(false).but("it does not print the header"),
				"codex":    limited(false).but("it does not print the header"),
				"opencode": limited(false).but("it does not print the header while it waits"),
			},
		},
		{
			name: "429 with the time in its text",
			script: always(turn{
				status: http.StatusTooManyRequests, header: map[wire]map[string]string{anthropic: gone},
				words: map[wire]words{
					anthropic: {kind: "rate_limit_error", message: "You have reached your rate limit. Please try again in 20m0s."},
					google:    {kind: "RESOURCE_EXHAUSTED", message: "You exceeded your current quota. Please retry in 1200s."},
					"": {kind: "rate_limit_exceeded", code: "rate_limit_exceeded",
						message: "Rate limit reached for loop-1. Please try again in 20m0s."},
				},
			}),
			want:   limited(true),
			except: map[string]want{"codex": limited(false).but("it prints the status only")},
		},
		{
			name: "429 without a time",
			script: always(turn{status: http.StatusTooManyRequests, words: map[wire]words{
				anthropic: {kind: "rate_limit_error", message: text},
				google:    {kind: "RESOURCE_EXHAUSTED", message: "Resource has been exhausted (e.g. check quota)."},
				"":        {kind: "rate_limit_exceeded", code: "rate_limit_exceeded", message: "Rate limit reached for loop-1."},
			}}),
			want:   limited(false),
			except: map[string]want{"qwen": limited(true).but("it prints how long it would wait")},
		},
		{
			name: "429 of a used-up plan", plan: true,
			script: always(turn{
				status: http.StatusTooManyRequests,
				header: map[wire]map[string]string{
					anthropic: {
						"X-Should-Retry": "false", "Anthropic-Ratelimit-Unified-Status": "rejected",
						"Anthropic-Ratelimit-Unified-Reset":                epoch(opens()),
						"Anthropic-Ratelimit-Unified-Representative-Claim": "five_hour",
					},
					responsesAPI: {
						"X-Codex-Primary-Used-Percent": "100", "X-Codex-Primary-Window-Minutes": "300",
						"X-Codex-Primary-Reset-At": epoch(opens()),
					},
				},
				words: map[wire]words{
					anthropic: {kind: "rate_limit_error", message: text},
					responsesAPI: {kind: "usage_limit_reached", message: "The usage limit has been reached", more: map[string]any{
						"plan_type": "plus", "resets_at": opens().Unix(), "resets_in_seconds": 3600,
					}},
					google: {kind: "RESOURCE_EXHAUSTED",
						message: "You exceeded your current quota, please check your plan and billing details. " +
							"Please retry in 3600s.", more: map[string]any{"details": []any{
							map[string]any{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": []any{
								map[string]any{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"},
							}},
							map[string]any{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3600s"},
						}}},
					"": {kind: "usage_limit_reached", code: "usage_limit_reached", message: "Usage limit reached. It resets at " +
						opens().UTC().Format("2006-01-02T15:04:05Z") + "."},
				},
			}),
			want:   limited(true),
			except: map[string]want{"gemini": limited(false).but("it prints no time for a daily quota")},
		},
	}
}

func account() []situation {
	all := func(kind, code, message string, others map[wire]words) map[wire]words {
		out := map[wire]words{"": {kind: kind, code: code, message: message}}
		for api, w := range others {
			out[api] = w
		}
		return out
	}
	return []situation{
		{
			name: "401",
			script: always(turn{status: http.StatusUnauthorized,
				words: all("invalid_request_error", "invalid_api_key", "Incorrect API key provided", map[wire]words{
					anthropic: {kind: "authentication_error", message: "invalid x-api-key"},
					google:    {kind: "UNAUTHENTICATED", message: "API key not valid. Please pass a valid API key."},
				})}),
			want: human("not signed in"),
		},
		{
			name: "403",
			script: always(turn{status: http.StatusForbidden,
				words: all("insufficient_permissions", "insufficient_permissions", "You do not have access to this resource.",
					map[wire]words{
						anthropic: {kind: "permission_error",
							message: "Your API key does not have permission to use the specified resource."},
						google: {kind: "PERMISSION_DENIED", message: "The caller does not have permission"},
					})}),
			want: human("no access with this sign-in"),
		},
		{
			name: "no credit",
			script: always(turn{status: http.StatusPaymentRequired, words: all("insufficient_quota", "insufficient_quota",
				"You exceeded your current quota, please check your plan and billing details.", map[wire]words{
					anthropic: {kind: "invalid_request_error",
						message: "Your credit balance is too low to access the Anthropic API. " +
							"Please go to Plans & Billing to upgrade or purchase credits."},
					google: {kind: "FAILED_PRECONDITION", message: "Please enable billing on your project in Google AI Studio."},
				})}),
			want: human("the account has no credit left"),
		},
		{
			name: "no such model",
			script: always(turn{status: http.StatusNotFound, words: all("invalid_request_error", "model_not_found",
				"The model `loop-1` does not exist or you do not have access to it.", map[wire]words{
					anthropic: {kind: "not_found_error", message: "model: loop-1"},
					google: {kind: "NOT_FOUND",
						message: "models/loop-1 is not found for API version v1beta, or is not supported for generateContent."},
				})}),
			want: human("model"),
		},
	}
}

func outages() []situation {
	status := func(code int, kind, message string) func(int) turn {
		return always(turn{status: code, words: map[wire]words{
			"":        {kind: kind, code: kind, message: message},
			anthropic: {kind: kind, message: message},
			google:    {kind: "INTERNAL", message: message},
		}})
	}
	const html = "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"
	return []situation{
		{
			name: "500", script: status(500, "api_error", "Internal server error"), want: outage("the provider failed"),
			except: map[string]want{"codex": outage("the provider is overloaded").but("it reports high demand")},
		},
		{name: "502 of a proxy", script: always(turn{status: 502, body: html}), want: outage("the provider failed")},
		{name: "503", script: status(503, "overloaded_error", "Service unavailable"),
			want: outage("the provider is overloaded")},
		{
			name: "529", script: status(529, "overloaded_error", "Overloaded"), want: outage("the provider is overloaded"),
			except: map[string]want{"qwen": limited(true).but("it reports only that it waits for capacity")},
		},
		{name: "no connection", down: true, want: outage("no connection to the provider")},
		{
			name: "cut before the first byte", script: always(turn{how: "drop"}), want: outage("no connection to the provider"),
			except: map[string]want{"qwen": outage("the provider failed").but("it does not print why it retries")},
		},
		{name: "cut in the middle", script: always(turn{how: "cut"}), want: outage("no connection to the provider")},
		{
			name: "garbage", script: always(turn{how: "garbage"}), want: outage("the provider failed"),
			except: map[string]want{"codex": outage("no connection to the provider").but("it reports a stream without an end")},
		},
		{
			name: "two failures, then well", script: first(2, turn{status: 500, words: map[wire]words{
				"":     {kind: "api_error", code: "api_error", message: "Internal server error"},
				google: {kind: "INTERNAL", message: "Internal error"},
			}}),
			config: "backoff = '1s'\n",
			want:   want{exit: 0, outcome: "ok", words: []string{"1 merged"}, tokens: true},
		},
	}
}

func work() []situation {
	over := map[wire]words{
		anthropic: {kind: "invalid_request_error", message: "prompt is too long: 213462 tokens > 200000 maximum"},
		google: {kind: "INVALID_ARGUMENT",
			message: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."},
		"": {kind: "invalid_request_error", code: "context_length_exceeded",
			message: "This model's maximum context length is 128000 tokens. However, your messages resulted in 150000 tokens."},
		responsesAPI: {kind: "invalid_request_error", code: "context_length_exceeded",
			message: "Your input exceeds the context window of this model. Please adjust your input and try again."},
	}
	twice := []string{"--max-attempts", "3"}
	hopeless := func(words ...string) want {
		return want{exit: 1, outcome: "failed",
			words: append(words, "not tried again, because it failed in the same way twice"), tries: 2}
	}
	// Some CLIs report a truncated or refused answer like any other: only the model's text is known.
	unsaid := func(said string) want {
		return want{
			exit: 1, outcome: "unchanged", words: []string{"changed nothing", said, "stuck: two attempts"}, tries: 2,
			climbs: true,
			why:    "it does not print why the answer ended",
		}
	}
	return []situation{
		{name: "context overflow", script: always(turn{status: 400, words: over}), args: twice,
			want: hopeless("too long for the model's context")},
		{
			name: "refusal", script: always(turn{does: "say", text: "I cannot help with that.", stop: refusalStop}), args: twice,
			want:   hopeless("the model refused"),
			except: map[string]want{"gemini": unsaid("I cannot help with that."), "qwen": unsaid("I cannot help with that.")},
		},
		{
			name: "answer cut at its length", script: always(turn{does: "say", text: "Let me begin", stop: lengthStop}),
			args:   twice,
			want:   hopeless("too long for the model's context"),
			except: map[string]want{"gemini": unsaid("Let me begin"), "qwen": unsaid("Let me begin")},
		},
		{name: "empty answer", script: always(turn{does: "say"}), want: failed("failed", "it exited without output")},
		{name: "a question", script: always(turn{does: "say", text: "Which greeting do you want?"}),
			want: failed("unchanged", "changed nothing", "Which greeting do you want?")},
		{name: "done without a change", script: always(turn{does: "say", text: "All is done."}),
			want: failed("unchanged", "changed nothing")},
		{name: "the same call again and again", script: always(turn{does: "loop"}), config: "max_repeats = 6\n",
			want: failed("failed", "runaway attempt")},
		{
			name: "a command that writes outside", script: always(turn{does: "shell"}), want: human("it had no permission to use"),
			except: map[string]want{"codex": failed("unchanged", "changed nothing").but("its own sandbox stops the command")},
			not: map[string]string{
				"gemini": "its model is offered no shell", "qwen": "its model is offered no shell",
				"pi": "its model is offered no shell",
			},
		},
		{name: "silence", script: always(turn{how: "hang"}), args: []string{"--idle-timeout", "15s"},
			want: failed("timed_out", "idle limit reached"), resume: []string{"--idle-timeout", "3m"}},
		{name: "time limit of the attempt", script: always(turn{does: "more", wait: time.Second}),
			args: []string{"--agent-timeout", "25s"}, want: failed("timed_out", "time limit reached"),
			resume: []string{"--agent-timeout", "3m"}},
		{
			name: "money limit within the attempt", script: always(turn{does: "more"}),
			args: []string{"--max-cost", "0.005", "--max-attempts", "3"}, prices: true,
			want: want{exit: 4, outcome: "failed", words: []string{"runaway attempt: it cost $0.0", "the cost limit of $0.0050"},
				tries: 1, tokens: true}, resume: []string{"--max-cost", "0"},
			not: map[string]string{"codex": "it prints tokens only at its end", "gemini": "it prints tokens only at its end"},
		},
		{name: "Ctrl-C", script: always(turn{does: "more", wait: time.Second}), ctrlC: 12 * time.Second,
			want: want{exit: 130, outcome: "cancelled", words: []string{"runplan resume"}}},
	}
}
