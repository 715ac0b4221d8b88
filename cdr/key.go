package cdr

import (
	"crypto/md5"
	"slices"
)

// KeyHash identifies an instance (RTPS 2.5 §9.6.4.8).
type KeyHash [16]byte

// keyRoom is how much a key may grow the destination at first; longer keys are measured.
const keyRoom = 64

// MarshalKey appends the serialized key of m to dst: nothing if its type has no key.
func MarshalKey(dst []byte, m Message) ([]byte, error) {
	t := m.CDRType()
	if !t.Keyed {
		return dst, nil
	}
	var e Encoder
	return e.appendKey(dst, t, func() { m.MarshalKeyCDR(confined(&e)) })
}

// KeyFromSample appends the serialized key of an encoded sample to dst without decoding it. t only carries the methods
// of the type: a nil *T will do.
func KeyFromSample(dst []byte, t Message, sample []byte) ([]byte, error) {
	info := t.CDRType()
	enc, body, err := splitSample(sample)
	if err == nil {
		err = checkFit(enc, info)
	}
	if err != nil {
		return dst, describe(err.(*Error), "key of", info.Name)
	}
	if !info.Keyed {
		return dst, nil
	}
	var e Encoder
	var d Decoder
	return e.appendKey(dst, info, func() {
		d.start(body, enc)
		t.TranscodeKeyCDR(confined(&d), confined(&e))
		if d.err != nil {
			e.fail(d.err)
		}
	})
}

// appendKey runs write into the free capacity of dst. What does not fit is measured, made room for, and written again.
func (e *Encoder) appendKey(dst []byte, t *TypeInfo, write func()) ([]byte, error) {
	dst = slices.Grow(dst, max(0, min(t.MaxKeySize, keyRoom)))
	for {
		e.start(dst[len(dst):cap(dst)], CDR2BE)
		write()
		if e.err == nil {
			break
		}
		if e.err.Err != ErrShortBuffer {
			return dst, describe(e.err, "key of", t.Name)
		}
		e.start(nil, CDR2BE)
		e.only = true
		write()
		if e.err != nil {
			return dst, describe(e.err, "key of", t.Name)
		}
		dst = slices.Grow(dst, e.pos)
	}
	e.release()
	return dst[:len(dst)+e.pos], nil
}

// HashKey gives the key hash of a serialized key: the key itself, zero padded, if no key of the type is longer than
// 16 bytes, otherwise its MD5 (XTypes 1.3 §7.6.8). MD5 identifies here, as the standard asks; it protects nothing.
func HashKey(t *TypeInfo, key []byte) KeyHash {
	var h KeyHash
	if t.MaxKeySize >= 0 && t.MaxKeySize <= len(h) {
		copy(h[:], key)
		return h
	}
	return md5.Sum(key)
}
