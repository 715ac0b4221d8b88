package bench

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// alone are the options of a process that has its domain for itself.
func alone(t *testing.T) (context.Context, Options) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	o := DefaultOptions()
	o.Domain, o.WarmUp, o.Duration, o.Count, o.Writers = 1+rand.Uint32N(1<<30), time.Millisecond, 0, 1000, 1
	return ctx, o
}

func TestAPeerReadsWhatItWrites(t *testing.T) {
	for _, listener := range []bool{false, true} {
		ctx, o := alone(t)
		o.Listener, o.Topics = listener, 3
		r, err := Run(ctx, Peer, o, Hooks{})
		require.NoError(t, err)
		assert.EqualValues(t, 1000, r.Count)
		assert.Zero(t, r.Lost)
		assert.False(t, r.Interrupted)
		assert.Positive(t, r.Mapped)
		assert.Positive(t, r.RSS)
		assert.Positive(t, r.Live)
	}
}

func TestAPeerNeedsToKnowForHowManyToWait(t *testing.T) {
	ctx, o := alone(t)
	o.Writers = 0
	_, err := Run(ctx, Peer, o, Hooks{})
	assert.ErrorContains(t, err, "--writers")
}

func TestSharedMappingsAreAddedUp(t *testing.T) {
	assert.EqualValues(t, 0x3000, sharedBytes([]byte(`7f0000000000-7f0000001000 rw-s 00000000 00:01 2071 /memfd:ring (deleted)
7f0000001000-7f0000002000 rw-p 00000000 00:00 0
7f0000002000-7f0000004000 r--s 00000000 00:01 2072 /dev/zero (deleted)
`)))
}
