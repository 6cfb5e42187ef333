package redact

import (
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/literal"
)

// Kind is a kind of secret with a known form. If its expression has a group, the group is the secret and the rest is
// its context.
type Kind struct {
	ID    string // in lower case, with hyphens: "github-token"
	Guess bool   // it may not be a secret

	re    *lazyre.Regexp
	lits  []literal.Lit     // each match contains one of them; nil derives them from the expression
	edge  bool              // no letter, digit or underscore before it
	exact bool              // nor after it
	check func(string) bool // further condition for the secret; nil for none

	// at is a quick check of a literal at an offset, for a literal that is frequent in code: false if it is not part of a
	// match. nil accepts all.
	at func(text string, offset int) bool
}

func (k *Kind) mark() string {
	return mark(strings.ToUpper(strings.ReplaceAll(k.ID, "-", "_")))
}

func (k *Kind) needs() []literal.Lit {
	if k.lits != nil {
		return k.lits
	}
	return literal.Needs(k.re.String())
}

// shape is a kind with a unique prefix.
func shape(id, expr string) Kind { return Kind{ID: id, re: lazyre.New(expr)} }

// word returns a kind whose prefix also occurs inside of words.
func word(id, expr string) Kind { return Kind{ID: id, re: lazyre.New(expr), edge: true} }

// fixed returns a kind of a fixed length: a longer text is not that kind.
func fixed(id, expr string) Kind { return Kind{ID: id, re: lazyre.New(expr), edge: true, exact: true} }

const uuid = `[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}`

