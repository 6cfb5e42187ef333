// Package deploy has no code: its tests check the files that a team starts from, in the way in which the programs
// that read these files parse them. It is a separate module, so that no other module links those programs.
package deploy

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// program is the path of the worker program that TestMain builds.
var program string

var programs = flag.String("programs", "", "folder with runplan-temporal, not to build it")

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(build(m.Run))
}

func build(run func() int) int {
	dir := *programs
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "runplan-deploy-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(dir, "runplan-temporal"),
			"./cmd/runplan-temporal")
		cmd.Dir, cmd.Stderr, cmd.Stdout = "..", os.Stderr, os.Stderr
		cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath", "GOTOOLCHAIN=local", "CGO_ENABLED=0")
		if err := cmd.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "build runplan-temporal:", err)
			return 1
		}
	}
	program = filepath.Join(dir, "runplan-temporal")
	return run()
}

// image describes the image that the container file builds.
type image struct {
	stages     []instructions.Stage
	entrypoint []string
	user       string
	volume     string
	copied     map[string]string // by what is there: what it is a copy of, of which stage
	run        string
}

func readImage(t *testing.T) image {
	t.Helper()
	text, err := os.ReadFile("Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	ast, err := parser.Parse(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range ast.Warnings {
		t.Errorf("the container file: %s", w.Short)
	}
	stages, _, err := instructions.Parse(ast.AST, nil)
	if err != nil {
		t.Fatal(err)
	}
	i := image{stages: stages, copied: map[string]string{}}
	for _, c := range stages[len(stages)-1].Commands {
		switch c := c.(type) {
		case *instructions.EntrypointCommand:
			i.entrypoint = c.CmdLine
		case *instructions.UserCommand:
			i.user = c.User
		case *instructions.VolumeCommand:
			i.volume = strings.Join(c.Volumes, " ")
		case *instructions.RunCommand:
			i.run += strings.Join(c.CmdLine, " ") + "\n"
		case *instructions.CopyCommand:
			i.copied[c.DestPath] = c.From + ":" + strings.Join(c.SourcePaths, " ")
		}
	}
	return i
}

// The image is built from existing sources, runs as a user that it creates, and starts a program that it contains.
func TestImageContainsItsProgram(t *testing.T) {
	i := readImage(t)
	if len(i.stages) != 2 || i.stages[0].Name != "build" ||
		i.copied["/usr/local/bin/runplan-temporal"] != "build:/runplan-temporal" {
		t.Errorf("%d stages, %v", len(i.stages), i.copied)
	}
	built := ""
	for _, c := range i.stages[0].Commands {
		if r, ok := c.(*instructions.RunCommand); ok {
			built += strings.Join(r.CmdLine, " ")
		}
	}
	if m := regexp.MustCompile(`cd (\S+) .* go build .*-o (\S+) (\S+)$`).FindStringSubmatch(built); m == nil ||
		m[2] != "/runplan-temporal" {
		t.Errorf("it is built by %q", built)
	} else if _, err := os.Stat(filepath.Join("../..", m[1], m[3], "main.go")); err != nil {
		t.Error(err)
	}
	uid, _, _ := strings.Cut(i.user, ":")
	if !strings.Contains(i.run, "--uid "+uid+" ") || uid == "0" {
		t.Errorf("it runs as %s, and makes: %s", i.user, i.run)
	}
	dir := i.entrypoint[slices.Index(i.entrypoint, "--dir")+1]
	if i.volume != dir || !strings.Contains(i.run, "-g runplan "+dir) {
		t.Errorf("clones are in %s, the volume is %s, made: %s", dir, i.volume, i.run)
	}
	for _, tool := range append([]string{"git", "openssh-client"}, i.entrypoint[0]) {
		if !regexp.MustCompile(`apt-get install .*\b` + tool + `\b`).MatchString(i.run) {
			t.Errorf("the image does not install %s", tool)
		}
	}
}

// starts checks that the program accepts these arguments after those of the image: it parses all of them before it
// prints its help.
func starts(t *testing.T, i image, args []string) {
	t.Helper()
	at := slices.Index(i.entrypoint, "runplan-temporal")
	if at < 0 {
		t.Fatalf("the entry point is %q", i.entrypoint)
	}
	all := slices.Concat(i.entrypoint[at+1:], args, []string{"--help"})
	out, err := exec.Command(program, all...).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--task-queue string") {
		t.Errorf("%q: %v\n%s", all, err, out)
	}
}

