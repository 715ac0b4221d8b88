package dcps

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/topic"
	"github.com/omg-dds-go/dds/xtypes"
)

// Whether a reader takes the samples of a writer whose type is not quite its own (XTypes 1.3 §7.6.3.4). All processes
// have to come to the same answer, so it follows from the two announcements and from nothing else: not from types that
// a process happens to know. Each announcement carries the complete type objects, so that the answer can name the
// member. What can not be announced, because the type has no type object or a very large one, is compared by the
// signature: such a type is the same, or it is another one.

// typeKey identifies what an announcement says of a type.
type typeKey [32]byte

func (n *announcement) keyOfType() typeKey {
	h := sha256.New()
	h.Write(n.signature[:])
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(n.typeName))))
	h.Write([]byte(n.typeName))
	h.Write(n.objects)
	return typeKey(h.Sum(nil))
}

// sameType tells whether two endpoints of one topic have one type. That is how it is nearly always, and costs nothing.
func (n *announcement) sameType(o *announcement) bool {
	return n.signature == o.signature && n.typeName == o.typeName
}

// typeMatcher compares types, each pair once. Its answers do not depend on what it compared before. One goroutine uses
// it at a time.
type typeMatcher struct {
	types    map[typeKey]*announcedType
	verdicts map[typePair]typeVerdict
}

// announcedType is a type as an announcement tells it; typ is nil if it does not, or can not be read.
type announcedType struct {
	typ *xtypes.Type
	why string // not
}

type typePair struct {
	reader, writer typeKey
	rules          xtypes.Consistency
}

// typeVerdict is nothing if a reader's type can be assigned from a writer's, and otherwise why not.
type typeVerdict struct {
	why     string
	unknown bool // one of the types is not known: they are not the same, and no more can be said
	// partial: the writer's type has values that the reader's can not hold. Of one type there are none.
	partial bool
}

func (v typeVerdict) ok() bool { return v.why == "" }

// maxVerdicts and maxTypes bound what a matcher remembers: announcements come and go. With more it begins anew, and
// finds the same.
const (
	maxVerdicts = 4096
	maxTypes    = 256 // each takes many times the bytes of its type objects
)

// match tells whether the type of a reader is assignable from that of a writer.
func (m *typeMatcher) match(r, w *announcement, rules xtypes.Consistency) typeVerdict {
	if r.sameType(w) {
		return typeVerdict{}
	}
	pair := typePair{r.typ, w.typ, rules}
	v, known := m.verdicts[pair]
	if !known {
		v = m.compare(r, w, rules)
		if m.verdicts == nil || len(m.verdicts) >= maxVerdicts {
			m.verdicts = make(map[typePair]typeVerdict)
		}
		m.verdicts[pair] = v
	}
	return v
}

func (m *typeMatcher) compare(r, w *announcement, rules xtypes.Consistency) typeVerdict {
	for _, n := range []*announcement{r, w} {
		if t := m.typeOf(n); t.typ == nil {
			return typeVerdict{why: fmt.Sprintf("%s of the %s is not known: %s", n.typeName, n.role(), t.why), unknown: true}
		}
	}
	err := xtypes.Assignable(m.typeOf(r).typ, m.typeOf(w).typ, rules)
	if err == nil {
		err = xtypes.SameKey(m.typeOf(r).typ, m.typeOf(w).typ) // the text lets them match, but what a writer disposes has its key only
	}
	if err != nil {
		return typeVerdict{why: strings.TrimPrefix(err.Error(), "xtypes: ")}
	}
	return typeVerdict{partial: !xtypes.Constructible(m.typeOf(r).typ, m.typeOf(w).typ)}
}

func (m *typeMatcher) typeOf(n *announcement) *announcedType {
	t := m.types[n.typ]
	if t != nil {
		return t
	}
	t = new(announcedType)
	if len(n.objects) == 0 {
		t.why = "its endpoint announces no type object"
	} else if typ, err := xtypes.ParseObjects(n.objects); err != nil {
		t.why = err.Error()
	} else {
		t.typ = typ
	}
	if m.types == nil || len(m.types) >= maxTypes {
		m.types = make(map[typeKey]*announcedType)
	}
	m.types[n.typ] = t
	return t
}

func (n *announcement) role() string {
	if n.writes {
		return "writer"
	}
	return "reader"
}

// consistencyOf are the rules by which reader r takes the samples of writer w.
func consistencyOf(r, w *announcement) xtypes.Consistency {
	p := &r.reader.TypeConsistencyEnforcement
	return xtypes.Consistency{
		DisallowTypeCoercion: p.Kind == qos.TypeConsistencyDisallowTypeCoercion,
		IgnoreSequenceBounds: p.IgnoreSequenceBounds,
		IgnoreStringBounds:   p.IgnoreStringBounds,
		IgnoreMemberNames:    p.IgnoreMemberNames,
		PreventTypeWidening:  p.PreventTypeWidening,
		ForceTypeValidation:  p.ForceTypeValidation,
		XCDR1:                sendsXCDR1(w.writer.DataRepresentation),
	}
}

