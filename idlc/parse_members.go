package idlc

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Members of structs are most of what there is to parse, and each stands for itself. So they are cut out first, with
// everything else, and parsed at the end, on all processors where there are many.

// structBody is the members of a struct that wait to be parsed.
type structBody struct {
	of      *structDef
	members []chunk
}

// minBodies is the number of structs from which parsing them at the same time is worth it.
const minBodies = 64

func (p *parser) parseBodies() {
	if n := runtime.GOMAXPROCS(0); n > 1 && len(p.bodies) >= minBodies && p.parseAtOnce(n) {
		return
	}
	for _, b := range p.bodies {
		p.parseBody(b)
	}
}

// parseAtOnce parses the bodies with n parsers. It fails where there are errors, without a report of them: which ones
// are shown of too many must not depend on who was first.
func (p *parser) parseAtOnce(n int) bool {
	var next atomic.Int64 // body to parse; it orders nothing else, which Wait does
	var wg sync.WaitGroup
	parts := make([]*Report, n)
	for i := range parts {
		parts[i] = p.report.part()
		part := parser{report: parts[i], end: p.end}
		wg.Go(func() {
			for {
				k := int(next.Add(1)) - 1
				if k >= len(p.bodies) {
					return
				}
				part.parseBody(p.bodies[k])
			}
		})
	}
	wg.Wait()
	for _, part := range parts {
		if part.errors > 0 {
			return false
		}
	}
	for _, part := range parts {
		p.report.take(part)
	}
	return true
}

// parseBody gives a struct its members.
func (p *parser) parseBody(b structBody) {
	list := make([]*memberDef, 0, len(b.members))
	for _, m := range b.members {
		parsed := runGrammar(p, memberParser, m)
		if parsed == nil {
			b.of.Broken = true
			continue
		}
		parsed.Annotations = append(parsed.Annotations, p.fromMarks(m.marks)...)
		list = append(list, &memberDef{*parsed, m.docs()})
		p.terminated(m)
	}
	if len(list) > 0 {
		b.of.Members = list
	}
}
