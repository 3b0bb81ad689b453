package gate

import (
	"math"
	"testing"
)

func near(t *testing.T, what string, got, want, by float64) {
	t.Helper()
	if !(math.Abs(got-want) <= by) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

func TestInformGolden(t *testing.T) {
	b := Inform(100, Use{Budget: 20, Charged: 20, Passes: 2})
	// Exactly .296241 and .244749; the reference rounds the second one up.
	near(t, "eps_all", b.EpsAll, .2962, 1e-4)
	near(t, "eps_A", b.EpsPasses, .2448, 1e-4)
	near(t, "optimism", b.Optimism, .2448, 1e-4)
	near(t, "practical attack", b.Practical, math.Sqrt(.2)/math.Pi, 1e-12)
	near(t, "bits", b.Bits, 20, 0)
}

// TestInformTellsMore: whatever tells the author more never lowers a bound.
func TestInformTellsMore(t *testing.T) {
	base := Use{Budget: 20, Charged: 5, Passes: 2}
	for _, c := range []struct {
		name   string
		change func(u *Use)
		bits   float64
	}{
		{"a retry", func(u *Use) { u.Retries++ }, 1},
		{"an overlap", func(u *Use) { u.Overlaps++ }, math.Log2(21)},
		{"a query", func(u *Use) { u.Charged++ }, 1},
		{"a query of an earlier run", func(u *Use) { u.Earlier++ }, 1},
	} {
		u := base
		c.change(&u)
		before, after := Inform(100, base), Inform(100, u)
		near(t, c.name+": bits", after.Bits-before.Bits, c.bits, 1e-12)
		if after.EpsAll < before.EpsAll || after.EpsPasses < before.EpsPasses || after.Practical < before.Practical {
			t.Errorf("%s: %+v is below %+v", c.name, after, before)
		}
	}
	retried := base
	retried.Retries = 3
	if Inform(100, retried).Optimism <= Inform(100, base).Optimism {
		t.Error("retries do not show in the bound")
	}
}

func TestInformExtremes(t *testing.T) {
	for _, c := range []struct {
		cases int
		use   Use
	}{
		{0, Use{Budget: 20}}, {-1, Use{}}, {1, Use{Budget: math.MaxInt32, Charged: math.MaxInt32}},
		{100, Use{}}, {100, Use{Budget: 5, Passes: 9}}, {100, Use{Budget: 5, Charged: 50}}, {100, Use{Budget: 5, Passes: -1}},
	} {
		b := Inform(c.cases, c.use)
		for _, v := range []float64{b.EpsAll, b.EpsPasses, b.Optimism, b.Practical} {
			if !(v >= 0 && v <= 1) {
				t.Errorf("%d cases, %+v: %+v", c.cases, c.use, b)
			}
		}
	}
	if over, full := Inform(100, Use{Budget: 5, Charged: 50}), Inform(100, Use{Budget: 50}); over.EpsAll != full.EpsAll {
		t.Error("queries beyond the budget are not counted")
	}
}

func TestUse(t *testing.T) {
	for _, c := range []struct {
		use       Use
		used      int
		left      int
		exhausted bool
	}{
		{Use{Budget: 20}, 0, 20, false},
		{Use{Budget: 20, Charged: 1}, 1, 19, false},
		{Use{Budget: 20, Charged: 19, Retries: 4}, 19, 1, false},
		{Use{Budget: 20, Charged: 20}, 20, 0, true},
		{Use{Budget: 20, Charged: 21}, 21, 0, true},
		{Use{Budget: 20, Charged: 2, Earlier: 18}, 20, 0, true},
		{Use{}, 0, 0, true},
	} {
		if c.use.Used() != c.used || c.use.Left() != c.left || c.use.Exhausted() != c.exhausted {
			t.Errorf("%+v: used %d, left %d, exhausted %v", c.use, c.use.Used(), c.use.Left(), c.use.Exhausted())
		}
	}
	near(t, "bits", Use{Budget: 20, Charged: 7, Earlier: 2, Retries: 3, Overlaps: 1}.Bits(), 12+math.Log2(21), 1e-12)
}
