package derecho

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/omg-dds-go/dds/internal/mutant"
	"github.com/omg-dds-go/dds/sst"
)

// WaitAcked waits until every receiving member has handed over all that this node had committed on
// sg before the call. A slot that is reserved by then counts too: it has to be committed or given up.
func (n *Node) WaitAcked(ctx context.Context, sg SubgroupID) error {
	var targets []sentIn
	if err := n.await(ctx, func(m *machine, done func(error)) {
		targets = m.targets(sg, false)
		done(nil)
	}); err != nil {
		return err
	}
	return n.waitAll(ctx, targets)
}

// WaitHanded waits until this node has been handed all that it had published on sg before the call: what is committed, but for
// what lies behind a slot that is reserved still. Of an epoch in which it receives nothing it waits for nothing.
func (n *Node) WaitHanded(ctx context.Context, sg SubgroupID) error {
	var targets []sentIn
	if err := n.await(ctx, func(m *machine, done func(error)) {
		for _, t := range m.targets(sg, false) {
			if slices.Contains(*t.e.receivers.Load(), t.e.me) {
				t.here, t.sent = true, t.e.table.Row(t.e.me).Load(sst.Tail)
				targets = append(targets, t)
			}
		}
		done(nil)
	}); err != nil {
		return err
	}
	return n.waitAll(ctx, targets)
}

// WaitDurable waits until all that this node had committed on a channel of a Logged subgroup before the call is on disk
// at every receiving member; what it had committed on others of the subgroup is waited for, too. A *LogError, which is
// ErrLog, says which member can not write its log; it may come before Handler.LogFailed. While the channel waits for
// logs, which may have to be started, nothing of it is known to be stored, or ever will be: then the error is
// ErrRecovering, at once. Of what was sent meanwhile Handler.LeftOut tells when the logs are back, before a wait for
// the channel ends without an error; but not of a writer that has been withdrawn since.
func (n *Node) WaitDurable(ctx context.Context, sg SubgroupID, ch ChannelID) error {
	w := durableWait{k: keptChannel{sg, ch}}
	if err := w.adrift(n.life.Load().waitsFor(sg, ch)); err != nil {
		return err
	}
	if err := n.await(ctx, func(m *machine, done func(error)) {
		w.begin(m)
		done(nil)
	}); err != nil {
		return err
	}
	if err := n.waitAll(ctx, w.targets); err != nil {
		return n.named(ctx, err)
	}
	if err := n.await(ctx, func(m *machine, done func(error)) {
		w.stored(m)
		m.whenReady(func() bool { return w.covered(m) }, func() { done(nil) })
	}); err != nil {
		return err
	}
	return w.adrift(n.life.Load().waitsFor(sg, ch))
}

// durableWait is a WaitDurable in steps, in this order: adrift, begin, over of one target after the other, stored,
// covered until it is, adrift. A Node takes them on goroutines of the application and of the machine and waits between
// them; a Driven is asked how far it is (Confirmation).
type durableWait struct {
	k       keptChannel
	targets []sentIn
	states  []replica
}

// adrift: the channel waits for logs; why tells for which. What is sent on it meanwhile is not in the history with which
// it goes on, unless those logs hold nothing. That is asked again in the end, as epochs in which the node waited may have
// been given up.
func (w *durableWait) adrift(why string) error {
	if why != "" {
		return fmt.Errorf("%w: %s", ErrRecovering, why)
	}
	return nil
}

func (w *durableWait) begin(m *machine) { w.targets = m.targets(w.k.subgroup, true) }

// stored: all targets are on disk. An epoch may have been given up without a word of a member whose log has it: what
// that stored of the epoch does not count before the state has come that covers it (subgroup.uncount). Who begins to
// wait for a state later gets one that covers it, and is not waited for.
func (w *durableWait) stored(m *machine) { w.states = m.cat.arriving(w.k) }

func (w *durableWait) covered(m *machine) bool { return m.cat.arrived(w.k, w.states) }

// sentIn is what a node had sent in an epoch when it began to wait.
type sentIn struct {
	e       *epoch
	sent    uint64
	durable bool // it is to be on disk, not only handed over
	here    bool // at this node only
	// seq is the sequence number behind the last message that is to be on disk: known when all that was sent is handed
	// over, and not moved by what is sent later.
	seq   uint64
	known bool
}

// targets are the epochs of a subgroup in which this node has sent.
func (m *machine) targets(sg SubgroupID, durable bool) (targets []sentIn) {
	if g := m.groups[sg]; g != nil {
		for _, e := range g.epochs {
			if e.sender != nil {
				targets = append(targets, sentIn{e: e, sent: e.sender.Sent(), durable: durable})
			}
		}
	}
	return targets
}

// over reports whether nothing more is to be waited for, and how that ended.
func (t *sentIn) over() (over bool, err error) {
	released := t.e.released.Load() // before the counters are looked at: they do not change after it
	over, err = t.reached()
	if !over && err == nil && released {
		err = fmt.Errorf("%w: members failed before it was stored", ErrLog)
	}
	return over || err != nil, err
}

