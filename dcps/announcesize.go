package dcps

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
)

// What the domain is told of a writer or reader has a bound (derecho.MaxInfo) that its own QoS, that of its Publisher or
// Subscriber and that of its Topic share. It is looked at before a QoS is in force: what can not be told would else hold here
// alone, and keep all that is changed later from being told, too.

// fits refuses an announcement that is too large to travel, and says what makes it so.
func (n *announcement) fits(op, entity string) error {
	size := len(n.encode())
	if size <= derecho.MaxInfo {
		return nil
	}
	partition, group, user := n.sub.Partition, n.sub.GroupData, n.reader.UserData
	if n.writes {
		partition, group, user = n.pub.Partition, n.pub.GroupData, n.writer.UserData
	}
	return oversize(op, entity, size, []share{
		{qos.PolicyUserData.String(), len(user.Value)},
		{qos.PolicyGroupData.String(), len(group.Value)},
		{qos.PolicyTopicData.String(), len(n.topicQos.TopicData.Value)},
		{qos.PolicyPartition.String(), total(partition.Name)},
		{"the content filter", len(n.filter.FilterExpression) + total(n.filter.ExpressionParameters)},
		{"the type", len(n.objects) + min(len(n.typeText), maxAnnounced)},
	})
}

// share is something that an announcement has, and its bytes.
type share struct {
	name string
	size int
}

func total(texts []string) (size int) {
	for _, s := range texts {
		size += len(s)
	}
	return size
}

// oversize names the parts, the largest first.
func oversize(op, entity string, size int, parts []share) error {
	parts = slices.DeleteFunc(parts, func(p share) bool { return p.size == 0 })
	slices.SortStableFunc(parts, func(a, b share) int { return cmp.Compare(b.size, a.size) })
	var texts []string
	for _, p := range parts {
		texts = append(texts, fmt.Sprintf("%s %d", p.name, p.size))
	}
	return &Error{
		Op: op, Entity: entity, Code: ErrOutOfResources, Err: derecho.ErrTooLarge,
		Detail: fmt.Sprintf("the announcement would have %d bytes, and there is room for at most %d: %s, and the rest; make these smaller",
			size, derecho.MaxInfo, strings.Join(texts, ", ")),
	}
}

// checkUserData is fits for a participant.
func checkUserData(op, entity string, q qos.DomainParticipant) error {
	if size := len(userDataInfo(q.UserData.Value)); size > derecho.MaxInfo {
		return oversize(op, entity, size, []share{{qos.PolicyUserData.String(), len(q.UserData.Value)}})
	}
	return nil
}

// announced is what the domain is told of the writer, or the part of it that is known before it is enabled.
func (w *writer) announced() *announcement {
	if w.enabled.Load() {
		return w.announcement()
	}
	return &announcement{writes: true, topic: w.topic.name, topicQos: w.topic.qosNow(), pub: w.pub.Qos(), writer: w.qosNow()}
}

func (r *reader) announced() *announcement {
	if r.enabled.Load() {
		return r.announcement()
	}
	return &announcement{topic: r.topic.name, topicQos: r.topic.qosNow(), sub: r.sub.Qos(), reader: r.qosNow(), filter: r.content.announced()}
}

// checkAnnounced refuses a QoS with which the announcement would be too large. So do those of a Publisher, Subscriber and Topic
// for themselves and all that they have.
func (w *writer) checkAnnounced(op string, q qos.DataWriter) error {
	ann := w.announced()
	ann.writer.UserData = q.UserData // nothing else in it that may change has a length
	return ann.fits(op, w.what)
}

func (r *reader) checkAnnounced(op string, q qos.DataReader) error {
	for _, of := range r.announcers() {
		ann := of.announced()
		ann.reader.UserData = q.UserData
		if err := ann.fits(op, of.what); err != nil {
			return err
		}
	}
	return nil
}

// announcers are the readers that the domain is told of in the place of r.
func (r *reader) announcers() []*reader {
	switch {
	case r.builtin:
		return nil
	case r.join != nil:
		return r.join.parts
	}
	return []*reader{r}
}

func (pub *Publisher) checkAnnounced(op string, q qos.Publisher) error {
	if err := (&announcement{writes: true, pub: q}).fits(op, pub.what); err != nil {
		return err
	}
	for _, w := range pub.list() {
		ann := w.announced()
		ann.pub = q
		if err := ann.fits(op, w.what); err != nil {
			return err
		}
	}
	return nil
}

func (sub *Subscriber) checkAnnounced(op string, q qos.Subscriber) error {
	if err := (&announcement{sub: q}).fits(op, sub.what); err != nil {
		return err
	}
	for _, whole := range sub.list() {
		for _, r := range whole.announcers() {
			ann := r.announced()
			ann.sub = q
			if err := ann.fits(op, r.what); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkTopicData is checkAnnounced of a Topic that nobody uses yet.
func checkTopicData(op, entity, name string, q qos.Topic) error {
	return (&announcement{topic: name, topicQos: q}).fits(op, entity)
}

func (t *topicEntity) checkAnnounced(op string, q qos.Topic) error {
	if err := checkTopicData(op, t.what, t.name, q); err != nil {
		return err
	}
	for w := range t.p.writers.all() {
		if w.topic != t {
			continue
		}
		ann := w.announced()
		ann.topicQos = q
		if err := ann.fits(op, w.what); err != nil {
			return err
		}
	}
	for r := range t.p.readers.all() {
		if r.topic != t {
			continue
		}
		ann := r.announced()
		ann.topicQos = q
		if err := ann.fits(op, r.what); err != nil {
			return err
		}
	}
	return nil
}
