package storage

import (
	"fmt"
	"io"
	"iter"
	"path/filepath"
)

// Read returns the records of the log in dir from a version on, in order. It takes no lock and
// changes nothing, so it may run beside the writer: then it ends with a record that the writer has
// written, synced or not. A torn tail ends it silently (Verify tells); corruption is an error after
// the records before it. The Record and its Payload are valid until the next one.
func Read(dir string, o Options, from Version) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		o, err := o.fill()
		if err != nil {
			yield(nil, err)
			return
		}
		found, err := walk(o, dir, from, func(_ string, s *scanner) bool {
			for r := range records(s.frame.body) {
				if r.Version.Compare(from) >= 0 && !yield(r, nil) {
					return false
				}
			}
			return true
		})
		if err != nil && !found.stopped {
			yield(nil, err)
		}
	}
}

// Recovery is what a log holds.
type Recovery struct {
	Segments     int
	Batches      int // how many times records were synced
	Records      uint64
	PayloadBytes uint64
	First, Last  Version // zero without records
	// Closed: the last segment ends with the mark of Close, so that all of it is vouched for.
	Closed bool
	// Torn is what a crash left of the last batch, nil if nothing. Open drops it, Verify does not.
	Torn *Torn
}

// Torn is the rest of a batch whose Sync did not return.
type Torn struct {
	Path   string
	Offset int64
	Reason string
}

func (t *Torn) String() string {
	return fmt.Sprintf("%s: torn tail at offset %d: %s", t.Path, t.Offset, t.Reason)
}

// Verify reads the whole log and says what Open would find. Like Read it only reads.
func Verify(dir string, o Options) (Recovery, error) {
	o, err := o.fill()
	if err != nil {
		return Recovery{}, err
	}
	r, _, err := inspect(o, dir)
	return r, err
}

func inspect(o Options, dir string) (Recovery, survey, error) {
	var r Recovery
	found, err := walk(o, dir, Version{}, func(_ string, s *scanner) bool {
		if s.frame.typ == frameBatch {
			r.Batches++
		}
		for rec := range records(s.frame.body) {
			if r.Records == 0 {
				r.First = rec.Version
			}
			r.Last = rec.Version
			r.Records++
			if o.Found != nil {
				o.Found(rec)
			}
			r.PayloadBytes += uint64(len(rec.Payload))
		}
		return true
	})
	r.Segments = found.segments
	if err == nil && found.segments > 0 {
		r.Closed = found.marked && found.end.kind == endClean
		if found.end.kind == endTorn {
			r.Torn = &Torn{found.path, found.end.offset, found.end.reason}
		}
	}
	return r, found, err
}

// Describe writes the log as text, a line for each segment, frame and end. It goes on to the first
// corruption, which it writes as well as returns.
func Describe(out io.Writer, dir string, o Options) error {
	o, err := o.fill()
	if err != nil {
		return err
	}
	p := &printer{out: out}
	var path string
	var previous *scanner
	found, err := walk(o, dir, Version{}, func(at string, s *scanner) bool {
		if at != path {
			if previous != nil {
				p.end(previous.end)
			}
			path, previous = at, s
			p.segment(at, s.header)
		}
		p.frame(&s.frame)
		return p.err == nil
	})
	switch {
	case p.err != nil:
		return p.err
	case err != nil:
		p.printf("error: %v\n", err)
	case found.segments == 0:
		p.printf("no segments\n")
	default:
		if found.empty {
			if previous != nil {
				p.end(previous.end)
			}
			p.segment(found.path, found.header)
		}
		p.end(found.end)
		if found.aborted != "" {
			p.printf("%s: made but not begun\n", filepath.Base(found.aborted))
		}
	}
	if p.err != nil {
		return p.err
	}
	return err
}

// printer writes lines until the first error.
type printer struct {
	out io.Writer
	err error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.out, format, args...)
	}
}

func (p *printer) segment(path string, h segmentHeader) {
	p.printf("%s: segment %d of log %016x, capacity %d, blocks of %d\n", filepath.Base(path), h.index, h.log, h.capacity, h.block)
}

func (p *printer) frame(f *frame) {
	p.printf("  %8d %v after %v", f.offset, f.typ, f.prev)
	if f.typ == frameBatch {
		p.printf(", %d records in %d bytes", f.count, len(f.body))
	}
	p.printf("\n")
	for r := range records(f.body) {
		p.printf("           %v sender=%016x writer=%d/%d channel=%016x time=%d kind=%d flags=%#02x payload=%d\n",
			r.Version, r.Sender, r.Writer, r.WriterSeq, r.Channel, r.Timestamp, r.Kind, r.Flags, len(r.Payload))
	}
}

func (p *printer) end(e ending) {
	p.printf("  %8d end, %v", e.offset, e.kind)
	if e.reason != "" {
		p.printf(": %s", e.reason)
	}
	p.printf("\n")
}
