package rdma

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var somebody = PeerInfo{
	ID: 0x1122334455667788, Host: "host", PID: 4711, Name: "näme", Addr: "[::1]:7400",
	ShmDomain: 99, Slot: 17, Fingerprint: "subgroups=8",
}

func TestHelloRoundTrip(t *testing.T) {
	b := AppendHello([]byte("x"), somebody)[1:]
	p, version, err := ParseHello(b)
	require.NoError(t, err)
	require.Equal(t, uint32(ProtocolVersion), version)
	require.Equal(t, somebody, p)

	_, rest, err := ParsePeerInfo(AppendPeerInfo(nil, somebody))
	require.NoError(t, err)
	require.Empty(t, rest)

	for i := range b {
		_, _, err := ParseHello(b[:i])
		require.ErrorIs(t, err, ErrHello, "cut at %d", i)
	}
	_, _, err = ParseHello(append(b, "what a later minor version adds"...))
	require.NoError(t, err)

	b[4]++
	_, version, err = ParseHello(b)
	require.ErrorIs(t, err, ErrHello)
	require.Equal(t, uint32(ProtocolVersion+1), version, "the other version is told")
}

func TestLongStringsAreCut(t *testing.T) {
	p, _, err := ParseHello(AppendHello(nil, PeerInfo{Name: strings.Repeat("n", 5000), Fingerprint: "f"}))
	require.NoError(t, err)
	require.Len(t, p.Name, 1024)
	require.Equal(t, "f", p.Fingerprint)
}

func TestAliased(t *testing.T) {
	require.True(t, Aliased(PeerInfo{ShmDomain: 7}, PeerInfo{ShmDomain: 7}))
	require.False(t, Aliased(PeerInfo{ShmDomain: 7}, PeerInfo{ShmDomain: 8}))
	require.False(t, Aliased(PeerInfo{}, PeerInfo{}), "zero shares with nobody")
}

func FuzzParseHello(f *testing.F) {
	f.Add(AppendHello(nil, somebody))
	f.Add(AppendHello(nil, PeerInfo{}))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, _, err := ParseHello(b)
		if err != nil {
			return
		}
		again := AppendHello(nil, p)
		q, _, err := ParseHello(again)
		if err != nil {
			t.Fatal(err)
		}
		// Strings above 1024 bytes are cut once.
		if !bytes.Equal(again, AppendHello(nil, q)) {
			t.Fatalf("%+v became %+v", p, q)
		}
	})
}
