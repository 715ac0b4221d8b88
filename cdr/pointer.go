package cdr

// Fields of optional and of external members are pointers.

// Ptr gives a pointer to a copy of v, for setting optional members: Ptr(3.5).
func Ptr[T any](v T) *T { return &v }

// OrZero gives p, or a pointer to a zero value: an external member that was never set is encoded like that.
func OrZero[T any](p *T) *T {
	if p == nil {
		return new(T)
	}
	return p
}

// Allocate gives *p a value to decode into, if it has none. It says no if that would take too much memory for so small a
// sample.
func Allocate[T any](d *Decoder, name string, p **T) bool {
	if *p == nil {
		if !d.allot("value", name, 1, sizeOf[T]()) {
			return false
		}
		*p = new(T)
	}
	return true
}

// EqualPtr tells whether both are nil, or refer to equal values.
func EqualPtr[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// EqualPtrFunc is EqualPtr for values that equal compares.
func EqualPtrFunc[T any](a, b *T, equal func(a, b *T) bool) bool {
	return a == b || a != nil && b != nil && equal(a, b)
}
