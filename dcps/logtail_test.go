package dcps

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/storage"
)

// A crash while a large state was written leaves most of an entry, each byte of which may look like the front of one
// that is long. To look for a whole one took time by the square of its length: of this one 23 s, and of one of 256 MiB
// hours.
func TestLargeTornState(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.epochs")
	e, err := openEpochs(path, storage.Version{})
	require.NoError(t, err)
	whole := lengthOf(t, path)
	state := make([]byte, 8<<20)
	for at := 0; at+32 <= len(state); at += 32 { // numbers of a sample, say
		state[at] = entryState
		binary.LittleEndian.PutUint32(state[at+13:], uint32(len(state)/2))
	}
	require.NoError(t, e.put(startEntry(&derecho.EpochStart{Epoch: 3, Channels: []derecho.ChannelStart{{Channel: 7, Since: 3, Loaded: true, State: state}}})))
	require.NoError(t, e.f.Close())
	require.NoError(t, os.Truncate(path, int64(lengthOf(t, path)-1)))
	_, n, err := readEpochs(path)
	require.NoError(t, err)
	require.EqualValues(t, whole, n)
}

// The checksum of an entry in the tail is the same by way of those of beginnings.
func TestTailSums(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	all := make([]byte, 70<<10)
	for i := range all {
		all[i] = byte(r.Uint32())
	}
	sums := newTailSums(all)
	for range 3000 {
		b := all[r.IntN(len(all)-21):]
		size := r.IntN(len(b) - 20)
		require.Equal(t, sumOf(b, 17, size), sums.of(b, 17, size), "%d bytes from %d on", size, len(all)-len(b))
	}
}

// A whole entry behind one that is damaged is found, however long the two are.
func TestLargeStateDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.epochs")
	e, err := openEpochs(path, storage.Version{})
	require.NoError(t, err)
	var ends []int
	for epoch := uint32(3); epoch < 5; epoch++ {
		ends = append(ends, lengthOf(t, path))
		state := bytes.Repeat([]byte{entryState, 0, 1, 0}, 100<<10)
		require.NoError(t, e.put(startEntry(&derecho.EpochStart{Epoch: epoch, Channels: []derecho.ChannelStart{{Channel: 7, Since: epoch, Loaded: true, State: state}}})))
	}
	require.NoError(t, e.f.Close())
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	b[ends[0]+5000] ^= 1
	require.NoError(t, os.WriteFile(path, b, 0o644))
	_, _, err = readEpochs(path)
	require.ErrorIs(t, err, storage.ErrCorrupt)
	require.ErrorContains(t, err, fmt.Sprintf("another one follows at offset %d", ends[1]))
}

// Who watches the disk sees a large state get on.
func TestLargeStateIsWrittenInPieces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.epochs")
	e, err := openEpochs(path, storage.Version{})
	require.NoError(t, err)
	state := make([]byte, 2*putPiece+1)
	state[putPiece] = 1
	var lengths []int
	moves := func() { lengths = append(lengths, lengthOf(t, path)) }
	before := lengthOf(t, path)
	require.NoError(t, e.putSlowly(moves, afterEntry(storage.Version{}), startEntry(&derecho.EpochStart{Epoch: 3, Channels: []derecho.ChannelStart{{Channel: 7, Since: 3, Loaded: true, State: state}}})))
	require.Equal(t, []int{before + putPiece, before + 2*putPiece}, lengths)
	require.NoError(t, e.f.Close())
	entries, _, err := readEpochs(path)
	require.NoError(t, err)
	require.True(t, bytes.Equal(state, stateOf(entries, 7)))
}

// The length of an entry has 32 bits. What is longer would be taken for damage at the next start.
func TestTooLargeStateIsRefused(t *testing.T) {
	if bits.UintSize == 32 {
		t.Skip("a state of 4 GiB needs pointers of 64 bits")
	}
	path := filepath.Join(t.TempDir(), "log.epochs")
	e, err := openEpochs(path, storage.Version{})
	require.NoError(t, err)
	whole := lengthOf(t, path)
	long := uint64(math.MaxUint32) + 1
	body, err := syscall.Mmap(-1, 0, int(long), syscall.PROT_READ, syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE) // nobody touches it
	require.NoError(t, err)
	require.ErrorContains(t, e.put(epochEntry{kind: entryStart, epoch: 3, body: body}), "epoch 3 begins with states of 4294967296 bytes")
	require.NoError(t, syscall.Munmap(body))
	require.Equal(t, whole, lengthOf(t, path))
	require.NoError(t, e.f.Close())
}