// The compose file is valid, and its workers start with existing flags and with the keys in the places where ssh
// reads them.
func TestComposeFile(t *testing.T) {
	options, err := cli.NewProjectOptions([]string{"compose.yaml"}, cli.WithEnv([]string{
		"REMOTE=ssh://git@example.com/p.git", "POSTGRES_PASSWORD=x", "GIT_KEY=./key", "KNOWN_HOSTS=./known",
		"RUNPLAN_TRUST=abc",
	}), cli.WithName("runplan"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := options.LoadProject(context.Background()) // with the schema's and the loader's own checks
	if err != nil {
		t.Fatal(err)
	}
	w := p.Services["worker"]
	i := readImage(t)
	starts(t, i, w.Command)
	if from, err := filepath.Abs("../.."); err != nil || w.Build.Context != from ||
		w.Build.Dockerfile != "temporal/deploy/Containerfile" {
		t.Errorf("%+v %v", w.Build, err)
	}
	ssh := *w.Environment["GIT_SSH_COMMAND"]
	for _, s := range w.Secrets {
		if p.Secrets[s.Source].File == "" || !strings.Contains(ssh, "/run/secrets/"+s.Source) {
			t.Errorf("secret %s: %+v, and ssh is %q", s.Source, p.Secrets[s.Source], ssh)
		}
	}
	if named := regexp.MustCompile(`/run/secrets/\w+`).FindAllString(ssh, -1); len(named) != len(w.Secrets) {
		t.Errorf("%q, but the secrets are %+v", ssh, w.Secrets)
	}
	if !w.ReadOnly || !writable(slices.Collect(paths(w.Tmpfs)), "/tmp", "/home/runplan") {
		t.Errorf("read only: %v, but %v", w.ReadOnly, w.Tmpfs)
	}
	if w.Init != nil && *w.Init && i.entrypoint[0] == "tini" {
		t.Error("both the container runtime and tini reap processes")
	}
	address := w.Command[slices.Index(w.Command, "--address")+1]
	name, port, _ := strings.Cut(address, ":")
	if s, ok := p.Services[name]; !ok ||
		!slices.ContainsFunc(s.Ports,
			func(c types.ServicePortConfig) bool { return fmt.Sprint(c.Target) == port && c.HostIP == "127.0.0.1" }) {
		t.Errorf("no service listens at %s", address)
	}
	for name, s := range p.Services {
		for other := range s.DependsOn {
			if _, ok := p.Services[other]; !ok {
				t.Errorf("%s depends on %s", name, other)
			}
		}
	}
	for _, needed := range []string{"REMOTE", "POSTGRES_PASSWORD"} {
		env := map[string]string{"REMOTE": "x", "POSTGRES_PASSWORD": "x"}
		delete(env, needed)
		var list []string
		for k, v := range env {
			list = append(list, k+"="+v)
		}
		o, err := cli.NewProjectOptions([]string{"compose.yaml"}, cli.WithEnv(list), cli.WithName("runplan"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := o.LoadProject(context.Background()); err == nil || !strings.Contains(err.Error(), needed) {
			t.Errorf("without %s: %v", needed, err)
		}
	}
}

// paths yields the paths of mounts written as PATH:OPTIONS.
func paths(mounts []string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, m := range mounts {
			path, _, _ := strings.Cut(m, ":")
			if !yield(path) {
				return
			}
		}
	}
}

// writable reports whether all of these paths are mounted.
func writable(mounted []string, all ...string) bool {
	for _, path := range all {
		if !slices.Contains(mounted, path) {
			return false
		}
	}
	return true
}

// The manifests are valid for Kubernetes, contain no unknown fields, and match each other and the image.
func TestKubernetesManifests(t *testing.T) {
	text, err := os.ReadFile("kubernetes/worker.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var config corev1.ConfigMap
	var set appsv1.StatefulSet
	var policy networkingv1.NetworkPolicy
	into := map[string]any{"ConfigMap": &config, "StatefulSet": &set, "NetworkPolicy": &policy}
	for doc := range strings.SplitSeq(string(text), "\n---\n") {
		var what struct {
			Kind, APIVersion string
		}
		if err := yaml.Unmarshal([]byte(doc), &what); err != nil {
			t.Fatal(err)
		}
		if into[what.Kind] == nil {
			t.Fatalf("kind %q, or twice", what.Kind)
		}
		body, err := yaml.YAMLToJSONStrict([]byte(doc))
		if err != nil {
			t.Fatalf("%s: %v", what.Kind, err)
		}
		// Unmarshal as the API server does: it distinguishes upper and lower case in field names.
		if strict, err := json.UnmarshalStrict(body, into[what.Kind]); err != nil || len(strict) > 0 {
			t.Errorf("%s: %v %v", what.Kind, strict, err)
		}
		delete(into, what.Kind)
		if want := map[string]string{"ConfigMap": "v1", "StatefulSet": "apps/v1",
			"NetworkPolicy": "networking.k8s.io/v1"}[what.Kind]; what.APIVersion != want {
			t.Errorf("%s is of %s", what.Kind, what.APIVersion)
		}
	}
	if len(into) > 0 {
		t.Fatalf("missing: %v", into)
	}
	i := readImage(t)
	pod := set.Spec.Template.Spec
	c := pod.Containers[0]
	args := slices.Clone(c.Args)
	for n, a := range args {
		args[n] = regexp.MustCompile(`\$\((\w+)\)`).ReplaceAllStringFunc(a, func(v string) string {
			value, ok := config.Data[v[2:len(v)-1]]
			if !ok {
				t.Errorf("%s is not in the config map", v)
			}
			return value
		})
	}
	starts(t, i, args)
	value := func(flag string) string { return args[slices.Index(args, flag)+1] }

	labels := set.Spec.Template.Labels
	for _, selector := range []map[string]string{set.Spec.Selector.MatchLabels, policy.Spec.PodSelector.MatchLabels} {
		for k, v := range selector {
			if labels[k] != v {
				t.Errorf("nothing is selected by %s: %s", k, v)
			}
		}
	}
	// All names contain the same build ID; otherwise another build would continue its runs.
	b := value("--build-id")
	if _, tag, _ := strings.Cut(c.Image, ":"); tag != b || labels["build"] != b ||
		set.Spec.Selector.MatchLabels["build"] != b || set.Name != "runplan-worker-"+b {
		t.Errorf("build %s, image %s, labels %v, name %s", b, c.Image, labels, set.Name)
	}

	user := fmt.Sprintf("%d:%d", *pod.SecurityContext.RunAsUser, *pod.SecurityContext.RunAsGroup)
	if user != i.user || *pod.SecurityContext.FSGroup != *pod.SecurityContext.RunAsGroup ||
		!*pod.SecurityContext.RunAsNonRoot {
		t.Errorf("the user is %s, that of the image %s", user, i.user)
	}
	volumes := map[string]corev1.VolumeSource{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = v.VolumeSource
	}
	for _, v := range set.Spec.VolumeClaimTemplates {
		volumes[v.Name] = corev1.VolumeSource{}
	}
	var mounted, secret []string
	for _, m := range c.VolumeMounts {
		v, ok := volumes[m.Name]
		if !ok {
			t.Errorf("volume %s is mounted but not declared", m.Name)
		}
		if v.Secret == nil {
			mounted = append(mounted, m.MountPath)
			continue
		}
		secret = append(secret, m.MountPath)
		if *v.Secret.DefaultMode != 0o440 || !m.ReadOnly { // its group reads it: the pod's
			t.Errorf("secret %s has mode %o", m.Name, *v.Secret.DefaultMode)
		}
	}
	if len(mounted)+len(secret) != len(volumes) {
		t.Errorf("%d volumes, mounted are %v and %v", len(volumes), mounted, secret)
	}
	if !*c.SecurityContext.ReadOnlyRootFilesystem || *c.SecurityContext.AllowPrivilegeEscalation ||
		!writable(mounted, i.volume, "/tmp", "/home/runplan") {
		t.Errorf("%+v, writable are %v", c.SecurityContext, mounted)
	}
	for _, file := range append(regexp.MustCompile(`/etc/runplan/\S+`).FindAllString(config.Data["GIT_SSH_COMMAND"], -1),
		value("--tls-cert"), value("--tls-key")) {
		if !slices.Contains(secret, filepath.Dir(file)) {
			t.Errorf("%s is in no secret", file)
		}
	}
	if len(policy.Spec.Ingress) != 0 ||
		!slices.Equal(policy.Spec.PolicyTypes, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}) {
		t.Errorf("%+v", policy.Spec)
	}
}
