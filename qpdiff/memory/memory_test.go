package memory

import (
	"math"
	"strings"
	"testing"
)

func TestBound(t *testing.T) {
	if got := Bound(7); got != 7 {
		t.Errorf("a bound of 7 bytes becomes %d", got)
	}
	limit := least(math.MaxInt, system())
	if got := Bound(0); limit != Unbounded && got > limit/4 {
		t.Errorf("the default is %d where the least limit is %d", got, limit)
	}
	old := SetDefault(11)
	if got := Bound(0); got != 11 {
		t.Errorf("the default is %d after SetDefault(11)", got)
	}
	if SetDefault(old); Bound(-1) != old {
		t.Errorf("the default is %d instead of %d", Bound(-1), old)
	}
	if got := share(Unbounded); got != Unbounded {
		t.Errorf("without a limit the bound is %d", got)
	}
	if n := testing.AllocsPerRun(10, func() { Bound(0) }); n != 0 {
		t.Errorf("Bound makes %v allocations", n)
	}
}

func TestCounts(t *testing.T) {
	if Bytes(1e30) != Unbounded || Bytes(12) != 12 || Add(3, 4) != 7 || Add(Unbounded, 1) != Unbounded || Add(Unbounded, Unbounded, Unbounded) != Unbounded {
		t.Error("a count overflows")
	}
	for bytes, want := range map[int64]string{999: "999 bytes", 85899345920: "85899345920 bytes (85.9 GB)", 999999: "999999 bytes (1 MB)", Unbounded: "2⁶³ bytes or more"} {
		if got := text(bytes); got != want {
			t.Errorf("%d is written as %q instead of %q", bytes, got, want)
		}
	}
	if got := Needs(2000, 999); !strings.Contains(got, "2000 bytes") || !strings.Contains(got, "999 bytes") {
		t.Errorf("Needs words %q", got)
	}
}
