package dcps

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/omg-dds-go/dds/derecho"
)

// The state of a store, as it travels to a node that joins the channel. Version 2, little endian:
//
//	'H' version  form(u8) of the handles  clock(i64)  count(u32) writers  count(u32) records
//	writer: node(u64) id(u32) flags(u8) length(u32) announcement [first(u64) last(u64) of the set that is open]
//	record: writer(u32, index) handle(16) flags(u8) epoch(u32) seq(u64) writerSeq(u64) timestamp(i64) length(u32) sample
//
// Records come in the order of their arrival. Version 1, which logs may have, is without form and clock.
const (
	stateMagic       = 'H'
	stateVersion     = 2
	stateWithoutForm = 1 // the version before
	stateGone        = 1 // flags of a writer: it has ended
	stateTorn        = 2 // it is in a coherent set whose beginning was lost
	stateInSet       = 4 // it is in one that was not, whose numbers follow. Not of states of earlier versions
	stateUnregisters = 1 // flags of a record: the writer unregistered the instance after it
	stateOpen        = 2 // it is of a coherent set that has not ended
	stateDisposed    = 4 // it is the latest of its instance, which is disposed since: when(i64) and when it is forgotten(i64) follow the sample
	stateDisposedBy  = 8 // by another writer, whose index(u32) follows that. Not of states of earlier versions
	stateHeadSize    = 3 + 8 + 4 + 4
	stateWriterSize  = 8 + 4 + 1 + 4
	stateRecordSize  = 4 + 16 + 1 + 4 + 8 + 8 + 8 + 4
)

var errState = errors.New("history of a peer is malformed")

// encode is the state as it was at the cut, which is whole. It ends the cut.
func (c *cut) encode() []byte {
	defer c.end()
	records := c.records()
	le := binary.LittleEndian
	size := stateHeadSize
	for i := range c.writers {
		size += stateWriterSize + len(c.writers[i].info) + 8 + 8
	}
	for _, ref := range records {
		r := c.record(ref)
		size += stateRecordSize + len(r.message.Payload)
		if r.disposed() != nil {
			size += 8 + 8 + 4
		}
	}
	// At once, as to let it grow copies it again and again, of a large one for so long, without a break, that all else stands still.
	out := make([]byte, 0, size)
	out = append(out, stateMagic, stateVersion, byte(c.form))
	out = le.AppendUint64(out, uint64(c.clock))
	index := make(map[*storedWriter]uint32, len(c.writers))
	out = le.AppendUint32(out, uint32(len(c.writers)))
	for i, w := range c.writers {
		index[w.w] = uint32(i)
		out = le.AppendUint64(out, uint64(w.w.key.node))
		out = le.AppendUint32(out, uint32(w.w.key.id))
		out = append(out, boolByte(w.gone)*stateGone|boolByte(w.torn)*stateTorn|boolByte(w.set.first != 0)*stateInSet)
		out = le.AppendUint32(out, uint32(len(w.info)))
		out = append(out, w.info...)
		if w.set.first != 0 {
			out = le.AppendUint64(out, w.set.first)
			out = le.AppendUint64(out, w.set.last)
		}
	}
	out = le.AppendUint32(out, uint32(len(records)))
	for _, ref := range records {
		r := c.record(ref)
		m, by := &r.message, r.disposed()
		byOther := by != nil && by.w != r.w
		out = le.AppendUint32(out, index[r.w])
		out = append(out, r.handle[:]...)
		out = append(out, boolByte(r.last() && r.line.unregistered)*stateUnregisters|boolByte(r.open())*stateOpen|
			boolByte(by != nil)*stateDisposed|boolByte(byOther)*stateDisposedBy)
		out = le.AppendUint32(out, m.Epoch)
		out = le.AppendUint64(out, m.Seq)
		out = le.AppendUint64(out, m.WriterSeq)
		out = le.AppendUint64(out, uint64(m.Timestamp))
		out = le.AppendUint32(out, uint32(len(m.Payload)))
		out = append(out, m.Payload...)
		if by != nil {
			out = le.AppendUint64(out, uint64(by.ns))
			out = le.AppendUint64(out, uint64(by.end))
			if byOther {
				out = le.AppendUint32(out, index[by.w])
			}
		}
	}
	return out
}

