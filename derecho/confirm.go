package derecho

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/omg-dds-go/dds/sst"
)

// WaitAcked waits until every receiving member has handed over all that this node had committed on
// sg before the call. A slot that is reserved by then counts too: it has to be committed or given up.
func (n *Node) WaitAcked(ctx context.Context, sg SubgroupID) error {
	return n.waitAll(ctx, sg, "not handed over", func(e *epoch, sent uint64) (bool, error) { return e.handed() >= sent, nil }, notHanded)
}

// WaitDurable waits until all that this node had committed on a channel of a Logged subgroup before the call is on disk
// at every receiving member; what it had committed on others of the subgroup is waited for, too. A *LogError, which is
// ErrLog, says which member can not write its log; it may come before Handler.LogFailed. While the channel waits for
// logs, which may have to be started, nothing of it is known to be stored, or ever will be: then the error is
// ErrRecovering, at once. Of what was sent meanwhile Handler.LeftOut tells when the logs are back, before a wait for
// the channel ends without an error.
func (n *Node) WaitDurable(ctx context.Context, sg SubgroupID, ch ChannelID) error {
	if err := n.adrift(sg, ch); err != nil {
		return err
	}
	if err := n.waitDurable(ctx, sg); err != nil {
		return err
	}
	// An epoch may have been given up without a word of a member whose log has it: what that stored of the epoch does
	// not count before the state has come that covers it (subgroup.uncount). Who begins to wait for a state later gets
	// one that covers it, and is not waited for.
	k := keptChannel{sg, ch}
	if err := n.await(ctx, func(m *machine, done func(error)) {
		waiting := m.cat.arriving(k)
		m.whenReady(func() bool { return m.cat.arrived(k, waiting) }, func() { done(nil) })
	}); err != nil {
		return err
	}
	return n.adrift(sg, ch) // epochs in which it waited may have been given up
}

// adrift: a channel waits for logs. What is sent on it meanwhile is not in the history with which it goes on, unless
// those logs hold nothing.
func (n *Node) adrift(sg SubgroupID, ch ChannelID) error {
	if why := n.life.Load().waitsFor(sg, ch); why != "" {
		return fmt.Errorf("%w: %s", ErrRecovering, why)
	}
	return nil
}

func (n *Node) waitDurable(ctx context.Context, sg SubgroupID) error {
	// For each epoch, the sequence number behind the last message that counts: known when all that
	// was sent is handed over, and not moved by what is sent later.
	behind := map[*epoch]uint64{}
	err := n.waitAll(ctx, sg, "not on disk", func(e *epoch, sent uint64) (bool, error) {
		for _, i := range *e.receivers.Load() {
			if e.table.Row(i).Load(e.table.LogFailed()) != 0 {
				return false, &LogError{Member: MemberInfo{ID: e.desc.Members[i].Node}}
			}
		}
		seq, known := behind[e]
		if !known {
			if e.handed() < sent {
				return false, nil
			}
			if last := e.table.Row(e.me).Load(sst.Real); last > 0 {
				seq = (last-1)*uint64(len(e.senders)) + uint64(e.myRank) + 1
			}
			behind[e] = seq
		}
		return e.table.Min(e.table.Persisted(), *e.receivers.Load()) >= seq, nil
	}, func(e *epoch, sent uint64) []int {
		seq, known := behind[e]
		if !known {
			return notHanded(e, sent)
		}
		return e.behind(e.table.Persisted(), seq)
	})
	if failed := (*LogError)(nil); errors.As(err, &failed) {
		named := failed.Member
		if n.await(ctx, func(m *machine, done func(error)) {
			named = m.member(failed.Member.ID)
			done(nil)
		}) == nil { // else it is told without a name
			failed.Member = named
		}
	}
	return err
}

// waitAll waits on all epochs of a subgroup in which this node has sent. If it waits in vain it says what for: what is
// missing, and at which members, those that missing tells.
func (n *Node) waitAll(ctx context.Context, sg SubgroupID, what string, reached func(e *epoch, sent uint64) (bool, error),
	missing func(e *epoch, sent uint64) []int) error {
	type target struct {
		e    *epoch
		sent uint64
	}
	var targets []target
	if err := n.await(ctx, func(m *machine, done func(error)) {
		if g := m.groups[sg]; g != nil {
			for _, e := range g.epochs {
				if e.sender != nil {
					targets = append(targets, target{e, e.sender.Sent()})
				}
			}
		}
		done(nil)
	}); err != nil {
		return err
	}
	for _, t := range targets {
		var ok bool
		var failure error
		if err := n.waitFor(ctx, t.e, time.Time{}, nil, func() bool {
			over := t.e.released.Load() // before the counters are looked at: they do not change after it
			ok, failure = reached(t.e, t.sent)
			return ok || failure != nil || over
		}); err != nil {
			if errors.Is(err, ErrTimeout) {
				err = n.waitedFor(err, t.e, what, missing(t.e, t.sent))
			}
			return err
		}
		if failure == nil && !ok {
			failure = fmt.Errorf("%w: members failed before it was stored", ErrLog)
		}
		if failure != nil {
			return failure
		}
	}
	return nil
}

// notHanded are the members that have not handed over all that was sent.
func notHanded(e *epoch, sent uint64) []int { return e.behind(e.table.Handed(e.myRank), sent) }

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
func (n *Node) waitedFor(err error, e *epoch, what string, missing []int) error {
	ctx, cancel := context.WithTimeout(context.Background(), partingTime)
	defer cancel()
	var text string
	var logs bool
	if n.await(ctx, func(m *machine, done func(error)) {
		text, logs = m.holdups(e, missing)
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
		members = append(members, m.holdup(e.desc.Members[i].Node, e.g.id))
	}
	text = strings.Join(members, ", ")
	waiting := m.cat.waiting()
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
