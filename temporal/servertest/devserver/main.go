// Command devserver is a Temporal server on the loopback interface, for tests: everything in one process, in memory
// or in one SQLite file. It is not for production.
//
// It takes the arguments of "temporal server start-dev", so it can stand in for that program.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/common/testing/freeport"
	schema "go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"
)

// list is a flag that may be given more than once.
type list []string

func (l *list) String() string     { return strings.Join(*l, ",") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

type options struct {
	ip         string
	port       int
	db         string
	level      string
	namespaces list
	dynamic    list
}

func main() {
	args := os.Args[1:]
	if len(args) > 1 && args[0] == "server" && args[1] == "start-dev" {
		args = args[2:]
	}
	var o options
	f := flag.NewFlagSet("devserver", flag.ExitOnError)
	f.StringVar(&o.ip, "ip", "127.0.0.1", "address to listen on")
	f.IntVar(&o.port, "port", 7233, "port")
	f.StringVar(&o.db, "db-filename", "", "SQLite file; in memory without one")
	f.StringVar(&o.level, "log-level", "error", "debug, info, warn or error")
	f.Var(&o.namespaces, "namespace", "namespace to create (repeatable)")
	f.Var(&o.dynamic, "dynamic-config-value", "KEY=VALUE, again for more")
	for _, name := range []string{"ui-port", "log-format", "search-attribute"} {
		f.String(name, "", "ignored")
	}
	f.Bool("headless", true, "ignored: the server has no UI")
	_ = f.Parse(args)
	if len(o.namespaces) == 0 {
		o.namespaces = list{"default"}
	}
	if err := serve(o); err != nil {
		fmt.Fprintln(os.Stderr, "devserver:", err)
		os.Exit(1)
	}
}

func serve(o options) error {
	began := time.Now()
	db, err := database(o)
	if err != nil {
		return err
	}
	c := configuration(o, db)
	logger := log.NewZapLogger(log.BuildZapLogger(log.Config{Stdout: true, Level: o.level}))
	auth, err := authorization.GetAuthorizerFromConfig(&c.Global.Authorization)
	if err != nil {
		return err
	}
	claims, err := authorization.GetClaimMapperFromConfig(&c.Global.Authorization, logger)
	if err != nil {
		return err
	}
	hosts := map[primitives.ServiceName]static.Hosts{}
	for _, name := range []primitives.ServiceName{primitives.FrontendService, primitives.HistoryService,
		primitives.MatchingService, primitives.WorkerService} {
		hosts[name] = static.SingleLocalHost(fmt.Sprintf("%s:%d", o.ip, c.Services[string(name)].RPC.GRPCPort))
	}
	server, err := temporal.NewServer(
		temporal.WithConfig(c), temporal.ForServices(temporal.DefaultServices), temporal.WithStaticHosts(hosts),
		temporal.WithLogger(logger), temporal.WithAuthorizer(auth),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return claims }),
		temporal.WithDynamicConfigClient(dynamic(o.dynamic)),
	)
	if err != nil {
		return err
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	if err := server.Start(); err != nil {
		return err
	}
	fmt.Printf("devserver: listening on %s:%d after %s\n", o.ip, o.port, time.Since(began).Round(time.Millisecond))
	<-stop
	return server.Stop()
}

// database creates the schema of the server's database in ready.
func database(o options) (*config.SQL, error) {
	c := &config.SQL{PluginName: sqlite.PluginName, DatabaseName: o.db,
		ConnectAttributes: map[string]string{"mode": "rwc"}}
	if o.db == "" {
		c.DatabaseName = strconv.FormatInt(time.Now().UnixNano(), 10)
		c.ConnectAttributes = map[string]string{"mode": "memory", "cache": "shared"}
	} else if _, err := os.Stat(o.db); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(o.db), 0o755); err != nil {
			return nil, err
		}
		if err := schema.SetupSchema(c); err != nil {
			return nil, fmt.Errorf("make %s: %w", o.db, err)
		}
	}
	var all []*schema.NamespaceConfig
	for _, name := range o.namespaces {
		ns, err := schema.NewNamespaceConfig("active", name, false, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, ns)
	}
	if err := schema.CreateNamespaces(c, all...); err != nil {
		return nil, fmt.Errorf("make namespaces: %w", err)
	}
	return c, nil
}

// configuration is that of one host with one shard.
func configuration(o options, db *config.SQL) *config.Config {
	at := fmt.Sprintf("%s:%d", o.ip, o.port)
	service := func(port int) config.Service {
		if port == 0 {
			port = freeport.MustGetFreePort()
		}
		return config.Service{RPC: config.RPC{GRPCPort: port, BindOnIP: o.ip}}
	}
	c := &config.Config{
		Persistence: config.Persistence{
			DefaultStore: "sqlite", VisibilityStore: "sqlite", NumHistoryShards: 1,
			DataStores: map[string]config.DataStore{"sqlite": {SQL: db}},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10, MasterClusterName: "active", CurrentClusterName: "active",
			ClusterInformation: map[string]cluster.ClusterInformation{"active": {Enabled: true, InitialFailoverVersion: 1,
				RPCAddress: at, ClusterID: "runplan-devserver"}},
		},
		Services: map[string]config.Service{"frontend": service(o.port), "history": service(0), "matching": service(0),
			"worker": service(0)},
		PublicClient: config.PublicClient{HostPort: at},
	}
	c.Global.Membership = config.Membership{MaxJoinDuration: 30 * time.Second, BroadcastAddress: o.ip}
	c.Global.Metrics = &metrics.Config{Prometheus: &metrics.PrometheusConfig{ListenAddress: fmt.Sprintf("%s:%d", o.ip,
		freeport.MustGetFreePort()), HandlerPath: "/metrics"}}
	c.DCRedirectionPolicy.Policy = "noop"
	c.Archival.History.State, c.Archival.Visibility.State = config.ArchivalDisabled, config.ArchivalDisabled
	c.NamespaceDefaults.Archival.History.State, c.NamespaceDefaults.Archival.Visibility.State = config.ArchivalDisabled,
		config.ArchivalDisabled
	return c
}

// dynamic reads KEY=VALUE pairs: true, false, numbers and words.
func dynamic(pairs []string) dynamicconfig.StaticClient {
	out := dynamicconfig.StaticClient{}
	for _, pair := range pairs {
		key, value, _ := strings.Cut(pair, "=")
		if b, err := strconv.ParseBool(value); err == nil && value != "1" && value != "0" {
			out[dynamicconfig.MakeKey(key)] = b
		} else if n, err := strconv.Atoi(value); err == nil {
			out[dynamicconfig.MakeKey(key)] = n
		} else {
			out[dynamicconfig.MakeKey(key)] = value
		}
	}
	return out
}
