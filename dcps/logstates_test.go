package dcps

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/storage"
)

// rejoinings writes what n rejoinings leave in a file of epochs: each a message, and the states of two channels. A
// third one has its state from the beginning on.
func rejoinings(t *testing.T, path string, n, size int) *derecho.LogIndex {
	t.Helper()
	e, err := openEpochs(path, storage.Version{})
	require.NoError(t, err)
	state := func(ch derecho.ChannelID, epoch int) derecho.ChannelStart {
		return derecho.ChannelStart{Channel: ch, Logs: []uint64{4, e.index.ID}, Openings: []uint32{9, 2}, Past: []derecho.Opening{{Log: 3, Count: 8}}, History: 9, Written: true,
			Since: uint32(epoch), Loaded: true, State: bytes.Repeat(fmt.Appendf(nil, "%d of %d;", epoch, ch), size/10)}
	}
	require.NoError(t, e.put(startEntry(&derecho.EpochStart{Epoch: 1, Channels: []derecho.ChannelStart{state(5, 1)}})))
	for i := range n {
		epoch := 2 + i
		require.NoError(t, e.put(epochEntry{kind: entryOpened, ch: derecho.ChannelID(2 + i)}, afterEntry(storage.Version{Epoch: uint32(epoch - 1), Seq: 7}),
			startEntry(&derecho.EpochStart{Epoch: uint32(epoch), Channels: []derecho.ChannelStart{state(6, epoch), state(7, epoch)}})))
	}
	require.NoError(t, e.put(startEntry(&derecho.EpochStart{Epoch: uint32(n + 2), Channels: []derecho.ChannelStart{{Channel: 7, History: 9, Since: uint32(n + 2)}}})))
	require.NoError(t, e.f.Close())
	return e.index.Clone()
}

func lengthOf(t *testing.T, path string) int {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return len(b)
}

// States that later ones have superseded go when the file is opened, and the file says what it said.
func TestSupersededStatesAreDropped(t *testing.T) {
	const n, size = 30, 20 << 10
	last := storage.Version{Epoch: n, Seq: 7}
	for _, blocked := range []bool{false, true} {
		t.Run(fmt.Sprint("blocked=", blocked), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log.epochs")
			index := rejoinings(t, path, n, size)
			before, _, err := readEpochs(path)
			require.NoError(t, err)
			long := lengthOf(t, path)
			require.NoError(t, os.WriteFile(path+".new", []byte("what a crash has left"), 0o644))
			if blocked { // the file can not be written anew
				require.NoError(t, os.Remove(path+".new"))
				require.NoError(t, os.MkdirAll(filepath.Join(path+".new", "x"), 0o755))
			}
			for range 2 {
				e, err := openEpochs(path, last)
				require.NoError(t, err)
				require.Equal(t, index, e.index.Clone())
				require.NoError(t, e.f.Close())
				after, _, err := readEpochs(path)
				require.NoError(t, err)
				require.Len(t, after, len(before))
				for ch := range derecho.ChannelID(9) {
					require.Equal(t, stateOf(before, ch), stateOf(after, ch))
				}
				if blocked {
					require.Equal(t, long, lengthOf(t, path))
					continue
				}
				require.Less(t, lengthOf(t, path), 4*size)
				require.NoFileExists(t, path+".new")
			}
			// It goes on.
			e, err := openEpochs(path, last)
			require.NoError(t, err)
			require.NoError(t, e.put(startEntry(&derecho.EpochStart{Epoch: 99})))
			require.NoError(t, e.f.Close())
			entries, _, err := readEpochs(path)
			require.NoError(t, err)
			require.Len(t, entries, len(before)+1)
		})
	}
}

// A disk that loses the state which has taken the place of another, and called it durable, leaves a log that says so.
func TestSupersedingStateIsLost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.epochs")
	rejoinings(t, path, 30, 20<<10)
	e, err := openEpochs(path, storage.Version{Epoch: 30, Seq: 7})
	require.NoError(t, err)
	require.NoError(t, e.f.Close())
	_, err = openEpochs(path, storage.Version{Epoch: 30, Seq: 6})
	var damaged *storage.CorruptError
	require.ErrorAs(t, err, &damaged)
	require.ErrorContains(t, err, "the state of channel 0000000000000006 as of epoch 30 was superseded by a later one, which the disk has lost")
}

// A file that would not become much smaller is left as it is.
func TestFewSupersededStatesStay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.epochs")
	rejoinings(t, path, 30, 100)
	long := lengthOf(t, path)
	e, err := openEpochs(path, storage.Version{Epoch: 30, Seq: 7})
	require.NoError(t, err)
	require.NoError(t, e.f.Close())
	require.Equal(t, long, lengthOf(t, path))
}
