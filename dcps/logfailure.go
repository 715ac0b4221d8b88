package dcps

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/topic"
)

// failedLog is the log of a subgroup that a member can not write any more. The polling goroutine's.
type failedLog struct {
	sg   derecho.SubgroupID
	node derecho.NodeID
	err  error
}

// LogFailed notes that a member does not log a subgroup any more: from now on the writers of PERSISTENT topics on it
// fail, at every process that has heard of it, until that member has left. Err tells of it too. A node without
// endpoints has left already, or is about to: it holds nobody up. What is left out of this process, as its log is
// refused, concerns nobody else (refuse); each of that is announced when it is not any more, or was closed.
func (h *hub) LogFailed(sg derecho.SubgroupID, node derecho.NodeID, err error) {
	var e *derecho.LogError
	switch is := errors.As(err, &e); {
	case err == nil:
		h.noneRefused()
		return
	case is && e.Refused:
		h.refuse(sg, e)
		return
	case !is: // of this process, say
		err = &derecho.LogError{Member: h.view.member(node), Err: err}
	}
	if slices.ContainsFunc(h.failed, func(f failedLog) bool { return f.sg == sg && f.node == node }) {
		return
	}
	who, known := h.process(node)
	f := failedLog{sg, node, &Error{
		Op: "log", Entity: who, Code: ErrOutOfResources, Err: err,
		Detail: fmt.Sprintf("it stores no sample of PERSISTENT %s any more; see to its disk (room, errors, whether it answers) and start it again", h.persistent(sg)),
	}}
	if known || h.view.has(node) {
		h.p.problems.tell(logOf{sg, node}, f.err)
	} else {
		h.p.problem(f.err) // that it leaves is told no more
	}
	if known {
		h.failed = append(h.failed, f)
		h.p.logErrs.LoadOrStore(sg, f.err)
		for w := range h.p.writers.all() {
			it := &item{kind: itemOutage}
			w.post(it, it)
		}
	}
}

// forgetLogs lets writers go on that a member which has left kept from it.
func (h *hub) forgetLogs(node derecho.NodeID) {
	h.failed = slices.DeleteFunc(h.failed, func(f failedLog) bool { return f.node == node })
	h.p.problems.end(func(of any) bool {
		log, is := of.(logOf)
		return is && log.node == node
	})
	h.p.logErrs.Range(func(key, _ any) bool {
		sg := key.(derecho.SubgroupID)
		if i := slices.IndexFunc(h.failed, func(f failedLog) bool { return f.sg == sg }); i >= 0 {
			h.p.logErrs.Store(sg, h.failed[i].err)
		} else {
			h.p.logErrs.Delete(sg)
		}
		return true
	})
}

// process tells people which process a node is: by what its endpoints announced, or, if they are not known, by its number.
func (h *hub) process(node derecho.NodeID) (who string, known bool) {
	if uint64(node) == h.self.Load() {
		return "this process, " + Peer{Name: h.p.name, Host: h.p.host, PID: os.Getpid()}.String(), true
	}
	for key, e := range h.endpoints {
		if key.node == node {
			return e.peer.String(), true
		}
	}
	return "node " + node.String(), false
}

// persistent lists the PERSISTENT topics of a subgroup.
func (h *hub) persistent(sg derecho.SubgroupID) string {
	var names []string
	for name, peers := range h.topics {
		if derecho.SubgroupID(h.placement.Subgroup(topic.Logged, name)) != sg {
			continue
		}
		writes := slices.ContainsFunc(peers.writers, func(e *endpoint) bool { return e.path == topic.Logged })
		reads := slices.ContainsFunc(peers.readers, func(e *endpoint) bool {
			return e.ann.reader.Durability.Kind == qos.DurabilityPersistent
		})
		if writes || reads {
			names = append(names, fmt.Sprintf("%q", name))
		}
	}
	if len(names) == 0 {
		return fmt.Sprintf("topics on subgroup %d", sg)
	}
	slices.Sort(names)
	return "topics " + strings.Join(names, ", ")
}
