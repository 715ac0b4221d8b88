package dcps

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/storage"
	"github.com/omg-dds-go/dds/topic"
	"github.com/stretchr/testify/require"
)

func announced() []*announcement {
	w := &announcement{
		writes: true, signature: [32]byte{1, 2, 3}, topic: "Track", typeName: "test::Track", typeText: "struct", objects: []byte{4, 5}, host: "host", pid: 17,
		name: "sensor", topicQos: qos.DefaultTopic(), pub: qos.DefaultPublisher(), sub: qos.DefaultSubscriber(),
		writer: qos.DefaultDataWriter(), reader: qos.DefaultDataReader(),
	}
	w.topicQos.TopicData.Value = []byte("topic")
	w.topicQos.Lifespan.Duration = 5 * time.Second
	w.pub.Partition.Name = []string{"cabin", "c*", ""}
	w.pub.GroupData.Value = []byte{1}
	w.writer.Deadline.Period = 3 * time.Second
	w.writer.OwnershipStrength.Value = -7
	w.writer.DataRepresentation.Value = []qos.DataRepresentationKind{qos.DataRepresentationXCDR2, qos.DataRepresentationXCDR1}
	w.writer.UserData.Value = []byte("user")
	r := *w
	r.writes = false
	r.pub, r.writer = qos.DefaultPublisher(), qos.DefaultDataWriter()
	r.sub.Partition.Name = []string{"cockpit"}
	r.reader.TimeBasedFilter.MinimumSeparation = time.Minute
	r.reader.Ownership.Kind = qos.OwnershipExclusive
	r.reader.TypeConsistencyEnforcement.PreventTypeWidening = true
	w.typ, r.typ = w.keyOfType(), r.keyOfType()
	return []*announcement{w, &r}
}

func TestAnnouncementRoundTrip(t *testing.T) {
	for _, a := range announced() {
		b := a.encode()
		got, err := decodeAnnouncement(b)
		require.NoError(t, err)
		require.Equal(t, a, got)
		more, err := decodeAnnouncement(append(b, 1, 2, 3))
		require.NoError(t, err, "later versions may add fields")
		require.Equal(t, a, more)
		for i := range b {
			_, err := decodeAnnouncement(b[:i])
			require.ErrorIs(t, err, errAnnouncement, "cut at %d", i)
		}
	}
	for _, a := range announced() {
		b := a.encode()
		b[1] = withoutTypes
		a.objects, a.reader.TypeConsistencyEnforcement = nil, qos.DefaultDataReader().TypeConsistencyEnforcement
		a.typ = a.keyOfType()
		got, err := decodeAnnouncement(b)
		require.NoError(t, err)
		require.Equal(t, a, got, "the version of older logs says nothing of the type objects")
	}
	long := announced()[0]
	long.typeText = strings.Repeat("x", 1<<20)
	require.Less(t, len(long.encode()), 16<<10, "a long text is cut")
	_, err := decodeAnnouncement(append([]byte{announceMagic, 9, 0}, make([]byte, 40)...))
	require.ErrorContains(t, err, "version 9")
}

func FuzzAnnouncement(f *testing.F) {
	for _, a := range announced() {
		f.Add(a.encode())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := decodeAnnouncement(b)
		if err != nil {
			return
		}
		again, err := decodeAnnouncement(a.encode())
		if err != nil {
			t.Fatal(err)
		}
		if len(a.typeText) <= maxAnnounced && !bytes.Equal(again.encode(), a.encode()) {
			t.Fatal("decoding what was encoded gives something else")
		}
		incompatible(a, again)
	})
}

// aStore has records of two writers, one of them gone, and an unregistered instance.
func aStore(t testing.TB) *store {
	s := newStore()
	ann := announced()[0]
	ann.writer.Durability.Kind = qos.DurabilityTransient
	ann.writer.History.Depth = 2
	var writers []*endpoint
	for i := range 2 {
		writers = append(writers, &endpoint{key: endpointKey{derecho.NodeID(i + 1), 1}, info: ann.encode(), ann: ann})
	}
	for i := range uint64(8) {
		m := derecho.Message{Header: derecho.Header{Kind: kindData, WriterSeq: i + 1, Timestamp: int64(i)}, Seq: i, Epoch: 1, Payload: []byte{byte(i), 1}}
		s.add(writers[i%2], &m, instanceHandle(int32(i%3)))
	}
	s.add(writers[0], &derecho.Message{Header: derecho.Header{Kind: kindUnregister}}, instanceHandle(0))
	s.end(writers[1].key)
	return s
}

func TestStateRoundTrip(t *testing.T) {
	s := aStore(t)
	b := s.save()
	require.Equal(t, b, s.save(), "the same state gives the same bytes")
	got, err := loadStore(b)
	require.NoError(t, err)
	require.Equal(t, b, got.save())
	require.Equal(t, len(s.history()), len(got.history()))
	require.Equal(t, len(s.ended()), len(got.ended()))
	for i := range b {
		_, err := loadStore(b[:i])
		require.ErrorIs(t, err, errState, "cut at %d", i)
	}
}

