package main

import (
	"encoding/binary"
	"errors"
	"testing"
)

// from is a message of a replica.
func from(replica int) []byte {
	m := make([]byte, headerBytes)
	binary.LittleEndian.PutUint64(m[8:], uint64(replica))
	return m
}

func TestOwnMessagesAreDoneInTheirOrder(t *testing.T) {
	o := newOwnMessages(config{replica: 1, inflight: 10})
	var done []int
	for i := range 3 {
		o.written(func(err error) {
			if err != nil {
				t.Error(err)
			}
			done = append(done, i)
		})
	}
	for _, m := range [][]byte{from(0), from(1), from(2), {}, from(1)} {
		o.delivered(m)
	}
	if len(done) != 2 || done[0] != 0 || done[1] != 1 {
		t.Errorf("done are %v, not those that were written first and second", done)
	}
}

func TestNobodyWaitsForMessagesThatFailed(t *testing.T) {
	o := newOwnMessages(config{replica: 1, inflight: 10})
	broken := errors.New("broken")
	failed := 0
	count := func(err error) {
		if errors.Is(err, broken) {
			failed++
		}
	}
	o.written(count)
	o.fail(broken)
	o.written(count)
	o.delivered(from(1))
	if failed != 2 {
		t.Errorf("%d of 2 messages failed, the one before and the one after", failed)
	}
}

func TestHosts(t *testing.T) {
	var h hosts
	if err := h.Set("a=10.0.0.1,b=10.0.0.2,c=10.0.0.3"); err != nil {
		t.Fatal(err)
	}
	if got := h.addresses("1,2,3,4,5,6"); got[2] != "10.0.0.2:3" || got[5] != "10.0.0.3:6" {
		t.Errorf("addresses are %v", got)
	}
	var again hosts
	if err := again.Set(h.String()); err != nil || again.String() != h.String() {
		t.Errorf("%q came back as %q: %v", h.String(), again.String(), err)
	}
	for _, bad := range []string{"a", "a=x,b=10.0.0.2,c=10.0.0.3", "a=10.0.0.1"} {
		if h.Set(bad) == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	var none hosts
	if got := none.addresses("7,8"); got[1] != "127.0.0.1:8" {
		t.Errorf("without hosts addresses are %v", got)
	}
}
