package fabric

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// One that can be dialled, and can not dial back as it is refused, takes a new link from a peer that has given up the old one: the peer greets it anew, so it
// does not have the old one any more.
func TestGivenUpByOneThatRefuses(t *testing.T) {
	b := elsewhere(t, Config{ID: 200, Name: "b"}).start(t)
	a := elsewhere(t, Config{ID: 100, Name: "a", Peers: []string{b.self.Addr}})
	a.self.Addr = "127.0.0.1:1" // where nobody listens
	a.start(t)
	a.wait(t, "link", func() bool { return a.ups[200] == 1 })
	b.wait(t, "link", func() bool { return b.ups[100] == 1 })
	a.to(b).Drop(errors.New("silent for too long"))
	a.wait(t, "down", func() bool { return a.downs == 1 })
	b.wait(t, "a new link", func() bool { return b.ups[100] == 2 })
	require.Equal(t, 1, get(b, func() int { return b.downs }))
}
