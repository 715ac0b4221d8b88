package bench

import (
	"fmt"

	"github.com/omg-dds-go/dds/cdr"
)

// The phases of a writer, in this order.
const (
	warmUp   uint32 = iota
	measured        // these count
	end             // one mark, or more; its number is how many were measured
)

// header is a sample without its payload.
type header struct {
	instance, writer, phase uint32
	number                  uint64
	sent, due               int64
	payload                 int // its bytes
}

// form is how one of the two types is encoded and read, in each of the ways that the generated code offers.
type form[T any] struct {
	name  string
	build func(s *cdr.Stream, room []byte, h *header, payload []byte) (int, error) // in place
	set   func(m *T, h *header, payload []byte)
	parse func(sample []byte, h *header) (payload []byte, err error) // in place
	get   func(m *T, h *header) (payload []byte)
}

// room is what a loan for an encoded sample of a size needs: the encapsulation header, and padding at the end.
func room(size int) int { return cdr.HeaderSize + size + 4 }

var plain = form[Sample]{
	name: "Unkeyed",
	build: func(s *cdr.Stream, room []byte, h *header, payload []byte) (int, error) {
		b := NewSampleWriter(s, room, cdr.CDR2LE) // both types are @final
		b.SetInstance(h.instance)
		b.SetWriter(h.writer)
		b.SetPhase(h.phase)
		b.SetNumber(h.number)
		b.SetSent(h.sent)
		b.SetDue(h.due)
		b.SetPayload(payload)
		return b.Finish()
	},
	set: func(m *Sample, h *header, payload []byte) {
		*m = Sample{h.instance, h.writer, h.phase, h.number, h.sent, h.due, payload}
	},
	parse: func(sample []byte, h *header) ([]byte, error) {
		var v SampleView
		if err := v.OpenCDR(sample); err != nil {
			return nil, err
		}
		payload := v.Payload()
		h.instance, h.writer, h.phase, h.number, h.sent, h.due = v.Instance(), v.Writer(), v.Phase(), v.Number(), v.Sent(), v.Due()
		h.payload = len(payload)
		return payload, nil
	},
	get: func(m *Sample, h *header) []byte {
		*h = header{m.Instance, m.Writer, m.Phase, m.Number, m.Sent, m.Due, len(m.Payload)}
		return m.Payload
	},
}

var keyed = form[KeyedSample]{
	name: "Keyed",
	build: func(s *cdr.Stream, room []byte, h *header, payload []byte) (int, error) {
		b := NewKeyedSampleWriter(s, room, cdr.CDR2LE) // both types are @final
		b.SetInstance(h.instance)
		b.SetWriter(h.writer)
		b.SetPhase(h.phase)
		b.SetNumber(h.number)
		b.SetSent(h.sent)
		b.SetDue(h.due)
		b.SetPayload(payload)
		return b.Finish()
	},
	set: func(m *KeyedSample, h *header, payload []byte) {
		*m = KeyedSample{h.instance, h.writer, h.phase, h.number, h.sent, h.due, payload}
	},
	parse: func(sample []byte, h *header) ([]byte, error) {
		var v KeyedSampleView
		if err := v.OpenCDR(sample); err != nil {
			return nil, err
		}
		payload := v.Payload()
		h.instance, h.writer, h.phase, h.number, h.sent, h.due = v.Instance(), v.Writer(), v.Phase(), v.Number(), v.Sent(), v.Due()
		h.payload = len(payload)
		return payload, nil
	},
	get: func(m *KeyedSample, h *header) []byte {
		*h = header{m.Instance, m.Writer, m.Phase, m.Number, m.Sent, m.Due, len(m.Payload)}
		return m.Payload
	},
}

// seal makes the payload's last byte tell the number, so that a reader notices bytes that are not the sample's.
func seal(payload []byte, number uint64) {
	if n := len(payload); n > 0 {
		payload[n-1] = byte(number)
	}
}

func checkSeal(payload []byte, h *header) error {
	if n := len(payload); n > 0 && payload[n-1] != byte(h.number) {
		return fmt.Errorf("sample %d of writer %08x came with the payload of another: its last byte is %d, not %d; this is a defect of the middleware",
			h.number, h.writer, payload[n-1], byte(h.number))
	}
	return nil
}
