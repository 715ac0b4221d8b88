package dcps

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/omg-dds-go/dds/storage"
)

// The last message up to an epoch, against a twin that keeps all messages in a list: in one segment and in several, for
// epochs before the first, between two, and after the last.
func TestLastOf(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		log, _, err := storage.Open(t.TempDir(), storage.Options{SegmentBytes: rapid.SampledFrom([]int64{8 << 10, 1 << 20}).Draw(rt, "segment")})
		require.NoError(rt, err)
		defer func() { require.NoError(rt, log.Close()) }()
		var all []storage.Version
		var at storage.Version
		for range rapid.IntRange(0, 40).Draw(rt, "messages") {
			if rapid.IntRange(0, 4).Draw(rt, "next epoch") == 0 || at.Epoch == 0 {
				at = storage.Version{Epoch: at.Epoch + uint32(rapid.IntRange(1, 3).Draw(rt, "epochs"))}
			} else {
				at.Seq += uint64(rapid.IntRange(1, 3).Draw(rt, "messages of others"))
			}
			require.NoError(rt, log.Append(&storage.Record{Version: at, Payload: make([]byte, rapid.IntRange(1, 500).Draw(rt, "size"))}))
			all = append(all, at)
		}
		_, err = log.Sync()
		require.NoError(rt, err)
		for epoch := range at.Epoch + 2 {
			var want storage.Version
			for _, v := range all {
				if v.Epoch <= epoch {
					want = v
				}
			}
			got, err := (&diskLog{log: log}).lastOf(epoch)
			require.NoError(rt, err)
			require.Equal(rt, want, got, "up to epoch %d of %v", epoch, all)
		}
	})
}
