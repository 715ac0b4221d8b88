package dcps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/topic"
)

// ReturnCode is the standard's ReturnCode_t; each code is an error to compare with errors.Is.
type ReturnCode int32

// The return codes of DDS 1.4 §2.2.1.1. RETCODE_OK is nil.
const (
	ErrUnspecified        ReturnCode = 1
	ErrUnsupported        ReturnCode = 2
	ErrBadParameter       ReturnCode = 3
	ErrPreconditionNotMet ReturnCode = 4
	ErrOutOfResources     ReturnCode = 5
	ErrNotEnabled         ReturnCode = 6
	ErrImmutablePolicy    ReturnCode = 7
	ErrInconsistentPolicy ReturnCode = 8
	ErrAlreadyDeleted     ReturnCode = 9
	ErrTimeout            ReturnCode = 10
	ErrNoData             ReturnCode = 11
	ErrIllegalOperation   ReturnCode = 12
)

var returnCodeTexts = [...]string{
	1: "unspecified error", 2: "unsupported", 3: "bad parameter", 4: "precondition not met", 5: "out of resources",
	6: "not enabled", 7: "immutable policy", 8: "inconsistent policy", 9: "already deleted", 10: "timeout",
	11: "no data", 12: "illegal operation",
}

func (c ReturnCode) Error() string {
	if c > 0 && int(c) < len(returnCodeTexts) {
		return "dcps: " + returnCodeTexts[c]
	}
	return fmt.Sprintf("dcps: return code %d", int32(c))
}

// Error says which operation failed on which entity, and why. It unwraps to its Code and to its cause, so that
// errors.Is works with both.
type Error struct {
	Op     string // "Write", "NewDataReader", ...
	Entity string // "writer of topic \"Track\"", ...
	Detail string // one sentence: what happened, with the values concerned, and what to do
	Code   ReturnCode
	Err    error // the cause; may be nil
}

func (e *Error) Error() string {
	if e == nil {
		return "dcps: no error"
	}
	var b strings.Builder
	b.WriteString("dcps: ")
	b.WriteString(e.Op)
	if e.Entity != "" {
		b.WriteString(" (" + e.Entity + ")")
	}
	b.WriteString(": " + strings.TrimPrefix(e.Code.Error(), "dcps: "))
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap gives the return code and the cause.
func (e *Error) Unwrap() []error {
	if e == nil {
		return nil
	}
	if e.Err == nil {
		return []error{e.Code}
	}
	return []error{e.Code, e.Err}
}

// ReturnCodeOf maps an error of this package back to the standard's number: 0 (RETCODE_OK) for nil.
func ReturnCodeOf(err error) ReturnCode {
	if err == nil {
		return 0
	}
	if code := ReturnCode(0); errors.As(err, &code) {
		return code
	}
	return ErrUnspecified
}

// failure makes an *Error out of a cause that comes from a lower layer or a context, and picks its return code.
func failure(op, entity, detail string, cause error) error {
	code := ErrPreconditionNotMet
	unsupported := (*topic.UnsupportedError)(nil)
	switch {
	case errors.Is(cause, derecho.ErrExcluded), errors.Is(cause, derecho.ErrNoMajority):
		return &Error{Op: op, Entity: entity, Detail: outageDetail(cause, detail), Code: ErrPreconditionNotMet, Err: cause}
	case errors.Is(cause, derecho.ErrTimeout), errors.Is(cause, context.DeadlineExceeded), errors.Is(cause, context.Canceled):
		code = ErrTimeout
	case errors.Is(cause, derecho.ErrClosed):
		code = ErrAlreadyDeleted
	case errors.Is(cause, derecho.ErrTooLarge), errors.Is(cause, derecho.ErrLog):
		code = ErrOutOfResources
	case errors.Is(cause, derecho.ErrConfig), errors.Is(cause, derecho.ErrHistory), errors.Is(cause, derecho.ErrCopied):
	case errors.Is(cause, derecho.ErrRecovering):
		detail = cmp.Or(detail, "the history of the topic is in logs that are away: start the processes that have them")
	case errors.Is(cause, derecho.ErrWouldBlock), errors.Is(cause, syscall.ENOSPC), errors.Is(cause, syscall.EDQUOT),
		errors.Is(cause, syscall.ENOMEM), errors.Is(cause, syscall.EMFILE), errors.Is(cause, syscall.ENFILE):
		code = ErrOutOfResources
	case errors.Is(cause, derecho.ErrNotSender):
		detail = cmp.Or(detail, "this process has joined the domain again, and the writer is about to be announced: try again")
	case errors.Is(cause, cdr.ErrBound), errors.Is(cause, cdr.ErrInvalidValue), errors.Is(cause, cdr.ErrEncapsulation),
		errors.Is(cause, cdr.ErrMember), errors.Is(cause, cdr.ErrMalformed), errors.Is(cause, cdr.ErrTruncated), errors.Is(cause, cdr.ErrDepth):
		code = ErrBadParameter
	case errors.As(cause, &unsupported):
		return &Error{Op: op, Entity: entity, Detail: unsupported.Detail, Code: ErrUnsupported}
	default: // of the system, or of a peer
		detail = cmp.Or(detail, "what the domain rests on fails: see to the cause; if DomainParticipant.Done is closed, close the participant then and make another one")
	}
	return &Error{Op: op, Entity: entity, Detail: detail, Code: code, Err: cause}
}

// domainFailed is the error of all operations once the domain can not go on.
func domainFailed(op, entity string, cause error) error {
	return &Error{Op: op, Entity: entity, Code: ErrPreconditionNotMet, Err: cause,
		Detail: "the domain can not go on in this process: see to the cause, close the participant, and make another one"}
}