// sendsXCDR1 tells in which encoding a writer sends.
func sendsXCDR1(p qos.DataRepresentation) bool {
	return len(p.Value) > 0 && p.Value[0] == qos.DataRepresentationXCDR1
}

// encapsulationOf is how a writer of a type sends.
func encapsulationOf(t *cdr.TypeInfo, p qos.DataRepresentation) cdr.Encapsulation {
	switch {
	case !sendsXCDR1(p):
		return cdr.DefaultEncapsulation(t)
	case t.Extensibility == cdr.Mutable:
		return cdr.PLCDRLE
	}
	return cdr.CDRLE
}

// typesOf tells whether writer w and reader r agree on their types.
func (h *hub) typesOf(w, r *announcement) typeVerdict {
	return h.types.match(r, w, consistencyOf(r, w))
}

// refused lists TYPE_CONSISTENCY_ENFORCEMENT as what keeps writer w and reader r from matching. It is not the policy that does if
// nothing is known of a type and the reader does not insist on that: then the topic is inconsistent, and that is all.
func (v typeVerdict) refused(w, r *announcement) []qos.Incompatibility {
	if v.ok() || v.unknown && !r.reader.TypeConsistencyEnforcement.ForceTypeValidation {
		return nil
	}
	return []qos.Incompatibility{{
		Policy: qos.PolicyTypeConsistencyEnforcement, Offered: w.typeName,
		Requested: fmt.Sprintf("%s with %v: %s", r.typeName, r.reader.TypeConsistencyEnforcement, v.why),
	}}
}

// differ tells why two endpoints of a topic are inconsistent. Two writers, and two readers, are if nobody can have to
// do with both.
func (h *hub) differ(a, b *announcement) typeVerdict {
	switch {
	case a.writes && !b.writes:
		return h.typesOf(a, b)
	case b.writes && !a.writes:
		return h.typesOf(b, a)
	}
	if v := h.types.match(a, b, readable(b)); !v.ok() {
		return h.types.match(b, a, readable(a))
	}
	return typeVerdict{}
}

// readable are the rules by which the keys of a writer's samples can be found with another type than the writer's.
func readable(w *announcement) xtypes.Consistency {
	return xtypes.Consistency{IgnoreSequenceBounds: true, IgnoreStringBounds: true, IgnoreMemberNames: true, XCDR1: w.writes &&
		sendsXCDR1(w.writer.DataRepresentation)}
}

// explain says how the type of a peer differs from the local one.
func (v typeVerdict) explain(local, remote *announcement, at Peer) string {
	switch {
	case !v.unknown:
		return fmt.Sprintf("topic %q has type %s here and type %s at %v: %s", local.topic, local.typeName, remote.typeName, at, v.why)
	case local.typeName != remote.typeName:
		return fmt.Sprintf("topic %q has type %s here and type %s at %v", local.topic, local.typeName, remote.typeName, at)
	}
	return fmt.Sprintf("topic %q: type %s is defined differently here and at %v\nhere:  %s\nthere: %s",
		local.topic, local.typeName, at, local.typeText, remote.typeText)
}

// localType is the type that a topic has in this participant. All instances are found with it, whatever type their
// writer has: the handles of one participant are of one form.
type localType struct {
	ann  *announcement
	keys *topic.Keys
}

func newLocalType(ann *announcement, s topic.Support) *localType {
	return &localType{ann, topic.NewKeys(s)}
}

// keysOf is what finds the instances of a writer's samples; nil if the local type can not read them.
func (l *localType) keysOf(m *typeMatcher, w *announcement) *topic.Keys {
	if l == nil || !m.match(l.ann, w, readable(w)).ok() {
		return nil
	}
	return l.keys
}

// localType is the topic's, for who is not the hub.
func (t *topicEntity) localType() *localType {
	ann := t.announcement()
	ann.typ = ann.keyOfType()
	return newLocalType(ann, t.support)
}

// settleType makes w.keys of all writers right for the type of an endpoint of this process.
func (h *hub) settleType(peers *topicPeers, e *endpoint) {
	t := e.local()
	if t == nil || peers.local != nil && peers.local.ann.sameType(e.ann) {
		return
	}
	peers.local = newLocalType(e.ann, t.support)
	for _, w := range peers.writers {
		w.keys = peers.local.keysOf(&h.types, w.ann)
	}
}

// announcedObjects are the type objects that tell the domain of the topic's type; nil if there are none, or too many.
// They stay what they are with the first announcement.
func (t *topicEntity) announcedObjects() []byte {
	t.objects.Do(func() {
		text := []byte(t.support.Type.TypeObject)
		if d := t.described.Load(); len(text) == 0 && d != nil {
			text, _ = xtypes.Describe(d) // what has no type object is known by its signature
		}
		if objects, err := xtypes.CompleteObjects(text); err == nil && len(objects) <= maxObjects {
			t.announced = slices.Clip(objects)
		}
	})
	return t.announced
}
