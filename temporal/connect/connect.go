// Package connect connects to a Temporal service, and explains failures in plain words.
package connect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"

	"github.com/spf13/pflag"
)

// Options hold the address of the service and the identity of the client. Secrets are given as names of variables.
type Options struct {
	Address   string
	Namespace string
	Queue     string // task queue
	TLS       bool
	Cert, Key string // files
	CA        string // file
	Server    string // host name expected in the service's certificate
	APIKeyEnv string // name of the variable with the API key
	CodecEnv  string // name of the variable with the encryption key of payloads
	Wait      time.Duration
}

// Defaults.
const (
	DefaultAddress   = "127.0.0.1:7233"
	DefaultNamespace = "default"
	DefaultQueue     = "runplan"
)

// Flags adds the options to a command.
func (o *Options) Flags(f *pflag.FlagSet) {
	f.StringVar(&o.Address, "address", DefaultAddress, "HOST:PORT of the Temporal service")
	f.StringVar(&o.Namespace, "namespace", DefaultNamespace, "namespace of Temporal")
	f.StringVar(&o.Queue, "task-queue", DefaultQueue, "task queue that the workers of this repository listen on")
	f.BoolVar(&o.TLS, "tls", false, "use TLS; implied by --tls-cert, --tls-ca and --api-key-env")
	f.StringVar(&o.Cert, "tls-cert", "", "file with the client's certificate")
	f.StringVar(&o.Key, "tls-key", "", "file with its key")
	f.StringVar(&o.CA, "tls-ca", "", "file with the certificates that the service is trusted by, instead of the system's")
	f.StringVar(&o.Server, "tls-server-name", "",
		"name in the certificate of the service, if it is not the host of --address")
	f.StringVar(&o.APIKeyEnv, "api-key-env", "", "name of the environment variable that holds an API key")
	f.StringVar(&o.CodecEnv, "codec-key-env", "",
		"name of the environment variable that holds a key, 64 hex digits, to encrypt the data that Temporal stores")
	f.DurationVar(&o.Wait, "connect-timeout", 10*time.Second, "how long to wait for the service")
}

