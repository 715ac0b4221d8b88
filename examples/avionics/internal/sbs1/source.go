package sbs1

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/omg-dds-go/dds/examples/avionics/internal/recording"
)

// Malformed names a line that could not be read.
type Malformed struct {
	Line   int
	Reason string
}

func (m Malformed) String() string { return fmt.Sprintf("line %d: %s", m.Line, m.Reason) }

// Stats is what a source has read so far. Lines is the sum of Messages, Other, and malformed lines.
type Stats struct {
	Lines     int
	Messages  int
	Other     int // lines of kinds that carry no message, and empty ones
	Malformed int
	Named     []Malformed // the first of the malformed lines; see maxNamed
	// The following concern live sources.
	Connections int
	Resent      int // complete lines that the server repeated after a cut; not in Lines
}

const (
	maxNamed = 100 // a broken feed must not fill the memory
	maxLine  = 1024
)

// Source gives the messages of a recording or of a live feed.
type Source interface {
	// Next gives the next message. The error is io.EOF at the end, or that of the context.
	Next(ctx context.Context) (*Message, error)
	Stats() Stats
	Close() error
}

// decoder turns lines into messages and keeps count.
type decoder struct {
	stats   Stats
	message Message
}

// decode reads a complete line; nil if it carries no message.
func (d *decoder) decode(line []byte) *Message {
	d.stats.Lines++
	line = bytes.TrimRight(line, "\r\n")
	if len(bytes.TrimSpace(line)) == 0 {
		d.stats.Other++
		return nil
	}
	if len(line) > maxLine {
		d.malformed(fmt.Sprintf("longer than %d bytes", maxLine))
		return nil
	}
	m, err := parse(line)
	switch {
	case errors.Is(err, errOther):
		d.stats.Other++
		return nil
	case err != nil:
		d.malformed(err.Error())
		return nil
	}
	d.stats.Messages++
	d.message = m
	return &d.message
}

func (d *decoder) malformed(reason string) {
	d.stats.Malformed++
	if len(d.stats.Named) < maxNamed {
		d.stats.Named = append(d.stats.Named, Malformed{d.stats.Lines, reason})
	}
}

// Stats gives the counts so far.
func (d *decoder) Stats() Stats {
	s := d.stats
	s.Named = append([]Malformed(nil), s.Named...)
	return s
}

// readLine gives the next line with its end, cut to a little more than maxLine; the last line of a stream may lack
// its end, which the error io.EOF tells. The bytes are valid until the next call. A line that does not end is left when
// ctx does.
func readLine(ctx context.Context, in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	head := append([]byte(nil), line[:maxLine+1]...)
	for errors.Is(err, bufio.ErrBufferFull) {
		if ctx.Err() != nil {
			return head, ctx.Err()
		}
		_, err = in.ReadSlice('\n')
	}
	if err == nil {
		head = append(head, '\n')
	}
	return head, err
}

func newLineReader(r io.Reader) *bufio.Reader { return bufio.NewReaderSize(r, 4*maxLine) }

// fileSource reads a recording.
type fileSource struct {
	decoder
	name string
	file io.ReadCloser
	in   *bufio.Reader
	done bool
}

// Open opens a recording, which must be a regular file.
func Open(path string) (Source, error) {
	file, err := recording.Open(path)
	if err != nil {
		return nil, fmt.Errorf("sbs1: opening recording: %w", err)
	}
	return newFileSource(path, file), nil
}

func newFileSource(name string, file io.ReadCloser) *fileSource {
	return &fileSource{name: name, file: file, in: newLineReader(file)}
}

func (s *fileSource) Next(ctx context.Context) (*Message, error) {
	for !s.done {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		line, err := readLine(ctx, s.in)
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("sbs1: reading %s: %w", s.name, err)
		}
		s.done = err == io.EOF
		if len(line) == 0 {
			continue
		}
		if m := s.decode(line); m != nil {
			return m, nil
		}
	}
	return nil, io.EOF
}

func (s *fileSource) Close() error { return s.file.Close() }