func (t *sentIn) reached() (bool, error) {
	e := t.e
	switch {
	case t.here:
		return e.table.Row(e.me).Load(e.table.Handed(e.myRank)) >= t.sent, nil
	case !t.durable:
		return e.handed() >= t.sent, nil
	}
	for _, i := range *e.receivers.Load() {
		if e.table.Row(i).Load(e.table.LogFailed()) != 0 {
			return false, &LogError{Member: MemberInfo{ID: e.node(i)}}
		}
	}
	if !t.known {
		if e.handed() < t.sent {
			return false, nil
		}
		if last := e.table.Row(e.me).Load(sst.Real); last > 0 {
			t.seq = (last-1)*uint64(len(e.senders)) + uint64(e.myRank) + 1
		}
		t.known = true
	}
	if mutant.Is("confirm-any") {
		return slices.ContainsFunc(*e.receivers.Load(), func(i int) bool { return e.table.Row(i).Load(e.table.Persisted()) >= t.seq }), nil
	}
	return e.table.Min(e.table.Persisted(), *e.receivers.Load()) >= t.seq, nil
}

// missing are the members that have not done what is waited for.
func (t *sentIn) missing() []int {
	switch {
	case t.here:
		return []int{t.e.me}
	case t.known:
		return t.e.behind(t.e.table.Persisted(), t.seq)
	}
	return t.e.behind(t.e.table.Handed(t.e.myRank), t.sent)
}

// waitAll waits for one target after the other. If it waits in vain it says what for.
func (n *Node) waitAll(ctx context.Context, targets []sentIn) error {
	for i := range targets {
		t := &targets[i]
		var failure error
		if err := n.waitFor(ctx, t.e, time.Time{}, nil, func() (over bool) {
			over, failure = t.over()
			return over
		}); err != nil {
			if errors.Is(err, ErrTimeout) {
				err = n.waitedFor(err, t)
			}
			return err
		}
		if failure != nil {
			return failure
		}
	}
	return nil
}

// named gives the member whose log has failed its name, if the machine can be asked for it.
func (n *Node) named(ctx context.Context, err error) error {
	if failed := (*LogError)(nil); errors.As(err, &failed) {
		named := failed.Member
		if n.await(ctx, func(m *machine, done func(error)) {
			named = m.member(failed.Member.ID)
			done(nil)
		}) == nil {
			failed.Member = named
		}
	}
	return err
}

// behind are the receiving members of which a cell is below a value.
func (e *epoch) behind(col int, v uint64) (members []int) {
	for _, i := range *e.receivers.Load() {
		if e.table.Row(i).Load(col) < v {
			members = append(members, i)
		}
	}
	return members
}

// waitedFor adds to the error of a wait whose time is over what it waited for: the members, their logs, and why these
// do not get on, as far as the machine knows. The machine answers at once unless it does not run.
func (n *Node) waitedFor(err error, t *sentIn) error {
	ctx, cancel := context.WithTimeout(context.Background(), partingTime)
	defer cancel()
	what, missing := "not handed over", t.missing()
	if t.durable {
		what = "not on disk"
	}
	var text string
	var logs bool
	if n.await(ctx, func(m *machine, done func(error)) {
		text, logs = m.holdups(t.e, missing)
		done(nil)
	}) != nil || text == "" {
		return err
	}
	if logs {
		return fmt.Errorf("%w; %w; %s at %s", err, ErrRecovering, what, text)
	}
	return fmt.Errorf("%w; %s at %s", err, what, text)
}

// holdups names members that an epoch waits for, and which logs they wait for themselves, if there are such.
func (m *machine) holdups(e *epoch, missing []int) (text string, logs bool) {
	var members []string
	for _, i := range missing {
		members = append(members, m.holdup(e.node(i), e.g.id))
	}
	text = strings.Join(members, ", ")
	waiting := m.cat.missingLogs()
	for _, k := range slices.SortedFunc(maps.Keys(waiting), keptChannel.compare) {
		if k.subgroup == e.g.id {
			text, logs = text+"; "+waiting[k], true
		}
	}
	return text, logs
}

// holdup names a member, its log of a subgroup, and the state that it waits for before it writes anything there.
func (m *machine) holdup(node NodeID, sg SubgroupID) string {
	text := m.member(node).String()
	channels := m.cat.storedOf(sg)
	for _, ch := range channels {
		if log := m.cat.logOf(replica{sg, ch, node}); log != 0 {
			text += fmt.Sprintf(", log %016x", log)
			break // it has one of the subgroup
		}
	}
	for _, ch := range channels {
		if a, waits := m.cat.loading[replica{sg, ch, node}]; waits && a.from != 0 {
			text += fmt.Sprintf(", which waits for the state of channel %016x from %s", uint64(ch), m.member(a.from))
		}
	}
	return text
}