func FuzzState(f *testing.F) {
	f.Add(aStore(f).save())
	f.Add(newStore().save())
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := loadStore(b)
		if err != nil {
			return
		}
		if _, err := loadStore(s.save()); err != nil {
			t.Fatal(err)
		}
	})
}

func localTrack() *localType {
	s := topic.SupportOf[track]()
	ann := &announcement{signature: s.Type.Signature, typeName: s.Type.Name}
	ann.typ = ann.keyOfType()
	return newLocalType(ann, s)
}

func FuzzWritersFile(f *testing.F) {
	one := appendWriter(nil, endpointKey{1, 2}, announced()[0].encode())
	f.Add(one)
	f.Add(appendWriter(one, endpointKey{3, 4}, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		local, types := localTrack(), new(typeMatcher)
		past, rest := parseWriters(b)
		require.NotNil(t, past)
		require.LessOrEqual(t, len(rest), len(b))
		for key, info := range past {
			pastWriter(key, info, local, types)
		}
	})
}

func TestWritersFileTorn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.writers")
	one := appendWriter(nil, endpointKey{1, 2}, []byte("first"))
	b := appendWriter(one, endpointKey{3, 4}, []byte("second"))
	read := func(b []byte) (map[endpointKey][]byte, int64, error) {
		require.NoError(t, os.WriteFile(path, b, 0o644))
		return readWriters(path)
	}
	found, whole, err := read(b)
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.EqualValues(t, len(b), whole)
	for i := len(one); i < len(b); i++ {
		found, whole, err = read(b[:i])
		require.NoError(t, err)
		require.Equal(t, map[endpointKey][]byte{{1, 2}: []byte("first")}, found)
		require.EqualValues(t, len(one), whole)
	}
	damaged := slices.Clone(b)
	damaged[len(one)+writerEntrySize]++
	found, whole, err = read(damaged)
	require.NoError(t, err, "the last one may be torn in any way")
	require.Len(t, found, 1)
	require.EqualValues(t, len(one), whole)
	for i := range one {
		damaged = slices.Clone(b)
		damaged[i] ^= 0x10
		_, _, err = read(damaged)
		require.ErrorIs(t, err, storage.ErrCorrupt, "byte %d of what others follow", i)
		require.ErrorContains(t, err, fmt.Sprintf("another one follows at offset %d", len(one)))
	}
}

// What writers that have left wrote gives way, whichever a replica learns of first: that they left, or what came after.
func TestStoreTrimDoesNotDependOnOrder(t *testing.T) {
	run := func(leaveFirst bool) []string {
		s := newStore()
		ann := announced()[0]
		ann.writer.Durability.Kind = qos.DurabilityTransient
		ann.writer.History.Depth = 2
		old := &endpoint{key: endpointKey{1, 1}, info: ann.encode(), ann: ann}
		young := &endpoint{key: endpointKey{2, 1}, info: ann.encode(), ann: ann}
		put := func(w *endpoint, seq uint64) {
			s.add(w, &derecho.Message{Header: derecho.Header{Kind: kindData, WriterSeq: seq}, Seq: seq, Payload: []byte{byte(seq)}}, instanceHandle(1))
		}
		put(old, 1)
		put(old, 2)
		if leaveFirst {
			s.end(old.key)
		}
		put(young, 3)
		if !leaveFirst {
			s.end(old.key)
		}
		var out []string
		for _, r := range s.history() {
			out = append(out, string('0'+rune(r.message.Payload[0])))
		}
		return out
	}
	require.Equal(t, []string{"2", "3"}, run(true))
	require.Equal(t, run(true), run(false))
}

// A coherent set that is open replaces nothing: until it ends, who comes late gets what was before it, and for good if
// its writer goes. That goes for who takes over the state as well.
func TestOpenSetReplacesNothing(t *testing.T) {
	for _, transfer := range []bool{false, true} {
		for _, ends := range []bool{false, true} {
			s := newStore()
			ann := announced()[0]
			ann.writer.Durability.Kind = qos.DurabilityTransient
			ann.writer.History.Depth = 2
			w := &endpoint{key: endpointKey{1, 1}, info: ann.encode(), ann: ann}
			seq := uint64(0)
			put := func(kind derecho.Kind, flags uint8) {
				seq++
				s.add(w, &derecho.Message{Header: derecho.Header{Kind: kind, WriterSeq: seq, Flags: flags}, Seq: seq, Payload: []byte{byte(seq)}}, instanceHandle(1))
			}
			kept := func() (out []byte) {
				for _, r := range s.history() {
					out = append(out, r.message.Payload[0])
				}
				return out
			}
			for range 3 {
				put(kindData, 0)
			}
			for range 3 {
				put(kindData, flagInSet)
			}
			require.Equal(t, []byte{2, 3}, kept())
			if transfer {
				got, err := loadStore(s.save())
				require.NoError(t, err)
				s = got
				require.Equal(t, []byte{2, 3}, kept())
			}
			if ends {
				put(kindSetEnd, 0)
				require.Equal(t, []byte{5, 6}, kept())
			}
			s.end(w.key)
			if !ends {
				require.Equal(t, []byte{2, 3}, kept())
			}
			require.Equal(t, 2, s.count)
		}
	}
}