func boolByte(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// loadStore reads what a peer saved: anything may come.
func loadStore(b []byte) (*store, error) {
	a := archive{buf: b, dec: true}
	var magic, version uint8
	a.u8(&magic)
	a.u8(&version)
	if a.err != nil || magic != stateMagic || version != stateVersion && version != stateWithoutForm {
		return nil, fmt.Errorf("%w: it does not begin with version %d or %d of the format", errState, stateWithoutForm, stateVersion)
	}
	s := newStore()
	if version != stateWithoutForm {
		unsigned(&a, &s.form, 1)
		a.i64(&s.clock)
	}
	var n uint32
	a.u32(&n)
	if a.err != nil {
		return nil, fmt.Errorf("%w: %w", errState, a.err)
	}
	if int64(n)*stateWriterSize > int64(len(b)) {
		return nil, fmt.Errorf("%w: %d writers in %d bytes", errState, n, len(b))
	}
	writers := make([]*storedWriter, n)
	for i := range writers {
		w, err := loadWriter(&a)
		if err != nil {
			return nil, err
		}
		writers[i] = w
		s.writers[w.key] = w
	}
	a.u32(&n)
	if a.err != nil {
		return nil, fmt.Errorf("%w: %w", errState, a.err)
	}
	if int64(n)*stateRecordSize > int64(len(b)) {
		return nil, fmt.Errorf("%w: %d samples in %d bytes", errState, n, len(b))
	}
	for range n {
		if err := s.loadRecord(&a, writers); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func loadWriter(a *archive) (*storedWriter, error) {
	var node uint64
	var id uint32
	var flags uint8
	var info []byte
	var set storedSet
	a.u64(&node)
	a.u32(&id)
	a.u8(&flags)
	a.octets(&info)
	if flags&stateInSet != 0 {
		a.u64(&set.first)
		a.u64(&set.last)
	}
	if a.err != nil {
		return nil, fmt.Errorf("%w: %w", errState, a.err)
	}
	ann, err := decodeAnnouncement(info)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errState, err)
	}
	if !ann.writes {
		return nil, fmt.Errorf("%w: the announcement of a reader among its writers", errState)
	}
	w := newStoredWriter(endpointKey{derecho.NodeID(node), derecho.EndpointID(id)}, info, ann)
	w.gone, w.torn, w.set = flags&stateGone != 0, flags&stateTorn != 0, set
	return w, nil
}

func (s *store) loadRecord(a *archive, writers []*storedWriter) error {
	var index uint32
	var flags uint8
	var m derecho.Message
	var h InstanceHandle
	a.u32(&index)
	copy(h[:], a.take(len(h)))
	a.u8(&flags)
	a.u32(&m.Epoch)
	a.u64(&m.Seq)
	a.u64(&m.WriterSeq)
	a.i64(&m.Timestamp)
	a.octets(&m.Payload)
	var by disposal
	if flags&stateDisposed != 0 {
		a.i64(&by.ns)
		a.i64(&by.end)
	}
	disposer := index
	if flags&stateDisposedBy != 0 {
		a.u32(&disposer)
	}
	if a.err != nil {
		return fmt.Errorf("%w: %w", errState, a.err)
	}
	if n := max(index, disposer); int64(n) >= int64(len(writers)) {
		return fmt.Errorf("%w: a sample of writer %d of %d", errState, n, len(writers))
	}
	w := writers[index]
	m.Kind, m.Sender, m.Writer = kindData, w.key.node, w.key.id
	if flags&stateOpen != 0 {
		m.Flags = flagInSet
	}
	s.clock = max(s.clock, m.Timestamp)
	in := s.instances[h]
	if in == nil {
		in = s.begin(h)
	}
	s.put(in.line(w), &m, h) // limits, and those before, had their say where it was kept
	if flags&stateUnregisters != 0 {
		s.unregister(w, in)
	}
	if flags&stateDisposed != 0 {
		s.clock = max(s.clock, by.ns)
		s.restore(writers[disposer], h, by)
	}
	return nil
}
