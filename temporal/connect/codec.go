package connect

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	"google.golang.org/protobuf/proto"
)

// codec encrypts all data that Temporal stores of a run, for teams on a shared or hosted service.
type codec struct{ seal cipher.AEAD }

// encoding marks payloads that are encrypted.
const encoding = "binary/runplan-aes-gcm"

func newCodec(key string) (*codec, error) {
	raw, err := hex.DecodeString(key)
	if err != nil || len(raw) != 32 {
		return nil, errors.New("the key must have 64 hex digits")
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return nil, err
	}
	seal, err := cipher.NewGCM(block)
	return &codec{seal}, err
}

// Encode implements [converter.PayloadCodec].
func (c *codec) Encode(in []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(in))
	for i, p := range in {
		plain, err := proto.Marshal(p)
		if err != nil {
			return nil, err
		}
		nonce := make([]byte, c.seal.NonceSize())
		if _, err := rand.Read(nonce); err != nil {
			return nil, err
		}
		out[i] = &commonpb.Payload{Metadata: map[string][]byte{"encoding": []byte(encoding)},
			Data: c.seal.Seal(nonce, nonce, plain, nil)}
	}
	return out, nil
}

// Decode implements [converter.PayloadCodec]. It does not change unencrypted payloads.
func (c *codec) Decode(in []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(in))
	for i, p := range in {
		if string(p.GetMetadata()["encoding"]) != encoding {
			out[i] = p
			continue
		}
		n := c.seal.NonceSize()
		if len(p.Data) < n {
			return nil, errors.New("a payload is too short to be encrypted")
		}
		plain, err := c.seal.Open(nil, p.Data[:n], p.Data[n:], nil)
		if err != nil {
			return nil, fmt.Errorf("a payload cannot be decrypted: another key was used: %w", err)
		}
		out[i] = &commonpb.Payload{}
		if err := proto.Unmarshal(plain, out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}
