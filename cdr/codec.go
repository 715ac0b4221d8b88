package cdr

import (
	"fmt"
	"sync"
)

var (
	encoders = sync.Pool{New: func() any { return new(Encoder) }}
	decoders = sync.Pool{New: func() any { return new(Decoder) }}
)

// newEncoder takes an encoder from the pool; release gives it back without its references.
func newEncoder(buf []byte, enc Encapsulation) *Encoder {
	e := encoders.Get().(*Encoder)
	e.reset(buf, enc)
	return e
}

func (e *Encoder) release() {
	*e = Encoder{keys: e.keys}
	encoders.Put(e)
}

func newDecoder(body []byte, enc Encapsulation) *Decoder {
	d := decoders.Get().(*Decoder)
	d.reset(body, enc)
	return d
}

func (d *Decoder) release() {
	*d = Decoder{}
	decoders.Put(d)
}

// Size gives the exact number of bytes that MarshalTo writes.
func Size(m Message, enc Encapsulation) (int, error) {
	if err := checkFit(enc, m.CDRType()); err != nil {
		return 0, err
	}
	e := newEncoder(nil, enc)
	defer e.release()
	e.only = true
	m.MarshalCDR(e)
	if e.err != nil {
		return 0, describe(e.err, "marshal", m.CDRType().Name)
	}
	return HeaderSize + e.pos + padding(e.pos), nil
}

// MarshalTo encodes m at the start of buf and returns how many bytes it took. On error, buf holds nothing of use.
func MarshalTo(buf []byte, m Message, enc Encapsulation) (int, error) {
	return marshalTo(buf, m, enc, m.CDRType().Extensibility, Message.MarshalCDR)
}

// MarshalKeyTo encodes the key of m as the payload of a dispose or an unregister: header and KeyHolder.
func MarshalKeyTo(buf []byte, m Message) (int, error) {
	if !m.CDRType().Keyed {
		return marshalTo(buf, m, CDR2LE, Final, func(Message, *Encoder) {})
	}
	return marshalTo(buf, m, CDR2LE, Final, Message.MarshalKeyCDR)
}

func marshalTo(buf []byte, m Message, enc Encapsulation, x Extensibility, marshal func(Message, *Encoder)) (int, error) {
	t := m.CDRType()
	if !enc.fits(x) {
		return 0, checkFit(enc, t)
	}
	if len(buf) < HeaderSize {
		return 0, &Error{Op: "marshal", Type: t.Name, Err: ErrShortBuffer, Detail: fmt.Sprintf("buffer has %d bytes, at least %d needed", len(buf), HeaderSize)}
	}
	e := newEncoder(buf[HeaderSize:], enc)
	defer e.release()
	marshal(m, e)
	return e.finish(buf, enc, "marshal", t)
}

// finish pads the body and writes the header in front of it.
func (e *Encoder) finish(buf []byte, enc Encapsulation, op string, t *TypeInfo) (int, error) {
	pad := padding(e.pos)
	if b := e.take(1, pad); b != nil {
		clear(b)
	}
	if e.err != nil {
		return 0, describe(e.err, op, t.Name)
	}
	putHeader(buf, enc, pad)
	return HeaderSize + e.pos, nil
}

// Marshal encodes m into new memory.
func Marshal(m Message, enc Encapsulation) ([]byte, error) {
	n, err := Size(m, enc)
	if err != nil {
		return nil, err
	}
	buf := make([]byte, n)
	n, err = MarshalTo(buf, m, enc)
	return buf[:n], err
}

// Unmarshal decodes an encoded sample into m. Slices that m holds are used again where they are large enough; members
// that the sample does not have become zero. After an error, m holds a mixture of old and new.
func Unmarshal(data []byte, m Message) error {
	t := m.CDRType()
	enc, body, err := splitSample(data)
	if err == nil {
		err = checkFit(enc, t)
	}
	if err != nil {
		return describe(err.(*Error), "unmarshal", t.Name)
	}
	d := newDecoder(body, enc)
	defer d.release()
	m.UnmarshalCDR(d)
	return describe(d.err, "unmarshal", t.Name)
}

// UnmarshalKey decodes what MarshalKeyTo wrote (either byte order) into the key members of m.
func UnmarshalKey(data []byte, m Message) error {
	t := m.CDRType()
	enc, body, err := splitSample(data)
	if err == nil && enc != CDR2LE && enc != CDR2BE {
		err = &Error{Err: ErrEncapsulation, Detail: fmt.Sprintf("a key comes as %s or %s, not as %s", CDR2LE, CDR2BE, enc)}
	}
	if err != nil {
		return describe(err.(*Error), "unmarshal key of", t.Name)
	}
	if !t.Keyed {
		return nil
	}
	d := newDecoder(body, enc)
	defer d.release()
	m.UnmarshalKeyCDR(d)
	return describe(d.err, "unmarshal key of", t.Name)
}
