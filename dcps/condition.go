package dcps

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/omg-dds-go/dds/derecho"
)

// Condition is something that a WaitSet, or a select statement, can wait for (DDS 1.4 §2.2.2.1.7).
type Condition interface {
	// TriggerValue tells whether the condition holds now.
	TriggerValue() bool
	// Ready gives a channel that is closed once the condition holds, or has ended. Ask for it anew before each wait: it
	// tells that the condition became true, not that it still is.
	//
	// A condition ends, and never holds again, when its entity is closed, or it itself: Wait of the WaitSets that it is
	// attached to fails with ErrAlreadyDeleted then, and so do Read and Take with it. A GuardCondition does not end.
	Ready() <-chan struct{}

	absence() error // why there is nothing to attach, or nil
	attach(*WaitSet)
	detach(*WaitSet)
	// state tells whether the condition holds, or why it never will again.
	state(op string) (holds bool, ended error)
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
	t.set(t.eval())
}

// set notes whether the condition holds, and wakes who waits if it has begun to. What was noted is changed nowhere else
// but back to false: who waits would not be told.
func (t *trigger) set(v bool) {
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

// end wakes who waits, as what they wait for does not come any more.
func (t *trigger) end() {
	t.value = false
	if t.ready != nil {
		close(t.ready)
		t.ready = nil
	}
	for _, ws := range t.sets {
		ws.notify()
	}
}

func (t *trigger) readyLocked() <-chan struct{} {
	if t.set(t.eval()); t.value {
		return closedChan
	}
	if t.ready == nil {
		t.ready = make(chan struct{})
	}
	return t.ready
}

// entityCondition is a condition over the state of an entity, with which it ends. Nil, or without entity, it never holds.
type entityCondition struct {
	e      *entity
	t      trigger
	closed bool // by itself; guarded by the entity's lock
}

// begin makes it a condition of e, which holds when holds says so.
func (c *entityCondition) begin(e *entity, holds func() bool) {
	c.e = e
	c.t.eval = func() bool { return !c.over() && holds() }
}

// over tells whether the condition has ended. Called with the entity's lock held.
func (c *entityCondition) over() bool { return c.closed || c.e.closed }

func (c *entityCondition) absent() bool { return c == nil || c.e == nil }

// ended is over as an error, for who wants to wait.
func (c *entityCondition) ended(op string) error {
	switch {
	case c.e.closed:
		return c.e.deleted(op)
	case c.closed:
		return &Error{Op: op, Entity: c.e.what, Code: ErrAlreadyDeleted, Detail: "the condition is closed"}
	}
	return nil
}

// attachable is ended for Attach. It may end all the same before it is attached: Wait tells then.
func (c *entityCondition) attachable() error {
	c.e.lock()
	defer c.e.unlock()
	return c.ended("Attach")
}

// state is looked at by WaitSet.Wait. One that is absent is not attached to any.
func (c *entityCondition) state(op string) (bool, error) {
	c.e.lock()
	defer c.e.unlock()
	if err := c.ended(op); err != nil {
		return false, err
	}
	return c.look(), nil
}

func (c *entityCondition) triggerValue() bool {
	if c.absent() {
		return false
	}
	c.e.lock()
	defer c.e.unlock()
	return c.look()
}

// look tells whether the condition holds. Called with the entity's lock held.
func (c *entityCondition) look() bool {
	v := c.t.eval()
	if !v {
		c.t.value = false // it may hold again before the lock is given back: who waits is told then
	}
	return v
}

func (c *entityCondition) readyChan() <-chan struct{} {
	if c.absent() {
		return nil
	}
	c.e.lock()
	defer c.e.unlock()
	if c.over() {
		return closedChan
	}
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
	if c.t.set(c.t.eval()); c.t.value || c.over() {
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
	of      Entity
	enabled StatusMask
	follow  func() // begins to follow STABLE, of a writer; called with the entity's lock held
}

func newStatusCondition(e *entity) *StatusCondition {
	c := &StatusCondition{enabled: AnyStatus &^ StableStatusBit}
	c.begin(e, func() bool { return e.changed&c.enabled != 0 || e.failure != nil })
	return c
}

func (c *StatusCondition) base() *entityCondition {
	if c == nil {
		return nil
	}
	return &c.entityCondition
}

// TriggerValue tells whether the condition holds now (DDS: get_trigger_value).
func (c *StatusCondition) TriggerValue() bool { return c.base().triggerValue() }

// Ready gives a channel that is closed once the condition holds; see Condition.
func (c *StatusCondition) Ready() <-chan struct{} { return c.base().readyChan() }

func (c *StatusCondition) absence() error {
	if c.base().absent() {
		return missing("Attach", "the StatusCondition", "an entity")
	}
	return c.attachable()
}

// SetEnabledStatuses says which statuses count; all but STABLE do at first (DDS: set_enabled_statuses).
func (c *StatusCondition) SetEnabledStatuses(mask StatusMask) {
	if c.base().absent() {
		return
	}
	c.e.lock()
	defer c.e.unlock()
	c.enabled = mask
	if mask&StableStatusBit != 0 && c.follow != nil {
		c.follow()
	}
	c.t.value = false // who waits is told again if it holds
}

// EnabledStatuses gives what SetEnabledStatuses set.
func (c *StatusCondition) EnabledStatuses() StatusMask {
	if c.base().absent() {
		return 0
	}
	c.e.lock()
	defer c.e.unlock()
	return c.enabled
}

// ReadCondition holds while its reader has samples in given states (§2.2.2.5.8).
type ReadCondition struct {
	entityCondition
	reader    *reader
	selection selection
	seen      sighting // guarded by the lock of the reader, and so is selection.query
}

func (c *ReadCondition) base() *entityCondition {
	if c == nil {
		return nil
	}
	return &c.entityCondition
}

// TriggerValue tells whether the condition holds now (DDS: get_trigger_value).
func (c *ReadCondition) TriggerValue() bool { return c.base().triggerValue() }

// Ready gives a channel that is closed once the condition holds; see Condition.
func (c *ReadCondition) Ready() <-chan struct{} { return c.base().readyChan() }

func (c *ReadCondition) absence() error {
	if c.base().absent() {
		return missing("Attach", "the ReadCondition", "NewReadCondition")
	}
	return c.attachable()
}

// States gives the states that the condition is about (DDS: get_sample_state_mask, get_view_state_mask,
// get_instance_state_mask).
func (c *ReadCondition) States() (samples SampleState, views ViewState, instances InstanceState) {
	if c.base().absent() {
		return 0, 0, 0
	}
	return c.selection.samples, c.selection.views, c.selection.instances
}

// Close ends the condition; it never holds again (DDS: delete_readcondition). Detach it first from WaitSets that go on.
func (c *ReadCondition) Close() error {
	if c.base().absent() {
		return missing("Close", "the ReadCondition", "NewReadCondition")
	}
	c.e.lock()
	defer c.e.unlock()
	c.closed = true
	c.t.end()
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
	if c == nil {
		return
	}
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
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.value
}

// Ready gives a channel that is closed once the condition holds; see Condition.
func (c *GuardCondition) Ready() <-chan struct{} {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.init()
	return c.t.readyLocked()
}

func (c *GuardCondition) absence() error {
	if c == nil {
		return isNil("Attach", "WaitSet", "the GuardCondition")
	}
	return nil
}

func (c *GuardCondition) state(string) (bool, error) { return c.TriggerValue(), nil }

func (c *GuardCondition) attach(ws *WaitSet) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.init()
	if !slices.Contains(c.t.sets, ws) {
		c.t.sets = append(c.t.sets, ws)
	}
	if c.t.set(c.value); c.value {
		ws.notify()
	}
}

func (c *GuardCondition) detach(ws *WaitSet) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t.sets = slices.DeleteFunc(c.t.sets, func(s *WaitSet) bool { return s == ws })
}

