package main

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/omg-dds-go/dds/bench/codec/wire"
)

var errWrong = errors.New("a value is wrong")

// inProtobuf measures google.golang.org/protobuf.
func inProtobuf(name string, m proto.Message) ([]operation, error) {
	buf, err := proto.MarshalOptions{}.MarshalAppend(make([]byte, 0, roomy), m)
	if err != nil {
		return nil, err
	}
	sample := bytes.Clone(buf)
	decoded := m.ProtoReflect().New().Interface()
	if err := proto.Unmarshal(sample, decoded); err != nil || !proto.Equal(m, decoded) {
		return nil, fmt.Errorf("protobuf: %s: %w", name, errors.Join(err, errWrong))
	}
	return []operation{
		{name, write, "protobuf", "encode", len(sample), inGo(func() error {
			_, err := proto.MarshalOptions{}.MarshalAppend(buf[:0], m)
			return err
		})},
		{name, read, "protobuf", "decode", len(sample), inGo(func() error { return proto.Unmarshal(sample, decoded) })},
	}, nil
}

// looped gives a stream of values of which the first is preceded by its type.
type looped struct {
	again []byte
	left  []byte
}

func (l *looped) Read(b []byte) (int, error) {
	if len(l.left) == 0 {
		l.left = l.again
	}
	n := copy(b, l.left)
	l.left = l.left[n:]
	return n, nil
}

// inGob measures encoding/gob in the middle of a stream: the types have been sent.
func inGob[T any](name string, v *T) ([]operation, error) {
	var out bytes.Buffer
	out.Grow(2 * roomy)
	e := gob.NewEncoder(&out)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	in := &looped{left: bytes.Clone(out.Bytes())}
	out.Reset()
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	in.again = bytes.Clone(out.Bytes())
	d := gob.NewDecoder(in)
	var decoded T
	return []operation{
		{name, write, "gob", "encode", len(in.again), inGo(func() error {
			out.Reset()
			return e.Encode(v)
		})},
		{name, read, "gob", "decode", len(in.again), inGo(func() error { return d.Decode(&decoded) })},
	}, nil
}

// inBinary measures encoding/binary, which knows structs and slices of fixed size only: parts are what a value has of those.
func inBinary(name string, parts, decoded []any) ([]operation, error) {
	buf := make([]byte, 0, roomy)
	encode := func() (err error) {
		b := buf[:0]
		for _, p := range parts {
			if b, err = binary.Append(b, binary.LittleEndian, p); err != nil {
				return err
			}
		}
		buf = b
		return nil
	}
	if err := encode(); err != nil {
		return nil, err
	}
	sample := bytes.Clone(buf)
	return []operation{
		{name, write, "encoding/binary", "encode", len(sample), inGo(encode)},
		{name, read, "encoding/binary", "decode", len(sample), inGo(func() error {
			at := 0
			for _, p := range decoded {
				n, err := binary.Decode(sample[at:], binary.LittleEndian, p)
				if err != nil {
					return err
				}
				at += n
			}
			return nil
		})},
	}, nil
}

// others lists what is measured of other codecs in Go.
func others(name string) ([]operation, error) {
	var list []operation
	var errs []error
	add := func(ops []operation, err error) {
		list = append(list, ops...)
		errs = append(errs, err)
	}
	switch name {
	case "Flat":
		add(inProtobuf(name, flatPB()))
		add(inGob(name, flat()))
		add(inBinary(name, []any{flat()}, []any{&wire.Flat{}}))
	case "Text":
		add(inProtobuf(name, textPB()))
		add(inGob(name, texts()))
	case "Blob":
		v := blob()
		add(inProtobuf(name, blobPB()))
		add(inGob(name, v))
		add(inBinary(name, []any{&v.Time, uint32(len(v.Data)), v.Data}, []any{new(uint64), new(uint32), make([]byte, blobSize)}))
	case "Route":
		v := route()
		add(inProtobuf(name, routePB()))
		add(inGob(name, v))
		add(inBinary(name, []any{&v.Time, uint32(len(v.Fixes)), v.Fixes}, []any{new(uint64), new(uint32), make([]wire.Fix, fixes)}))
	case "Status":
		add(inProtobuf(name, statusPB()))
		add(inGob(name, status()))
	}
	return list, errors.Join(errs...)
}
