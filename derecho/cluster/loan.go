package cluster

import "github.com/omg-dds-go/dds/derecho"

// loan is a message that the application reads where it lies.
type loan struct {
	*derecho.Loan
	payload []byte
	text    string // what it was when it was delivered
}

// borrow keeps some messages, in some runs.
func (p *process) borrow(m *derecho.Message, text string) {
	if !p.run.plan.Loans || p.run.lends.IntN(4) > 0 {
		return
	}
	for range 1 + p.run.lends.IntN(2) { // as many readers
		if l := m.Lend(); l != nil {
			p.loans = append(p.loans, loan{l, m.Payload, text})
		}
	}
}

// returnSome gives back some messages, in any order, and all of them once nothing new happens. What was lent is
// unchanged until then, whatever became of its sender, and of the node that it was lent to. The step that follows
// passes it on.
func (p *process) returnSome() {
	kept := p.loans[:0]
	for _, l := range p.loans {
		if !p.run.calm && p.run.lends.IntN(3) > 0 {
			kept = append(kept, l)
			continue
		}
		if got := string(l.payload); got != l.text {
			p.run.failf("A11: node %s was lent %.40q, which became %.40q", p.id, l.text, got)
		}
		l.Release()
	}
	clear(p.loans[len(kept):])
	p.loans = kept
}

// Reclaim implements derecho.Handler. Nobody waits for room in a driven node; and what is lent of an epoch that is over
// may be kept.
func (p *process) Reclaim(derecho.SubgroupID) {}