// Error is a connection failure with a hint how to fix it. Usage marks a mistake on the command line.
type Error struct {
	Err   error
	Hint  string
	Usage bool
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Coding converts the data that Temporal stores.
type Coding struct {
	Data     converter.DataConverter
	Failures converter.FailureConverter
}

// Plain returns the coding without encryption.
func Plain() Coding { return coding(nil) }

// coding returns the plain coding, or one that encrypts payloads and the texts of errors.
func coding(c *codec) Coding {
	data := converter.GetDefaultDataConverter()
	if c != nil {
		data = converter.NewCodecDataConverter(data, c)
	}
	return Coding{data, temporal.NewDefaultFailureConverter(
		temporal.DefaultFailureConverterOptions{DataConverter: data, EncodeCommonAttributes: c != nil})}
}

// Dial connects to the service and checks that the namespace exists. It also returns the coding of the client.
func Dial(ctx context.Context, o Options, getenv func(string) (string, bool), identity string,
	logger log.Logger) (client.Client, Coding, error) {
	co := client.Options{HostPort: o.Address, Namespace: o.Namespace, Logger: logger, Identity: identity}
	co.ConnectionOptions.GetSystemInfoTimeout = o.Wait
	var err error
	if co.ConnectionOptions.TLS, err = o.tls(); err != nil {
		return nil, Coding{}, err
	}
	if o.APIKeyEnv != "" {
		key, ok := getenv(o.APIKeyEnv)
		if !ok || key == "" {
			return nil, Coding{},
				&Error{fmt.Errorf("--api-key-env %s: the variable is not set", o.APIKeyEnv), "set it to the API key", true}
		}
		co.Credentials = client.NewAPIKeyStaticCredentials(key)
	}
	var seal *codec
	if o.CodecEnv != "" {
		key, _ := getenv(o.CodecEnv)
		if seal, err = newCodec(key); err != nil {
			return nil, Coding{}, &Error{fmt.Errorf("--codec-key-env %s: %w", o.CodecEnv, err), "make one: openssl rand -hex 32",
				true}
		}
	}
	as := coding(seal)
	co.DataConverter, co.FailureConverter = as.Data, as.Failures
	ctx, cancel := context.WithTimeout(ctx, o.Wait)
	defer cancel()
	c, err := client.DialContext(ctx, co)
	if err != nil {
		return nil, Coding{}, o.why(err)
	}
	if _, err := c.WorkflowService().DescribeNamespace(ctx,
		&workflowservice.DescribeNamespaceRequest{Namespace: o.Namespace}); err != nil {
		c.Close()
		return nil, Coding{}, o.why(err)
	}
	return c, as, nil
}

// overTLS reports whether the options ask for TLS, directly or by another option that requires it.
func (o Options) overTLS() bool {
	return o.TLS || o.Cert != "" || o.CA != "" || o.APIKeyEnv != ""
}

func (o Options) tls() (*tls.Config, error) {
	if (o.Cert == "") != (o.Key == "") {
		return nil, &Error{errors.New("--tls-cert and --tls-key go together"), "give both", true}
	}
	if !o.overTLS() {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: o.Server}
	if o.CA != "" {
		pem, err := os.ReadFile(o.CA)
		if err != nil {
			return nil, &Error{fmt.Errorf("--tls-ca: %w", err), "", true}
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, &Error{fmt.Errorf("--tls-ca %s contains no certificate", o.CA), "the file must be PEM", true}
		}
	}
	if o.Cert != "" {
		pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
		if err != nil {
			return nil, &Error{fmt.Errorf("--tls-cert %s: %w", o.Cert, err), "", true}
		}
		if leaf := pair.Leaf; leaf != nil && time.Now().After(leaf.NotAfter) {
			return nil,
				&Error{fmt.Errorf("the certificate %s expired on %s", o.Cert, leaf.NotAfter.Format("2006-01-02 15:04 MST")),
					"renew it", true}
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// why explains a connection error in plain words.
func (o Options) why(err error) error {
	text := err.Error()
	switch {
	case errors.As(err, new(*serviceerror.NamespaceNotFound)), errors.As(err, new(*serviceerror.NotFound)):
		return &Error{fmt.Errorf("the Temporal service at %s has no namespace %q", o.Address, o.Namespace),
			"name one with --namespace; make one: temporal operator namespace create " + o.Namespace, true}
	case errors.As(err, new(*serviceerror.PermissionDenied)), strings.Contains(text, "Unauthenticated"),
		strings.Contains(text, "unauthorized"):
		return &Error{fmt.Errorf("the Temporal service at %s denies access: %w", o.Address, err),
			"check --api-key-env, or --tls-cert and --tls-key", false}
	case strings.Contains(text, "certificate has expired"), strings.Contains(text, "expired certificate"):
		return &Error{fmt.Errorf("the Temporal service at %s: a certificate has expired: %w", o.Address, err),
			"renew the certificate of the service, or that of --tls-cert", false}
	case strings.Contains(text, "server preface"):
		// the server closed a connection without TLS, or speaks another protocol
		return &Error{fmt.Errorf("the Temporal service at %s cannot be reached: %w", o.Address, err),
			"it may require TLS: --tls, or --tls-cert and --tls-key; otherwise check --address", false}
	case strings.Contains(text, "tls:"), strings.Contains(text, "x509:"):
		return &Error{fmt.Errorf("the Temporal service at %s: %w", o.Address, err),
			"check --tls-cert, --tls-ca and --tls-server-name", false}
	case o.overTLS(): // a service that rejects our certificate may just close the connection
		return &Error{fmt.Errorf("the Temporal service at %s cannot be reached: %w", o.Address, err),
			"check that it runs, check --address, and that it trusts --tls-cert or the API key; nothing was started", false}
	}
	return &Error{fmt.Errorf("the Temporal service at %s cannot be reached: %w", o.Address, err),
		"check that it runs, and check --address; nothing was started", false}
}
