package dcps

import (
	"sync"

	"github.com/omg-dds-go/dds/qos"
)

// QosUpdate is what a change of its profile came to at an entity; see FollowQos.
type QosUpdate struct {
	// Applied are the policies that the entity has taken over.
	Applied []qos.Change
	// Waiting are those that may not change once an entity is enabled: they take effect when it is created anew.
	Waiting []qos.Change
	// Err is why nothing was taken over: the profile is gone, or the entity refuses the QoS. Applied is then empty.
	Err error
}

// profileQos is the QoS of one of the entities.
type profileQos[Q any] interface {
	Follow(from, next Q) (Q, []qos.Change)
}

// configurable is an entity whose QoS can change: every one is.
type configurable[Q any] interface {
	Qos() Q
	SetQos(Q) error
}

// FollowQos keeps an entity at its QoS profile when the Provider reads its files again (qos.Provider.Reload and Watch): policies
// that may change do so by SetQos, and report hears of them, and of those that can not. Profile reads the entity's profile:
//
//	stop := dcps.FollowQos(provider, writer, func() (qos.DataWriter, error) {
//		return provider.DataWriter("Lib::Profile", "Square")
//	}, report)
//
// Only a change of the profile has an effect: what the program itself has set stays, where the profile stays the same. Report
// may be nil. SetQos and report run on the goroutine that reads the files. Call stop before the entity is closed.
func FollowQos[Q profileQos[Q]](p *qos.Provider, entity configurable[Q], profile func() (Q, error), report func(QosUpdate)) (stop func(), err error) {
	const op = "FollowQos"
	switch {
	case p == nil:
		return func() {}, isNil(op, "", "the Provider")
	case entity == nil:
		return func() {}, isNil(op, "", "the entity")
	case profile == nil:
		return func() {}, isNil(op, "", "the function that gives the profile")
	}
	last, err := profile()
	if err != nil {
		return func() {}, err
	}
	f := &follower[Q]{entity: entity, profile: profile, last: last}
	return p.OnReload(func(r qos.Reload) {
		if r.Err != nil {
			return // the profiles are as they were; whoever reloads hears of it
		}
		if u, ok := f.follow(); ok && report != nil {
			report(u)
		}
	}), nil
}

// follower is one entity that follows its profile.
type follower[Q profileQos[Q]] struct {
	entity  configurable[Q]
	profile func() (Q, error)

	mu   sync.Mutex // two may reload at once
	last Q          // what the profile said
}

// follow is false if the profile has not changed.
func (f *follower[Q]) follow() (QosUpdate, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	next, err := f.profile()
	if err != nil {
		return QosUpdate{Err: err}, true
	}
	last := f.last
	f.last = next
	q, list := f.entity.Qos().Follow(last, next)
	var u QosUpdate
	for _, c := range list {
		if c.Changeable() {
			u.Applied = append(u.Applied, c)
		} else {
			u.Waiting = append(u.Waiting, c)
		}
	}
	if len(u.Applied) > 0 {
		if err := f.entity.SetQos(q); err != nil {
			return QosUpdate{Waiting: u.Waiting, Err: err}, true
		}
	}
	return u, len(list) > 0
}
