package invariant

import "testing"

func TestCheckPanicsOnlyWhenFalse(t *testing.T) {
	Check(true, "holds")
	defer func() {
		if got := recover(); got != "invariant violated: one equals two" {
			t.Errorf("recovered %v", got)
		}
	}()
	Check(false, "one equals two")
	t.Error("Check(false) returned")
}

func TestCheckDoesNotAllocate(t *testing.T) {
	n := 0
	if a := testing.AllocsPerRun(100, func() { n++; Check(n > 0, "counts up") }); a != 0 {
		t.Errorf("%v allocations", a)
	}
}
