package cdr

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func equal(t testing.TB, want, got any) {
	t.Helper()
	if !reflect.DeepEqual(want, got) {
		t.Errorf("want %+v\n got %+v", want, got)
	}
}

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fails wants an error of a class whose text has a part.
func fails(t testing.TB, err, is error, part string) {
	t.Helper()
	if !errors.Is(err, is) {
		t.Fatalf("want an error that is %q, got %v", is, err)
	}
	if !strings.Contains(err.Error(), part) {
		t.Errorf("want %q\n in %q", part, err)
	}
}

func noAllocation(t testing.TB, name string, f func()) {
	t.Helper()
	if n := testing.AllocsPerRun(100, f); n != 0 {
		t.Errorf("%s: %v allocations", name, n)
	}
}
