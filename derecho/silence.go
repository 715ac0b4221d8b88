package derecho

import "github.com/omg-dds-go/dds/sst"

// RunAhead is how many rounds beyond those that the others wait for a silent sender gives away at once. They wait for it
// no more until they are that far; when it has something to say its turn comes behind them, and they promise up to there
// as they do for any message that is ahead of them (docs/adr/0017).
const RunAhead = 1 << 16

// ahead is how many rounds more than are owed this node promises away. Only a promise that is owed runs ahead, so that
// traffic ends.
func (e *epoch) ahead() uint64 {
	m := e.g.m
	if real := e.table.Row(e.me).Load(sst.Real); real != e.spoke || e.promises == 0 {
		e.spoke, e.spokeAt, e.promises = real, m.now, 0
	}
	e.promises++
	if e.promises < m.cfg.SilentAfter || m.now-e.spokeAt < m.cfg.SilentFor || e.g.id == 0 || e.off.NoSilence {
		return 0
	}
	return RunAhead
}
