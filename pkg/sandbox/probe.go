package sandbox

// ProbeRow is one wall and whether it held against an attack in the real
// sandbox.
type ProbeRow struct {
	Name   string
	Held   bool
	Detail string // what the attacker got, or how the attack ended
	Cure   string // where it did not hold
}
