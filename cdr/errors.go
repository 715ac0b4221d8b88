package cdr

import (
	"errors"
	"strconv"
	"strings"
)

// Classes of errors; every error of this package unwraps to one of them.
var (
	ErrShortBuffer   = errors.New("buffer too short")
	ErrTruncated     = errors.New("input ends early")
	ErrBound         = errors.New("bound exceeded")
	ErrMalformed     = errors.New("malformed input")
	ErrInvalidValue  = errors.New("value not in its type")
	ErrEncapsulation = errors.New("unsupported encapsulation")
	ErrDepth         = errors.New("nested too deeply")
	ErrMember        = errors.New("member missing or out of order")
	ErrNotUnderstood = errors.New("member must be understood")
)

// Error says what is wrong with a sample, and where.
type Error struct {
	Op     string // "marshal", "unmarshal", "key", "view", "build"; empty when unknown
	Type   string // name of the sample's type
	Path   string // member path from there: "route.waypoints[3].name"
	Detail string // one clause, with both values where something is exceeded
	Err    error  // one of the sentinels
	final  bool   // not for Caught
}

// Error gives one sentence: "cdr: marshal avionics::Plan.name: string of 70 bytes exceeds its bound of 64".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("cdr: ")
	if e.Op != "" {
		b.WriteString(e.Op)
		if e.Type != "" || e.Path != "" {
			b.WriteByte(' ')
		}
	}
	b.WriteString(e.Type)
	if e.Path != "" {
		if e.Type != "" {
			b.WriteByte('.')
		}
		b.WriteString(e.Path)
	}
	if e.Op != "" || e.Type != "" || e.Path != "" {
		b.WriteString(": ")
	}
	if e.Detail != "" {
		b.WriteString(e.Detail)
	} else if e.Err != nil {
		b.WriteString(e.Err.Error())
	}
	return b.String()
}

// Unwrap gives the error's class.
func (e *Error) Unwrap() error { return e.Err }

// within puts a member in front of the path.
func (e *Error) within(name string) {
	switch {
	case e.Path == "":
		e.Path = name
	case e.Path[0] == '[':
		e.Path = name + e.Path
	default:
		e.Path = name + "." + e.Path
	}
}

func (e *Error) withinElement(name string, i int) {
	e.within(name + "[" + strconv.Itoa(i) + "]")
}

// describe fills in what only the outermost caller knows.
func describe(err *Error, op, typ string) error {
	if err == nil {
		return nil
	}
	err.Op, err.Type = op, strings.Clone(typ) // see Writer.encoder
	return err
}
