package dcps

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
)

// Everybody is gone. Whoever comes back first, the longest log is taken up: here a's, who wrote on when b
// had left.
func TestCoreTotalRestartTakesTheLongestLog(t *testing.T) {
	for _, first := range []string{"a", "b", "both"} {
		t.Run(first+" first", func(t *testing.T) {
			d := onCore(t, Settings{})
			dirs := map[string]string{"a": t.TempDir(), "b": t.TempDir()}
			start := func(name string) *node {
				s := d.settings
				s.Dir = dirs[name]
				return (&domain{id: d.id, settings: s}).node(t, WithName(name))
			}
			persistent := func(q *qos.DataWriter) {
				q.Durability.Kind = qos.DurabilityPersistent
				q.WriterDataLifecycle.AutodisposeUnregisteredInstances = false
			}
			wants := func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityPersistent }

			a, b := start("a"), start("b")
			w := a.writer(t, writerQos(persistent, blocking(patience)))
			r := b.reader(t, readerQos(wants))
			require.NoError(t, w.WaitForMatch(patiently(t), 1))
			var want []string
			put := func(from, to int32) {
				for i := from; i < to; i++ {
					write(t, w, i, i)
					want = append(want, fmt.Sprintf("%d:%d", i, i))
				}
				require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
			}
			put(0, 10)
			require.Equal(t, strings.Join(want, " "), values(t, r, 10))
			require.NoError(t, b.p.Close())
			put(10, 20)
			require.NoError(t, a.p.Close())

			names := map[string][]string{"a": {"a", "b"}, "b": {"b", "a"}, "both": {"b", "a"}}[first]
			readers := make([]*DataReader[track], 2)
			var nodes []*node
			for _, name := range names {
				nodes = append(nodes, start(name))
			}
			var wg sync.WaitGroup
			for i, n := range nodes {
				// b alone waits: its log knows that a's belonged to the last epoch.
				wg.Go(func() { readers[i] = n.reader(t, readerQos(wants)) })
			}
			wg.Wait()
			for _, r := range readers {
				require.NotNil(t, r)
				require.NoError(t, r.WaitForHistoricalData(patiently(t)))
				require.Equal(t, strings.Join(want, " "), values(t, r, 20))
			}
			for _, n := range nodes {
				require.NoError(t, n.p.Close())
			}
		})
	}
}

func TestEpochFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.epochs")
	e, err := openEpochs(path)
	require.NoError(t, err)
	id := e.state.ID
	require.NotZero(t, id)
	require.NoError(t, e.put(epochEntry{kind: entryBegin, epoch: 3, body: []byte{1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0}}))
	require.NoError(t, e.put(epochEntry{entryState, 3, 7, []byte("then")}))
	require.NoError(t, e.put(epochEntry{entryState, 4, 7, nil}))
	require.NoError(t, e.f.Close())
	whole, err := os.ReadFile(path)
	require.NoError(t, err)

	for cut := range len(whole) + 1 {
		require.NoError(t, os.WriteFile(path, whole[:cut], 0o644))
		e, err := openEpochs(path)
		require.NoError(t, err, "%d bytes", cut)
		if first := epochEntrySize + 8; cut >= first {
			require.Equal(t, id, e.state.ID, "%d bytes", cut)
		}
		if begun := 2*epochEntrySize + 8 + 16; cut >= begun {
			require.Equal(t, derecho.LogState{ID: id, Epoch: 3, Logs: []uint64{1, 2}}, e.state)
		}
		// It goes on behind what was whole.
		require.NoError(t, e.put(epochEntry{kind: entryBegin, epoch: 9}))
		require.NoError(t, e.f.Close())
		entries, _, err := readEpochs(path)
		require.NoError(t, err)
		require.Equal(t, uint32(9), entries[len(entries)-1].epoch)
	}
	entries, _ := parseEpochs(whole)
	state, from := stateOf(entries, 7)
	require.Empty(t, state)
	require.Equal(t, uint32(4), from)
	state, from = stateOf(slices.Clone(entries[:3]), 7)
	require.Equal(t, "then", string(state))
	require.Equal(t, uint32(3), from)
}
