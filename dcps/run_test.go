package dcps

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/xtypes"
)

// sheet has no key:
//
//	@final struct Sheet { string text; };
type sheet struct{ Text string }

var sheetType = cdr.Define(cdr.TypeInfo{Name: "test::Sheet", MaxSize: -1, Text: "@final struct test::Sheet { string text; };"})

func (*sheet) CDRType() *cdr.TypeInfo                         { return sheetType }
func (m *sheet) MarshalCDR(e *cdr.Encoder)                    { e.String("text", m.Text, 0) }
func (m *sheet) UnmarshalCDR(d *cdr.Decoder)                  { m.Text = d.String("text", 0) }
func (m *sheet) MarshalKeyCDR(*cdr.Encoder)                   {}
func (m *sheet) UnmarshalKeyCDR(*cdr.Decoder)                 {}
func (*sheet) TranscodeKeyCDR(d *cdr.Decoder, e *cdr.Encoder) {}

var sheetDescription = xtypes.Must(xtypes.Build(xtypes.TypeDescriptor{
	Kind: xtypes.TKStructure, Name: "test::Sheet", Extensibility: cdr.Final,
	Members: []xtypes.Member{{Name: "text", AutoID: true, Type: xtypes.NewString(0)}},
}))

func (n *node) sheets(t testing.TB, name string) *Topic[sheet] {
	topic, err := NewTopic[sheet](n.p, name, WithTypeDescription(sheetDescription))
	require.NoError(t, err)
	return topic
}

func (n *node) sheetReader(t testing.TB, of TopicDescription[sheet], change ...func(*qos.DataReader)) *DataReader[sheet] {
	r, err := NewDataReader(n.sub, of, WithReaderQos(readerQos(change...)))
	require.NoError(t, err)
	return r
}

func (n *node) sheetWriter(t testing.TB, of *Topic[sheet], change ...func(*qos.DataWriter)) *DataWriter[sheet] {
	w, err := NewDataWriter(n.pub, of, WithWriterQos(writerQos(change...)))
	require.NoError(t, err)
	return w
}

// described is what a loan shows. Times of reception are left out.
func described(l LoanedSamples) (all []string) {
	for i := range l.Len() {
		info := *l.Info(i)
		all = append(all, fmt.Sprintf("%v ranks=%d,%d,%d valid=%t at=%d seq=%d,%d epoch=%d by=%v of=%v %q", info,
			info.SampleRank, info.GenerationRank, info.AbsoluteGenerationRank, info.ValidData, info.SourceTimestamp.UnixNano(),
			info.Sequence, info.WriterSequence, info.Epoch, info.PublicationHandle, info.InstanceHandle, l.Encoded(i)))
	}
	return all
}

