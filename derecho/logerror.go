package derecho

import "fmt"

// LogError says at which member a log failed. It is ErrLog.
type LogError struct {
	// Member has only its ID if it is no member any more.
	Member MemberInfo
	// Err is what its disk said; nil at the other members, which do not know it.
	Err error
	// Refused: this node has joined again, and its endpoints that need the log are not announced. Else they are, and
	// nothing is stored.
	Refused bool
}

func (e *LogError) Error() string {
	text := fmt.Sprintf("%v at %s", ErrLog, e.Member)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap gives ErrLog and the cause.
func (e *LogError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrLog}
	}
	return []error{ErrLog, e.Err}
}
