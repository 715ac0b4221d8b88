package dcps

import (
	"context"
	"slices"
	"sync"
)

// Condition is something that a WaitSet, or a select statement, can wait for (DDS 1.4 §2.2.2.1.7).
type Condition interface {
	// TriggerValue tells whether the condition holds now.
	TriggerValue() bool
	// Ready gives a channel that is closed once the condition holds. Ask for it anew before each wait: it tells that
	// the condition became true, not that it still is.
	Ready() <-chan struct{}

	attach(*WaitSet)
	detach(*WaitSet)
}

var closedChan = func() chan struct{} {
	ch := make(chan struct{})
	close(ch)
	return ch
}()

// trigger is the state of a condition under the lock of its entity. Nothing is computed unless somebody waits.
type trigger struct {
	eval  func() bool
	value bool
	ready chan struct{} // made when asked for; closed, and forgotten, when value becomes true
	sets  []*WaitSet
}

// update follows the state of the entity.
func (t *trigger) update() {
	if t.ready == nil && len(t.sets) == 0 {
		return
	}
	v := t.eval()
	if v == t.value {
		return
	}
	t.value = v
	if !v {
		return
	}
	if t.ready != nil {
		close(t.ready)
		t.ready = nil
	}
	for _, ws := range t.sets {
		ws.notify()
	}
}

func (t *trigger) readyLocked() <-chan struct{} {
	if t.value = t.eval(); t.value {
		return closedChan
	}
	if t.ready == nil {
		t.ready = make(chan struct{})
	}
	return t.ready
}

// entityCondition is a condition over the state of an entity.
type entityCondition struct {
	e *entity
	t trigger
}

// TriggerValue tells whether the condition holds now (DDS: get_trigger_value).
func (c *entityCondition) TriggerValue() bool {
	c.e.lock()
	defer c.e.unlock()
	return c.t.eval()
}

// Ready gives a channel that is closed once the condition holds; see Condition.
func (c *entityCondition) Ready() <-chan struct{} {
	c.e.lock()
	defer c.e.unlock()
	c.watch()
	return c.t.readyLocked()
}

func (c *entityCondition) watch() {
	if !slices.Contains(c.e.watched, &c.t) {
		c.e.watched = append(c.e.watched, &c.t)
	}
}

func (c *entityCondition) attach(ws *WaitSet) {
	c.e.lock()
	defer c.e.unlock()
	c.watch()
	if !slices.Contains(c.t.sets, ws) {
		c.t.sets = append(c.t.sets, ws)
	}
	if c.t.value = c.t.eval(); c.t.value {
		ws.notify()
	}
}

func (c *entityCondition) detach(ws *WaitSet) {
	c.e.lock()
	defer c.e.unlock()
	c.t.sets = slices.DeleteFunc(c.t.sets, func(s *WaitSet) bool { return s == ws })
}

// StatusCondition holds while one of the enabled statuses of its entity has changed (§2.2.2.1.9).
type StatusCondition struct {
	entityCondition
	enabled StatusMask
}

func newStatusCondition(e *entity) *StatusCondition {
	c := &StatusCondition{enabled: AnyStatus}
	c.e = e
	c.t.eval = func() bool { return e.changed&c.enabled != 0 || e.failure != nil }
	return c
}

// SetEnabledStatuses says which statuses count; all do at first (DDS: set_enabled_statuses).
func (c *StatusCondition) SetEnabledStatuses(mask StatusMask) {
	c.e.lock()
	defer c.e.unlock()
	c.enabled = mask
	c.t.value = false // who waits is told again if it holds
}

// EnabledStatuses gives what SetEnabledStatuses set.
func (c *StatusCondition) EnabledStatuses() StatusMask {
	c.e.lock()
	defer c.e.unlock()
	return c.enabled
}

// ReadCondition holds while its reader has samples in given states (§2.2.2.5.8).
type ReadCondition struct {
	entityCondition
	selection selection
}

