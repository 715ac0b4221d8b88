package xtypes

import "github.com/omg-dds-go/dds/cdr"

// Float128 is a long double, as generated code has it. Go has no such number: it is carried, not computed with.
type Float128 = cdr.LongDouble

// Float128From gives the long double that equals f; every double has one.
func Float128From(f float64) Float128 { return cdr.LongDoubleOf(f) }
