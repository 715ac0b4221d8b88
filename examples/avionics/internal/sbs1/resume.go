package sbs1

import "bytes"

// splicer puts the stream of lines together again after a cut; see the rules in doc.go. It is a plain value: what a
// connection brings goes in, the lines of an uncut stream come out.
type splicer struct {
	tail [][]byte // the last complete lines before the cut, at most maxTail
	half []byte   // what came of the line that was cut

	resuming bool
	first    bool     // no line came since the cut
	held     [][]byte // first lines after the cut that may be repetitions
	starts   []int    // where in tail the run of held lines may begin
	repeated int      // how many of the held lines are repetitions for sure

	resent int      // lines that were dropped as repetitions
	broken [][]byte // halves that were never completed, until they are asked for
}

const maxTail = 256

// cut ends a connection; half is what came after the last complete line.
func (s *splicer) cut(half []byte) (lines [][]byte) {
	untouched := s.resuming && s.first // no complete line came on this connection
	lines = s.settle()
	if len(half) > 0 {
		s.half = s.joinHalves(half, untouched)
	}
	s.resuming, s.first = true, true
	return lines
}

// joinHalves tells what two halves in a row make: the second may be the line sent again, and cut again, or the next
// bytes of it, or another line.
func (s *splicer) joinHalves(half []byte, untouched bool) []byte {
	switch {
	case bytes.HasPrefix(half, s.half), bytes.HasPrefix(s.half, half):
		return bytes.Clone(half) // what the server sent last is where it goes on
	case untouched && !beginsLine(half):
		return append(s.half, half...)
	}
	s.broken = append(s.broken, s.half)
	return bytes.Clone(half)
}

// line takes the next complete line, with its end, and gives the lines that are ready: none while it may be a
// repetition, several once that is known.
func (s *splicer) line(line []byte) (lines [][]byte) {
	if !s.resuming {
		return s.ready(line)
	}
	if s.first && s.half != nil && !beginsLine(line) {
		whole := append(s.half, line...)
		s.half, s.resuming = nil, false
		return s.keep(whole)
	}
	s.held = append(s.held, bytes.Clone(line))
	n := len(s.held)
	if s.first {
		s.first = false
		for i := range s.tail {
			s.starts = append(s.starts, i)
		}
	}
	live := s.starts[:0]
	for _, start := range s.starts {
		if !bytes.Equal(s.tail[start+n-1], line) {
			continue
		}
		if start+n == len(s.tail) {
			s.repeated = n // n grows, so the longest run stays
		} else {
			live = append(live, start)
		}
	}
	s.starts = live
	if len(live) > 0 {
		return nil
	}
	return s.settle()
}

// settle decides about the held lines with what is known, and ends resuming.
func (s *splicer) settle() (lines [][]byte) {
	s.resent += s.repeated
	fresh := s.held[min(s.repeated, len(s.held)):]
	s.held, s.repeated, s.starts = nil, 0, s.starts[:0]
	if s.resuming && s.first {
		return nil // nothing came on this connection: the next one may still complete the half
	}
	s.resuming = false
	for _, line := range fresh {
		lines = append(lines, s.ready(line)...)
	}
	return lines
}

// ready passes a line on that is no repetition. The first one tells what became of the half.
func (s *splicer) ready(line []byte) [][]byte {
	if s.half != nil {
		if !bytes.HasPrefix(line, s.half) {
			s.broken = append(s.broken, s.half)
		}
		s.half = nil
	}
	return s.keep(line)
}

func (s *splicer) keep(line []byte) [][]byte {
	line = bytes.Clone(line)
	if len(s.tail) == maxTail {
		copy(s.tail, s.tail[1:])
		s.tail = s.tail[:maxTail-1]
	}
	s.tail = append(s.tail, line)
	return [][]byte{line}
}

// end gives what is left when no further connection comes: a half stays one.
func (s *splicer) end() [][]byte {
	lines := s.settle()
	if s.half != nil {
		s.broken = append(s.broken, s.half)
		s.half = nil
	}
	return lines
}

// takeBroken gives the halves that were never completed, once.
func (s *splicer) takeBroken() [][]byte {
	b := s.broken
	s.broken = nil
	return b
}
