package main

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMain lets children be this test binary.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == childMark {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestEveryLimitIsMeasured(t *testing.T) {
	for name, measure := range limits {
		t.Run(name, func(t *testing.T) {
			// As in main: children end with the thread that starts them.
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			results, err := measure(options{duration: 20 * time.Millisecond, dir: t.TempDir(), batch: fileBatch})
			require.NoError(t, err)
			require.NotEmpty(t, results)
			for _, r := range results {
				assert.Positive(t, r.Count, r.What)
				assert.Positive(t, r.Size, r.What)
				assert.NotEmpty(t, r.What)
				assert.Zero(t, r.Lost, r.What)
			}
		})
	}
}