// WaitSet waits for any of its conditions (§2.2.2.1.6). The zero value has none.
type WaitSet struct {
	mu         sync.Mutex
	waiting    bool
	wake       chan struct{} // capacity 1: something may have become true; made by ready before anything is attached
	conditions []Condition   // replaced, never changed: Wait looks at them without mu
	refused    error         // of a condition that NewWaitSet was given; Wait tells
	lent       atomic.Bool

	// Of the one that waits:
	ctx      context.Context
	unfollow func() bool
	active   []Condition // that hold
	told     []Condition // what Wait has returned
}

// NewWaitSet makes a WaitSet with the conditions attached. If one of them can not be attached, Wait fails with the
// error of Attach.
func NewWaitSet(conditions ...Condition) *WaitSet {
	ws := new(WaitSet)
	for _, c := range conditions {
		if err := ws.Attach(c); err != nil && ws.refused == nil {
			ws.refused = err
		}
	}
	return ws
}

// ready makes what the zero value lacks. Called with mu held.
func (ws *WaitSet) ready() {
	if ws.wake == nil {
		ws.wake = make(chan struct{}, 1)
	}
}

// notify takes no lock: the polling goroutine calls it.
func (ws *WaitSet) notify() {
	select {
	case ws.wake <- struct{}{}:
		if ws.lent.Load() { // stored before ws.wake is looked at
			derecho.Nudge()
		}
	default:
	}
}

