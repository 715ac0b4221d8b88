package main

import (
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/bench/internal/result"
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
			var results []result.Result
			for o := (options{duration: 20 * time.Millisecond, dir: t.TempDir(), batch: fileBatch}); ; o.duration *= 4 { // a busy machine needs more time
				var err error
				results, err = measure(o)
				require.NoError(t, err)
				require.NotEmpty(t, results)
				if o.duration > 10*time.Second || !slices.ContainsFunc(results, func(r result.Result) bool { return r.Count == 0 }) {
					break
				}
			}
			for _, r := range results {
				assert.Positive(t, r.Count, r.What)
				assert.Positive(t, r.Size, r.What)
				assert.NotEmpty(t, r.What)
				assert.Zero(t, r.Lost, r.What)
			}
		})
	}
}