// kinds lists the kinds in the order in which they are tried. Prefixes, lengths and alphabets are published by
// providers and scanners; lengths are lower bounds if providers have changed them.
var kinds = []Kind{
	shape("private-key",
		`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----(?:.*?-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----|(?:(?:\s|\\[nrt])+[A-Za-z0-9+/=]{16,})*(?:(?:\s|\\[nrt])+[A-Za-z0-9+/=]+)?)`),
	shape("age-key", `(?i)AGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]{40,}`),

	// code hosts and registries
	shape("github-token", `gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}`),
	word("gitlab-token",
		`(?:glpat|gldt|glrt|glptt|glft|glimt|glagent|gloas|glsoat|glcbt|glffct|glrtr)-[A-Za-z0-9_.-]{16,}|GR1348941[A-Za-z0-9_-]{20}`),
	word("bitbucket-token", `AT(?:BB|CTT3)[A-Za-z0-9_=-]{24,}`),
	word("npm-token", `npm_[A-Za-z0-9]{36}`),
	word("pypi-token", `pypi-[A-Za-z0-9_-]{50,}`),
	fixed("crates-token", `cio[A-Za-z0-9]{32}`),
	word("registry-token",
		`rubygems_[a-f0-9]{32,}|dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}|oy2[a-z0-9]{43}|CLOJARS_[A-Za-z0-9]{40,}|AKCp[A-Za-z0-9]{60,}|cmVmd[A-Za-z0-9]{59}`),

	// clouds
	fixed("aws-key", `(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}`),
	{ID: "aws-secret", exact: true,
		re: lazyre.New(`(?i)(?:aws.{0,20}?secret|secret[ _-]?access)[ _-]?(?:access[ _-]?)?key["']?[ \t]{0,8}(?:=>|:=|[:=])[ \t]{0,8}["']?([A-Za-z0-9/+]{40})`)},
	{ID: "aws-session-token",
		re: lazyre.New(`(?i)(?:aws.{0,12}?|\b)(?:session|security)[ _-]?token["']?[ \t]{0,8}(?:=>|:=|[:=])[ \t]{0,8}["']?([A-Za-z0-9/+]{80,}={0,2})`)},
	word("bedrock-key", `ABSK[A-Za-z0-9+/]{100,}={0,2}|bedrock-api-key-[A-Za-z0-9+/=_-]{30,}`),
	shape("azure-key",
		`(?i)(?:AccountKey|SharedAccessKey|SharedSecretKey)["']?[ \t]{0,4}[=:][ \t]{0,4}["']?([A-Za-z0-9+/]{40,}={0,2})`),
	shape("azure-sas", `(?i)[?&;]sig=([A-Za-z0-9+/%_-]{40,}={0,2})`),
	{ID: "azure-storage-key",
		re: lazyre.New(`[A-Za-z0-9+/]{76}\+ASt[A-Za-z0-9+/]{6}==|[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}`)},
	{ID: "azure-client-secret", edge: true, exact: true,
		re: lazyre.New(`[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{30,33}[A-Za-z0-9_~-]`), lits: digitsBefore("Q~")},
	word("google-key", `AIza[0-9A-Za-z_-]{35}|GOCSPX-[A-Za-z0-9_-]{20,}|ya29\.[0-9A-Za-z_-]{20,}|1//0[0-9A-Za-z_-]{30,}`),
	word("cloud-key", `LTAI[A-Za-z0-9]{17,}|AQVN[A-Za-z0-9_-]{35,}`),
	shape("digitalocean-token", `do[opr]_v1_[a-fA-F0-9]{40,}`),
	shape("heroku-key",
		`HRKU-[A-Za-z0-9_-]{36,}|(?i:heroku)[A-Za-z0-9 _.-]{0,30}["']?[ \t]{0,4}(?:=>|:=|[:=])[ \t]{0,4}["']?(?:`+uuid+`)`),
	shape("fly-token", `fo1_[A-Za-z0-9_-]{43}|fm[12][ar]?_[A-Za-z0-9+/]{80,}={0,3}`),
	word("hosting-token",
		`nfp_[A-Za-z0-9]{36,}|sbp_[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{30,}|v1\.0-[a-f0-9]{24}-[a-f0-9]{100,}|napi_[a-z0-9]{40,}|rnd_[A-Za-z0-9]{28,}`),
	shape("planetscale-token", `pscale_(?:tkn|oauth|pw)_[A-Za-z0-9_=.-]{30,}`),
	word("databricks-token", `dapi[a-f0-9]{32}(?:-[0-9])?`),

	// operations
	word("vault-token", `hv[sbr]\.[A-Za-z0-9_-]{20,}`),
	shape("terraform-token", `[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}`),
	shape("onepassword-token",
		`ops_eyJ[A-Za-z0-9+/_-]{80,}={0,3}|A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}`),
	word("grafana-token",
		`glc_[A-Za-z0-9+/]{32,}={0,3}|glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|eyJrIjoi[A-Za-z0-9+/_-]{60,}={0,3}`),
	shape("newrelic-key",
		`NRAK-[A-Za-z0-9]{27}|NR(?:II|IQ|RA|SP)-[A-Za-z0-9_-]{30,}|NRJS-[a-f0-9]{19}|[A-Za-z0-9]{36}NRAL`),
	{ID: "datadog-key",
		re: lazyre.New(`(?i)(?:dd|datadog)[ _-]?(?:api|app|application|client|access)?[ _-]?(?:key|token|secret)["']?[ \t]{0,4}(?:=>|:=|[:=])[ \t]{0,4}["']?((?:pub)?[a-f0-9]{32,40})|dda(?:pp|pi)_[A-Za-z0-9]{30,}`),
		lits: append(literal.Folded("dd_", "dd-", "dd api", "ddkey", "ddap", "datadog"),
			literal.Exactly("ddapi_", "ddapp_")...)},
	word("sentry-token", `sntry[su]_[A-Za-z0-9+/=_-]{40,}`),
	word("operations-token",
		`pul-[a-f0-9]{40}|pn[ub]_[A-Za-z0-9]{36}|dp\.(?:pt|st|ct|sa|said|scim|audit)\.[A-Za-z0-9._-]{36,}|dt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}|sq[upa]_[a-f0-9]{40}|sgp_(?:[a-fA-F0-9]{16}_|local_)?[a-fA-F0-9]{40}|CCIPAT_[A-Za-z0-9_]{30,}|bk[ua]a_[A-Za-z0-9]{36,}|API-[A-Z0-9]{26}|PMAK-[a-f0-9]{24}-[a-f0-9]{34}`),
	shape("openshift-token", `sha256~[A-Za-z0-9_-]{43}`),
	fixed("launchdarkly-key", `(?:sdk|api|mob)-`+uuid),

	// messages
	shape("slack-token", `xox[a-z]-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{10,}`),
	shape("slack-hook", `hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_+-]{8,}`),
	shape("discord-hook", `discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/[0-9]{8,}/[A-Za-z0-9_-]{30,}`),
	{ID: "discord-token", edge: true, exact: true,
		re:   lazyre.New(`(?:mfa\.[A-Za-z0-9_-]{80,}|[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40})`),
		lits: append(base64Digits(), literal.Exactly("mfa.")...)},
	{ID: "telegram-token", edge: true, exact: true, re: lazyre.New(`[0-9]{5,16}:A[A-Za-z0-9_-]{34}`),
		lits: digitsBefore(":A")},
	shape("teams-hook", `webhook\.office\.com/webhookb2/[A-Za-z0-9@/_-]{40,}`),
	{ID: "twilio-key", edge: true, exact: true, re: lazyre.New(`SK[0-9a-f]{32}`), lits: hexBehind("SK")},
	word("sendgrid-key", `SG\.[A-Za-z0-9_=.-]{50,}`),
	fixed("mail-key", `(?:pub)?key-[0-9a-f]{32}|[0-9a-f]{32}-us[0-9]{1,2}`),
	word("brevo-key", `x(?:keysib|smtpsib)-[a-f0-9]{64}-[A-Za-z0-9]{16}`),

	// payments and shops
	word("stripe-key", `[sr]k_(?:live|test|prod)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/]{24,}={0,2}`),
	word("shop-token",
		`shp(?:at|ca|pa|ss|ua|tka|ltka)_[a-fA-F0-9]{32}|sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,}|EAAA[A-Za-z0-9_-]{60}|EZ[AT]K[A-Za-z0-9]{54}|FLWSECK(?:_TEST)?-[A-Za-z0-9-]{12,}|shippo_(?:live|test)_[a-fA-F0-9]{40}|access-(?:sandbox|development|production)-`+uuid),

	// work and models
	{ID: "work-token", edge: true, at: noWord,
		re: lazyre.New(`lin_(?:api|oauth)_[A-Za-z0-9]{32,}|ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43}|fig[a-z]_[A-Za-z0-9_-]{30,}|pat[A-Za-z0-9]{14}\.[a-f0-9]{64}|ATATT3[A-Za-z0-9_=-]{60,}|CFPAT-[A-Za-z0-9_-]{43}|EAA[A-Za-z0-9]{100,}|tfp_[A-Za-z0-9_.=-]{40,}|rdme_[a-z0-9]{70}|ico-[A-Za-z0-9]{32}|phx_[A-Za-z0-9]{40,}`)},
	shape("anthropic-key", `sk-ant-[A-Za-z0-9_-]{20,}`),
	{ID: "openai-key", edge: true, check: mixed, re: lazyre.New(`sk-[A-Za-z0-9_-]{20,}`)},
	word("model-key",
		`hf_[A-Za-z0-9]{30,}|api_org_[A-Za-z0-9]{30,}|r8_[A-Za-z0-9]{37,}|gsk_[A-Za-z0-9]{40,}|pplx-[A-Za-z0-9]{40,}|xai-[A-Za-z0-9]{60,}|nvapi-[A-Za-z0-9_-]{50,}|lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}|tvly-[A-Za-z0-9-]{28,}`),

	// for any provider
	{ID: "jwt", Guess: true,
		re: lazyre.New(`eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?|eyJ[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}`)},
	{ID: "authorization", Guess: true,
		re: lazyre.New(`(?i)authorization["']?\s*[:=]\s*["']?(?:bearer|basic|token)\s+([A-Za-z0-9+/._~=-]{8,})`)},
	{ID: "url-password", Guess: true, at: password,
		re: lazyre.New(`[A-Za-z][A-Za-z0-9+.-]{0,30}://[^\s/:@"'<>]{0,200}:([^\s/@"'<>\[]{1,500})@`)},
	{ID: "assignment", Guess: true, at: assigns, re: assignment},
}