// sleep waits until something may have become true. It does the work of the poller meanwhile, if nobody else does.
func (ws *WaitSet) sleep(ctx context.Context) error {
	ws.follow(ctx)
	ws.lent.Store(true)
	lent := derecho.Lend(func() bool { return len(ws.wake) > 0 || ctx.Err() != nil })
	ws.lent.Store(false)
	if lent {
		select {
		case <-ws.wake:
			return nil
		default:
		}
	}
	select {
	case <-ws.wake:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// follow makes the end of a context known to a goroutine that lends itself. That of the last one stays: who waits again and
// again mostly does it with the same.
func (ws *WaitSet) follow(ctx context.Context) {
	if ctx == ws.ctx || ctx.Done() == nil {
		return
	}
	if ws.unfollow != nil {
		ws.unfollow()
	}
	ws.ctx, ws.unfollow = ctx, context.AfterFunc(ctx, derecho.Nudge)
}

// Attach adds a condition; attaching it again has no effect (DDS: attach_condition). One that has ended, see Condition, is
// refused with ErrAlreadyDeleted.
func (ws *WaitSet) Attach(c Condition) error {
	const op = "Attach"
	if ws == nil {
		return isNil(op, "", "the WaitSet")
	}
	switch c.(type) {
	case *StatusCondition, *ReadCondition, *QueryCondition, *GuardCondition:
	case nil:
		return isNil(op, "WaitSet", "the condition")
	default:
		return &Error{Op: op, Entity: "WaitSet", Code: ErrBadParameter,
			Detail: fmt.Sprintf("the condition is a %T, which this package did not make", c)}
	}
	if err := c.absence(); err != nil {
		return err
	}
	ws.mu.Lock()
	ws.ready()
	if !slices.Contains(ws.conditions, c) {
		ws.conditions = append(slices.Clip(ws.conditions), c)
	}
	ws.mu.Unlock()
	c.attach(ws)
	return nil
}

// Detach removes a condition (DDS: detach_condition).
func (ws *WaitSet) Detach(c Condition) error {
	if ws == nil {
		return isNil("Detach", "", "the WaitSet")
	}
	if c == nil {
		return isNil("Detach", "WaitSet", "the condition")
	}
	ws.mu.Lock()
	i := slices.Index(ws.conditions, c)
	if i >= 0 {
		ws.conditions = slices.Delete(slices.Clone(ws.conditions), i, i+1)
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
	if ws == nil {
		return nil
	}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return slices.Clone(ws.conditions)
}

// holding lists the conditions that hold, unless one has ended. If they are those of last time it is the same list: who waits
// again and again mostly waits for the same, and allocates nothing.
func (ws *WaitSet) holding(op string) ([]Condition, error) {
	ws.mu.Lock()
	all := ws.conditions
	ws.mu.Unlock()
	ws.active = ws.active[:0]
	for _, c := range all {
		holds, err := c.state(op)
		if err != nil {
			return nil, err
		}
		if holds {
			ws.active = append(ws.active, c)
		}
	}
	switch {
	case len(ws.active) == 0:
		return nil, nil
	case !slices.Equal(ws.active, ws.told):
		ws.told = slices.Clip(slices.Clone(ws.active))
	}
	return ws.told, nil
}

// Wait returns the conditions that hold, as soon as there is one. One goroutine waits at a time; a second one is
// refused with ErrPreconditionNotMet. The list is for reading: calls that find the same conditions return the same one.
//
// As long as a condition is attached whose entity is closed, or that is closed itself, Wait fails with ErrAlreadyDeleted, also
// where it waits already and where others hold; the error names the entity. Who goes on waiting for others detaches it.
func (ws *WaitSet) Wait(ctx context.Context) ([]Condition, error) {
	const op = "Wait"
	if ws == nil {
		return nil, isNil(op, "", "the WaitSet")
	}
	if ctx == nil {
		return nil, isNil(op, "WaitSet", "ctx")
	}
	if ws.refused != nil {
		return nil, ws.refused
	}
	ws.mu.Lock()
	ws.ready()
	busy := ws.waiting
	ws.waiting = true
	ws.mu.Unlock()
	if busy {
		return nil, &Error{Op: op, Entity: "WaitSet", Code: ErrPreconditionNotMet, Detail: "another goroutine waits on this WaitSet"}
	}
	defer func() {
		ws.mu.Lock()
		ws.waiting = false
		ws.mu.Unlock()
	}()
	for {
		if active, err := ws.holding(op); err != nil || len(active) > 0 {
			return active, err
		}
		if err := ws.sleep(ctx); err != nil {
			return nil, failure(op, "WaitSet", "", err)
		}
	}
}
