package connect

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/log"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/runplan/runplan/temporal/teamtest"
)

// authority signs certificates.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir()}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign}
	a.cert, a.key, a.file, _ = a.make(name, template)
	return a
}

// sign creates a certificate that is valid until the given time, and returns the files of the certificate and its
// key.
func (a *authority) sign(name string, until time.Time) (cert, key string) {
	a.t.Helper()
	_, _, cert, key = a.make(name, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-48 * time.Hour),
		NotAfter: until,
		DNSNames: []string{name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	})
	return cert, key
}

func (a *authority) make(name string, template *x509.Certificate) (c *x509.Certificate, private *ecdsa.PrivateKey, cert,
	key string) {
	a.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, private
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &private.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	raw, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, key = filepath.Join(a.dir, name+".pem"), filepath.Join(a.dir, name+".key")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der},
		key: {Type: "EC PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	c, err = x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return c, private, cert, key
}

// over returns the TLS settings of a service that accepts clients whose certificates a signed.
func (a *authority) over(cert, key string) grpc.ServerOption {
	a.t.Helper()
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		a.t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return grpc.Creds(credentials.NewTLS(
		&tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}))
}

func dial(t *testing.T, o Options, env map[string]string) error {
	t.Helper()
	o.Namespace, o.Wait = "default", 10*time.Second
	c, _, err := Dial(t.Context(), o, func(name string) (string, bool) { v, ok := env[name]; return v, ok }, "test",
		log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	if err == nil {
		c.Close()
	}
	return err
}

// A service that requires client certificates can be reached with a certificate that it trusts, if the client trusts
// its own. Every other combination fails at the connection with an error that names the cause.
func TestConnectionRequiresTrustedCertificates(t *testing.T) {
	ours, others := newAuthority(t, "ours"), newAuthority(t, "others")
	tomorrow, yesterday := time.Now().Add(24*time.Hour), time.Now().Add(-24*time.Hour)
	cert, key := ours.sign("client", tomorrow)
	strange, strangeKey := others.sign("client", tomorrow)
	serverCert, serverKey := ours.sign("service.example", tomorrow)
	oldCert, oldKey := ours.sign("old.example", yesterday)
	address := new(teamtest.Service).Serve(t, ours.over(serverCert, serverKey))
	old := new(teamtest.Service).Serve(t, ours.over(oldCert, oldKey))
	for name, tt := range map[string]struct {
		o     Options
		want  string // "" is reached
		usage bool
	}{
		"both trust the other": {o: Options{Address: address, Cert: cert, Key: key, CA: ours.file}},
		"and the name is the service's": {o: Options{Address: address, Cert: cert, Key: key, CA: ours.file,
			Server: "service.example"}},
		"the name is another one": {o: Options{Address: address, Cert: cert, Key: key, CA: ours.file,
			Server: "other.example"}, want: "x509: certificate is valid for service.example"},
		"we have none": {o: Options{Address: address, CA: ours.file}, want: "--tls-cert"},
		"the client's certificate is from another authority": {o: Options{Address: address, Cert: strange, Key: strangeKey,
			CA: ours.file},
			want: "--tls-cert"},
		"the service's certificate is from another authority": {o: Options{Address: address, Cert: cert, Key: key,
			CA: others.file},
			want: "x509: certificate signed by unknown authority"},
		"theirs has expired": {o: Options{Address: old, Cert: cert, Key: key, CA: ours.file},
			want: "a certificate has expired"},
		"the key is that of another one": {o: Options{Address: address, Cert: cert, Key: strangeKey, CA: ours.file},
			want: "--tls-cert", usage: true},
		"the file of the service's authority is invalid": {o: Options{Address: address, Cert: cert, Key: key, CA: key},
			want: "contains no certificate", usage: true},
		"the file of the service's authority is missing": {o: Options{Address: address, Cert: cert, Key: key, CA: key + "x"},
			want: "--tls-ca", usage: true},
		"the client does not use TLS": {o: Options{Address: address}, want: "--tls"},
	} {
		t.Run(name, func(t *testing.T) {
			err := dial(t, tt.o, nil)
			var why *Error
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (!errors.As(err, &why) || why.Usage != tt.usage ||
				!strings.Contains(why.Error()+" "+why.Hint, tt.want)):
				t.Errorf("%+v", err)
			}
		})
	}
}

// The client sends an API key with each call, and only over TLS; a service that does not know the key denies access.
func TestClientSendsAPIKeyOverTLS(t *testing.T) {
	ours := newAuthority(t, "ours")
	cert, key := ours.sign("service.example", time.Now().Add(time.Hour))
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	over := grpc.Creds(credentials.NewServerTLSFromCert(&pair))
	s := new(teamtest.Service)
	env := map[string]string{"KEY": "sesame", "EMPTY": ""}
	if err := dial(t, Options{Address: s.Serve(t, over), APIKeyEnv: "KEY", CA: ours.file}, env); err != nil ||
		!slices.Equal(s.Keys(), []string{"Bearer sesame"}) {
		t.Errorf("%v, %q", err, s.Keys())
	}
	plain := new(teamtest.Service)
	if err := dial(t, Options{Address: plain.Serve(t), APIKeyEnv: "KEY"}, env); err == nil || len(plain.Keys()) != 0 {
		t.Errorf("without TLS: %v, %q", err, plain.Keys())
	}
	closed := &teamtest.Service{Namespace: status.Error(codes.Unauthenticated, "who are you")}
	var why *Error
	if err := dial(t, Options{Address: closed.Serve(t, over), APIKeyEnv: "KEY", CA: ours.file}, env); !errors.As(err,
		&why) || why.Usage || !strings.Contains(err.Error(), "denies access") {
		t.Errorf("a key that is not known: %v", err)
	}
	for _, name := range []string{"EMPTY", "NONE"} {
		if err := dial(t, Options{Address: "127.0.0.1:1", APIKeyEnv: name}, env); !errors.As(err, &why) || !why.Usage {
			t.Errorf("%s: %v", name, err)
		}
	}
}