// Close ends the condition; it never holds again (DDS: delete_readcondition).
func (c *ReadCondition) Close() error {
	c.e.lock()
	defer c.e.unlock()
	c.t.eval = func() bool { return false }
	c.e.unwatch(&c.t)
	return nil
}

// GuardCondition holds when the application says so (§2.2.2.1.8). The zero value does not hold.
type GuardCondition struct {
	mu    sync.Mutex
	t     trigger
	value bool
}

// SetTriggerValue says whether the condition holds (DDS: set_trigger_value).
func (c *GuardCondition) SetTriggerValue(v bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.init()
	c.value = v
	c.t.update()
}

func (c *GuardCondition) init() {
	if c.t.eval == nil {
		c.t.eval = func() bool { return c.value }
	}
}

// TriggerValue tells what SetTriggerValue said.
func (c *GuardCondition) TriggerValue() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.value
}

// Ready gives a channel that is closed once the condition holds; see Condition.
func (c *GuardCondition) Ready() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.init()
	return c.t.readyLocked()
}

func (c *GuardCondition) attach(ws *WaitSet) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.init()
	if !slices.Contains(c.t.sets, ws) {
		c.t.sets = append(c.t.sets, ws)
	}
	if c.t.value = c.value; c.value {
		ws.notify()
	}
}

func (c *GuardCondition) detach(ws *WaitSet) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t.sets = slices.DeleteFunc(c.t.sets, func(s *WaitSet) bool { return s == ws })
}

// WaitSet waits for any of its conditions (§2.2.2.1.6). Make one with NewWaitSet.
type WaitSet struct {
	wake chan struct{} // capacity 1: something may have become true

	mu         sync.Mutex
	waiting    bool
	conditions []Condition
}

// NewWaitSet makes a WaitSet with the conditions attached.
func NewWaitSet(conditions ...Condition) *WaitSet {
	ws := &WaitSet{wake: make(chan struct{}, 1)}
	for _, c := range conditions {
		ws.Attach(c)
	}
	return ws
}

func (ws *WaitSet) notify() {
	select {
	case ws.wake <- struct{}{}:
	default:
	}
}

// Attach adds a condition; attaching it again has no effect (DDS: attach_condition).
func (ws *WaitSet) Attach(c Condition) {
	ws.mu.Lock()
	if !slices.Contains(ws.conditions, c) {
		ws.conditions = append(ws.conditions, c)
	}
	ws.mu.Unlock()
	c.attach(ws)
}

// Detach removes a condition (DDS: detach_condition).
func (ws *WaitSet) Detach(c Condition) error {
	ws.mu.Lock()
	i := slices.Index(ws.conditions, c)
	if i >= 0 {
		ws.conditions = slices.Delete(ws.conditions, i, i+1)
	}
	ws.mu.Unlock()
	if i < 0 {
		return &Error{Op: "Detach", Entity: "WaitSet", Code: ErrPreconditionNotMet, Detail: "the condition is not attached"}
	}
	c.detach(ws)
	return nil
}

// Conditions lists what is attached (DDS: get_conditions).
func (ws *WaitSet) Conditions() []Condition {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return slices.Clone(ws.conditions)
}

// Wait returns the conditions that hold, as soon as there is one. One goroutine waits at a time; a second one is
// refused with ErrPreconditionNotMet.
func (ws *WaitSet) Wait(ctx context.Context) ([]Condition, error) {
	ws.mu.Lock()
	busy := ws.waiting
	ws.waiting = true
	ws.mu.Unlock()
	if busy {
		return nil, &Error{Op: "Wait", Entity: "WaitSet", Code: ErrPreconditionNotMet, Detail: "another goroutine waits on this WaitSet"}
	}
	defer func() {
		ws.mu.Lock()
		ws.waiting = false
		ws.mu.Unlock()
	}()
	for {
		var active []Condition
		for _, c := range ws.Conditions() {
			if c.TriggerValue() {
				active = append(active, c)
			}
		}
		if len(active) > 0 {
			return active, nil
		}
		select {
		case <-ws.wake:
		case <-ctx.Done():
			return nil, failure("Wait", "WaitSet", "", ctx.Err())
		}
	}
}
