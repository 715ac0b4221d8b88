package main

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/bench/internal/isolate"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && (os.Args[1] == readerMark || os.Args[1] == writerMark) {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestRunCountsBothEnds(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	hosts := []isolate.Host{{Address: "127.0.0.1"}, {Address: "127.0.0.1"}}
	for _, rate := range []float64{0, 2000} {
		for name := range sockets {
			r, w, err := run(t.Context(), variant{self, name, name}, hosts, told{
				Sockets: name, Size: 3000, Ring: 1 << 16, Window: 1 << 15, Rate: rate, Duration: 60 * time.Millisecond, Warmup: 10 * time.Millisecond,
			})
			require.NoError(t, err, name)
			require.Positive(t, r.Seconds, name)
			require.Positive(t, w.Seconds, name)
		}
	}
}

func TestFlagsAreChecked(t *testing.T) {
	for _, args := range [][]string{
		{"-sizes", "7"}, {"-sizes", "x"}, {"-sizes", "8388608"}, {"-sockets", "none"}, {"-rounds", "0"}, {"-ring", "5000"}, {"-window", "9"}, {"-tell", "4194304"}, {"more"},
	} {
		_, _, err := parse(args)
		require.Error(t, err, args)
	}
	c, isolated, err := parse([]string{"-sockets", "nagle,4m", "-against", "a,b"})
	require.NoError(t, err)
	require.True(t, isolated)
	require.Equal(t, c.ring, c.window)
	require.Equal(t, []string{"a", "b"}, c.against)
}
