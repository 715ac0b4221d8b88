package dcps

import "github.com/omg-dds-go/dds/cdr"

// unregister_instance of an instance that the writer has not registered is a PRECONDITION_NOT_MET (DDS 1.4 §2.2.2.4.2.7); writing
// and disposing register, too. The writer can tell in two cases: it has a record of its instances, as its QoS asks for one, or it
// has sent nothing at all. Else the message goes out, as a record costs each Write the handle of the instance, and memory without
// bound. A reader does not know better: that it has not met a writer with an instance may be as it came later.

// registers tells why the writer has nothing to unregister, if it can tell.
func (w *writer) registers(op string, key cdr.Message) error {
	if w.turn.number() > 0 && w.instances.Load().mayHave(key) {
		return nil
	}
	return &Error{Op: op, Entity: w.what, Code: ErrPreconditionNotMet,
		Detail: "the writer has not registered or written the instance, or has unregistered it already"}
}

// mayHave tells whether an instance is registered, or may be as the record does not have all. An error of the key is left to
// who sends it.
func (t *writerInstances) mayHave(key cdr.Message) bool {
	if t == nil {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	h, err := t.keys.Of(key)
	return err != nil || t.partial || t.byHandle[h] != nil
}

// autodispose is the flag that goes with unregistering.
func (w *writer) autodispose() uint8 {
	if w.qosNow().WriterDataLifecycle.AutodisposeUnregisteredInstances {
		return flagDispose
	}
	return 0
}