// A reader that is given runs shows what one shows that never is, whatever is asked of it between.
func TestRunsAgainstSingles(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	topic := n.sheets(t, "Sheet")
	writers := []*DataWriter[sheet]{n.sheetWriter(t, topic), n.sheetWriter(t, topic)}
	filtered, err := NewContentFilteredTopic(topic, "Some", "text <> 'none'")
	require.NoError(t, err)
	encoded := func(text string) []byte {
		b, err := cdr.Marshal(&sheet{text}, writers[0].enc)
		require.NoError(t, err)
		return b
	}
	none := encoded("none")
	number, seqs, served := uint64(0), []uint64{0, 0}, 0
	rapid.Check(t, func(rt *rapid.T) {
		most := rapid.SampledFrom([]int32{qos.LengthUnlimited, 4, 9}).Draw(rt, "most")
		limits := func(q *qos.DataReader) { q.ResourceLimits.MaxSamples = most }
		of := TopicDescription[sheet](topic)
		if rapid.Bool().Draw(rt, "filter") {
			of = filtered
		}
		readers := []*DataReader[sheet]{n.sheetReader(t, of, limits), n.sheetReader(t, of, limits)}
		d.bus.settle(t)
		a, b := readers[0], readers[1]
		b.lock()
		b.forRuns = math.MinInt
		b.unlock()
		prefer := func() { // as if it had taken by loan for long
			a.lock()
			require.True(t, a.mayRun())
			a.wantsRuns.Store(true)
			a.unlock()
		}
		if rapid.IntRange(0, 3).Draw(rt, "from the start") != 0 {
			prefer()
		}
		var open [][2]LoanedSamples
		closeOne := func(i int) {
			if got, want := described(open[i][0]), described(open[i][1]); !slices.Equal(got, want) {
				rt.Fatalf("after a while:\ngot  %q\nwant %q", got, want)
			}
			open[i][0].Close()
			open[i][1].Close()
			open = slices.Delete(open, i, i+1)
		}
		conditions := [2][]*ReadCondition{}
		for i, r := range readers {
			for _, v := range []ViewState{ViewNew, ViewNotNew, AnyViewState} {
				for _, s := range []SampleState{SampleRead, SampleNotRead, AnySampleState} {
					conditions[i] = append(conditions[i], r.NewReadCondition(s, v, 0))
				}
			}
		}
		// Small numbers are drawn far oftener than large ones: from 1 on, most cases would end before a run is taken.
		for range rapid.IntRange(20, 60).Draw(rt, "steps") {
			switch op := rapid.SampledFrom([]string{"deliver", "take", "prefer", "deliver", "take", "deliver", "take", "other", "close", "look", "alter"}).Draw(rt, "op"); op {
			case "prefer":
				prefer()
			case "deliver":
				var batch []derecho.Message
				for range rapid.IntRange(1, 8).Draw(rt, "messages") {
					number++
					i := rapid.SampledFrom([]int{0, 0, 0, 0, 1}).Draw(rt, "writer")
					w := writers[i]
					m := derecho.Message{
						Header: derecho.Header{Writer: w.id, Timestamp: int64(number * 10), Kind: kindData}, Sender: w.p.core.ID(), Channel: w.at.ch,
						Epoch: uint32(number / 50), Seq: number, Payload: encoded(fmt.Sprint("sample ", number)),
					}
					switch rapid.SampledFrom([]string{"", "", "", "", "", "", "", "", "none", "again", "dispose", "unregister", "register", "flag"}).Draw(rt, "kind") {
					case "none":
						m.Payload = none
					case "again":
						seqs[i]--
					case "dispose":
						m.Kind, m.Payload = kindDispose, nil
					case "unregister":
						m.Kind, m.Payload = kindUnregister, nil
					case "register":
						m.Kind, m.Payload = kindRegister, nil
					case "flag":
						m.Flags = flagInSet
					}
					seqs[i]++
					m.WriterSeq = max(seqs[i], 1)
					batch = append(batch, m)
				}
				n.p.hub.Deliver(writers[0].at.sg, batch)
				for i := range batch {
					clear(batch[i].Payload) // nobody may keep it
				}
				none = encoded("none")
			case "alter": // all that comes has expired, or nothing does; what has come stays
				lifespan := rapid.SampledFrom([]int64{0, 1}).Draw(rt, "lifespan")
				for _, w := range writers {
					for _, m := range n.p.hub.endpoints[endpointKey{w.p.core.ID(), w.id}].matches {
						it := &item{kind: itemAltered, src: m.src, ctl: &control{lifespan: lifespan}}
						m.r.post(it, it)
					}
				}
			case "take", "other":
				opts := []ReadOption{MaxSamples(rapid.IntRange(0, 6).Draw(rt, "max"))}
				if rapid.Bool().Draw(rt, "in order") {
					opts = append(opts, InOrder())
				}
				if rapid.IntRange(0, 3).Draw(rt, "all states") == 3 {
					opts = append(opts, States(
						rapid.SampledFrom([]SampleState{SampleRead, SampleNotRead}).Draw(rt, "samples"),
						rapid.SampledFrom([]ViewState{AnyViewState, ViewNew, ViewNotNew}).Draw(rt, "views"),
						rapid.SampledFrom([]InstanceState{AnyInstanceState, InstanceAlive, InstanceNotAlive}).Draw(rt, "instances")))
				}
				ask := (*DataReader[sheet]).TakeLoan
				if op == "other" && rapid.Bool().Draw(rt, "read") {
					ask = (*DataReader[sheet]).ReadLoan
				} else if op == "other" {
					opts = append(opts, Instance(HandleNil))
				}
				x, err := ask(a, opts...)
				y, errB := ask(b, opts...)
				if fmt.Sprint(err) != fmt.Sprint(errB) {
					rt.Fatalf("%v, want %v", err, errB)
				}
				if err != nil {
					break
				}
				if len(x.c.samples) > 0 {
					served++
				}
				open = append(open, [2]LoanedSamples{x, y})
				if rapid.Bool().Draw(rt, "at once") {
					closeOne(len(open) - 1)
				}
			case "close":
				if len(open) > 0 {
					closeOne(rapid.IntRange(0, len(open)-1).Draw(rt, "which"))
				}
			case "look":
				for i := range conditions[0] {
					if got, want := conditions[0][i].TriggerValue(), conditions[1][i].TriggerValue(); got != want {
						rt.Fatalf("condition %d is %t, want %t", i, got, want)
					}
				}
			}
			if got, want := a.StatusChanges(), b.StatusChanges(); got != want {
				rt.Fatalf("changes %v, want %v", got, want)
			}
			if got, want := a.SampleLostStatus(), b.SampleLostStatus(); got != want {
				rt.Fatalf("lost %v, want %v", got, want)
			}
		}
		for len(open) > 0 {
			closeOne(0)
		}
		require.NoError(t, a.Close())
		require.NoError(t, b.Close())
		require.Zero(t, a.lending.count.Load())
		d.bus.settle(t)
	})
	t.Logf("served %d", served)
	require.Positive(t, served, "takes of runs")
}

