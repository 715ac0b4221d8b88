package cdr

import "fmt"

// Encoders and decoders live on the stack of the functions below, for the time of one call: see confined.

// Size gives the exact number of bytes that MarshalTo writes.
func Size(m Message, enc Encapsulation) (int, error) {
	t := m.CDRType()
	if !enc.fits(t.Extensibility) {
		return 0, checkFit(enc, t)
	}
	var e Encoder
	e.start(nil, enc)
	e.only = true
	m.MarshalCDR(confined(&e))
	e.release()
	if e.err != nil {
		return 0, describe(e.err, "marshal", t.Name)
	}
	return HeaderSize + e.pos + padding(e.pos), nil
}

// MarshalTo encodes m at the start of buf and returns how many bytes it took. On error, buf holds nothing of use.
func MarshalTo(buf []byte, m Message, enc Encapsulation) (int, error) {
	t := m.CDRType()
	var e Encoder
	if err := e.open(buf, t, enc, t.Extensibility); err != nil {
		return 0, err
	}
	m.MarshalCDR(confined(&e))
	return e.finish(buf, enc, "marshal", t)
}

// MarshalKeyTo encodes the key of m as the payload of a dispose or an unregister: header and KeyHolder.
func MarshalKeyTo(buf []byte, m Message) (int, error) {
	t := m.CDRType()
	var e Encoder
	if err := e.open(buf, t, CDR2LE, Final); err != nil {
		return 0, err
	}
	if t.Keyed {
		m.MarshalKeyCDR(confined(&e))
	}
	return e.finish(buf, CDR2LE, "marshal", t)
}

// open begins a sample of type t in buf, with the encapsulation of a type with extensibility x.
func (e *Encoder) open(buf []byte, t *TypeInfo, enc Encapsulation, x Extensibility) error {
	if !enc.fits(x) {
		return checkFit(enc, t)
	}
	if len(buf) < HeaderSize {
		return &Error{Op: "marshal", Type: t.Name, Err: ErrShortBuffer,
			Detail: fmt.Sprintf("buffer has %d bytes, at least %d needed", len(buf), HeaderSize)}
	}
	e.start(buf[HeaderSize:], enc)
	return nil
}

// finish pads the body and writes the header in front of it.
func (e *Encoder) finish(buf []byte, enc Encapsulation, op string, t *TypeInfo) (int, error) {
	e.release()
	pad := padding(e.pos)
	if end := e.pos + pad; end > len(e.buf) {
		e.takeSlow(end)
	} else {
		for ; e.pos < end; e.pos++ {
			e.buf[e.pos] = 0
		}
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
	var d Decoder
	d.start(body, enc)
	m.UnmarshalCDR(confined(&d))
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
	var d Decoder
	d.start(body, enc)
	m.UnmarshalKeyCDR(confined(&d))
	return describe(d.err, "unmarshal key of", t.Name)
}
