package dcps

import (
	"fmt"
	"math"
	"time"
)

// atCall, for a source timestamp, is the time of the call.
const atCall = math.MinInt64

// Samples carry their source timestamps as nanoseconds since 1970 in 64 bits.
var firstStamp, lastStamp = time.Unix(0, atCall+1).UTC(), time.Unix(0, math.MaxInt64).UTC()

// nanoseconds is a source timestamp as samples carry it; the zero time is atCall.
func nanoseconds(op, entity string, t time.Time) (int64, error) {
	switch {
	case t.IsZero():
		return atCall, nil
	case t.Before(firstStamp) || t.After(lastStamp):
		return atCall, &Error{
			Op: op, Entity: entity, Code: ErrBadParameter,
			Detail: fmt.Sprintf("source timestamp %v is not between %v and %v, as those of samples are", t, firstStamp, lastStamp),
		}
	}
	return t.UnixNano(), nil
}

// timestampOf is the source timestamp that options ask for, or atCall.
func (w *writer) timestampOf(op string, opts []WriteOption) (at int64, err error) {
	at = atCall
	for _, o := range opts {
		if o.at.IsZero() {
			continue
		}
		if at, err = nanoseconds(op, w.what, o.at); err != nil {
			return at, err
		}
	}
	return at, nil
}