// Runs lie in the ring of their writer, until somebody is in need of the room.
func TestRunsAreLent(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport string) {
		settings, _ := onSmallRing(t, transport)
		d := onCore(t, settings)
		a, b := d.node(t, WithName("a")), d.node(t, WithName("b"))
		w := a.sheetWriter(t, a.sheets(t, "Sheet"), blocking(patience))
		all, idle := b.sheetReader(t, b.sheets(t, "Sheet")), b.sheetReader(t, b.sheets(t, "Sheet"))
		require.NoError(t, w.WaitForMatch(patiently(t), 2))
		for _, r := range []*DataReader[sheet]{all, idle} {
			r.lock()
			r.wantsRuns.Store(true)
			r.unlock()
		}
		const first, samples = 20, 500
		text := func(i int) string { return strings.Repeat(string(rune('a'+i%26)), 60+i%400) }
		check := func(r *DataReader[sheet], l LoanedSamples, from int) int {
			for i := range l.Len() {
				want, err := cdr.Marshal(&sheet{text(from + i)}, w.enc)
				require.NoError(t, err)
				require.True(t, bytes.Equal(want, l.Encoded(i)), "sample %d", from+i)
				require.Equal(t, uint64(from+i+1), l.Info(i).WriterSequence)
			}
			return from + l.Len()
		}
		// isLent looks at what lies in the ring, if anything does, and how much of it one loan holds.
		isLent := func(l LoanedSamples) bool {
			lent := len(l.c.runs) > 0
			for _, part := range l.c.runs {
				if lent = lent && part.it.loan != nil; part.it.loan == nil {
					continue
				}
				held := 0
				for _, x := range part.it.run {
					held += derecho.RingBytes(len(x.buf))
				}
				require.LessOrEqual(t, held, max(settings.RingBytes/runShare, derecho.RingBytes(len(part.it.run[0].buf))))
			}
			return lent
		}

		// The first one makes the instance. The others before the ring is full take more of it than a run may, and nobody
		// waits for room yet.
		due := 0
		for _, end := range []int{1, first} {
			for i := due; i < end; i++ {
				require.NoError(t, w.Write(patiently(t), &sheet{text(i)}))
			}
			require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
			l, err := all.TakeLoan()
			require.NoError(t, err)
			require.Equal(t, end-due, l.Len())
			if end == first {
				require.True(t, isLent(l))
				require.Greater(t, len(l.c.runs), 1)
			}
			due = check(all, l, due)
			l.Close()
		}

		// Now the ring is full of what nobody takes, and how often this reader is in time is up to the machine.
		wrote := make(chan error, 1)
		go func() {
			for i := first; i < samples; i++ {
				if err := w.Write(patiently(t), &sheet{text(i)}); err != nil {
					wrote <- err
					return
				}
			}
			wrote <- nil
		}()
		lent := 0
		ready := NewWaitSet(all.NewReadCondition(0, 0, 0))
		for due < samples {
			_, err := ready.Wait(patiently(t))
			require.NoError(t, err)
			l, err := all.TakeLoan(MaxSamples(1 + due%7))
			require.NoError(t, err)
			if isLent(l) {
				lent++
			}
			due = check(all, l, due)
			l.Close()
			if due%50 == 0 { // a run becomes entries
				if l, err := all.ReadLoan(MaxSamples(1)); err == nil {
					check(all, l, due)
					l.Close()
				}
				all.lock()
				all.wantsRuns.Store(true)
				all.unlock()
			}
		}
		require.NoError(t, <-wrote)
		t.Logf("%d of the takes had what was lent", lent)
		require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
		l, err := idle.TakeLoan()
		require.NoError(t, err)
		require.Equal(t, samples, check(idle, l, 0))
		l.Close()

		// Nobody waits for room any more: a reader that takes in time is lent samples again, after coldTakes at the latest.
		all.lock()
		all.wantsRuns.Store(true)
		all.unlock()
		again := false
		for range coldTakes + 1 {
			require.NoError(t, w.Write(patiently(t), &sheet{text(due)}))
			require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
			l, err := all.TakeLoan()
			require.NoError(t, err)
			again = isLent(l)
			due = check(all, l, due)
			l.Close()
			l, err = idle.TakeLoan()
			require.NoError(t, err)
			l.Close()
		}
		require.True(t, again)
		require.NoError(t, all.Close())
		require.Zero(t, all.lending.count.Load())
	})
}

// Runs that wait for room, or come and go, cost no allocation.
func TestRunsDoNotAllocate(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	topic := n.sheets(t, "Sheet")
	w := n.sheetWriter(t, topic)
	payload, err := cdr.Marshal(&sheet{"steady"}, w.enc)
	require.NoError(t, err)
	for name, most := range map[string]int32{"room": qos.LengthUnlimited, "too little": 20} {
		t.Run(name, func(t *testing.T) {
			r := n.sheetReader(t, topic, func(q *qos.DataReader) { q.ResourceLimits.MaxSamples = most })
			d.bus.settle(t)
			batch := make([]derecho.Message, 16)
			for i := range batch {
				batch[i] = derecho.Message{Header: derecho.Header{Writer: w.id, Kind: kindData}, Sender: w.p.core.ID(), Channel: w.at.ch, Epoch: 1, Payload: payload}
			}
			seq, due := uint64(0), uint64(0)
			deliver := func() {
				for i := range batch {
					seq++
					batch[i].WriterSeq, batch[i].Seq = seq, seq
				}
				n.p.hub.Deliver(w.at.sg, batch)
			}
			step := func() {
				deliver()
				l, err := r.TakeLoan(MaxSamples(16), InOrder())
				if err != nil || l.Len() != len(batch) {
					t.Fatalf("%d samples, %v", l.Len(), err)
				}
				for i := range l.Len() {
					if due++; len(l.Encoded(i)) != len(payload) || l.Info(i).WriterSequence != due {
						t.Fatal("another sample than was due")
					}
				}
				l.Close()
			}
			for range 3 {
				deliver()
			}
			for range 10 {
				step()
			}
			require.True(t, r.wantsRuns.Load())
			requireNoAllocs(t, 100, step)
			require.NoError(t, r.Close())
		})
	}
}

// Runs of one sample each, as they come where writers alternate, take no more memory than entries do; also when they
// are copied because a writer is in need of the room.
func TestMemoryOfShortRuns(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	topic := n.sheets(t, "Sheet")
	writers := []*DataWriter[sheet]{n.sheetWriter(t, topic), n.sheetWriter(t, topic)}
	payload, err := cdr.Marshal(&sheet{"short"}, writers[0].enc)
	require.NoError(t, err)
	r := n.sheetReader(t, topic)
	d.bus.settle(t)
	r.lock()
	r.wantsRuns.Store(true)
	r.unlock()
	batch := make([]derecho.Message, 64)
	for i := range batch {
		w := writers[i%2]
		h := derecho.Header{Writer: w.id, Kind: kindData, WriterSeq: uint64(i + 1)}
		batch[i] = derecho.Message{Header: h, Sender: w.p.core.ID(), Channel: w.at.ch, Epoch: 1, Seq: uint64(i + 1), Payload: payload}
	}
	n.p.hub.Deliver(writers[0].at.sg, batch)
	r.lock()
	defer r.unlock()
	short := 0
	for it := r.cache.runs.first; it != nil; it = it.after {
		short++
		require.LessOrEqual(t, it.memory(), 256)
		it.own, it.run[0].buf = nil, payload // as if it was lent
		r.lending.keepRun(it)
		require.LessOrEqual(t, it.memory(), 256)
		require.Equal(t, payload, it.run[0].buf)
	}
	require.Greater(t, short, 60)
}

// Many tiny samples make no run that takes more than what is said of runs: what is noted of each counts.
func TestMemoryOfLongRuns(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	topic := n.sheets(t, "Sheet")
	w := n.sheetWriter(t, topic)
	payload, err := cdr.Marshal(&sheet{"tiny"}, w.enc)
	require.NoError(t, err)
	r := n.sheetReader(t, topic)
	d.bus.settle(t)
	r.lock()
	r.wantsRuns.Store(true)
	r.unlock()
	batch := make([]derecho.Message, 5000)
	for i := range batch {
		h := derecho.Header{Writer: w.id, Kind: kindData, WriterSeq: uint64(i + 1)}
		batch[i] = derecho.Message{Header: h, Sender: w.p.core.ID(), Channel: w.at.ch, Epoch: 1, Seq: uint64(i + 1), Payload: payload}
	}
	n.p.hub.Deliver(w.at.sg, batch)
	r.lock()
	defer r.unlock()
	samples := r.cache.samples // the first ones, before there was an instance
	for it := r.cache.runs.first; it != nil; it = it.after {
		samples += len(it.run)
		require.LessOrEqual(t, len(it.run)*(aligned(len(payload))+sampleOfRunBytes), copiedRunBytes)
		require.LessOrEqual(t, it.memory(), 2*copiedRunBytes)
	}
	require.Equal(t, len(batch), samples)
}
