package audit

import (
	"math/big"
	"strings"
)

// folded is a constant expression: tokens from ≤ i < to have this value.
type folded struct {
	from, to int
	value    string
}

// foldConstants finds the maximal expressions over numbers, such as
// (1 << 12) + 321, that have at least one operator. real says that division of
// whole numbers may give a fraction.
func foldConstants(tokens []token, real bool) []folded {
	var list []folded
	for i := 0; i < len(tokens); i++ {
		if tokens[i].kind != numberKind && tokens[i].text != "(" {
			continue
		}
		p := &adder{tokens: tokens[i:min(len(tokens), i+maxSpan)], real: real}
		v, ok := p.binary(0)
		if ok && p.operators > 0 && v.Sign() >= 0 {
			list = append(list, folded{i, i + p.i, written(v)})
			i += p.i - 1
		}
	}
	return list
}

// adder evaluates by precedence climbing. It stops where the expression stops.
type adder struct {
	tokens           []token
	i                int
	depth, operators int
	real             bool
}

// written is the atom of a value.
func written(v *big.Rat) string {
	if v.IsInt() {
		return v.Num().String()
	}
	f, _ := v.Float64()
	return canonical(f)
}

// levels are the binary operators, loosest first.
var levels = [][]string{{"|"}, {"^"}, {"&"}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"}, {"**"}}

// bound keeps values at what code can hold.
const boundBits = 80

func (p *adder) binary(level int) (*big.Rat, bool) {
	if level == len(levels) {
		return p.operand()
	}
	x, ok := p.binary(level + 1)
	for ok {
		op, n := p.operator(level)
		if n == 0 {
			break
		}
		mark, operators := p.i, p.operators
		p.i += n
		y, good := p.binary(level + 1)
		z, defined := p.apply(op, x, y)
		if !good || !defined {
			p.i, p.operators = mark, operators
			break
		}
		p.operators++
		x = z
	}
	return x, ok
}

// operator returns the operator of a level that stands here and its tokens.
func (p *adder) operator(level int) (string, int) {
	if p.i >= len(p.tokens) || p.tokens[p.i].kind != punctKind {
		return "", 0
	}
	op, n := p.tokens[p.i].text, 1
	if p.i+1 < len(p.tokens) && p.tokens[p.i+1].text == op && strings.Contains("*<>|&", op) && p.tokens[p.i].end == p.tokens[p.i+1].pos {
		op, n = op+op, 2
	}
	for _, o := range levels[level] {
		if o == op {
			return op, n
		}
	}
	return "", 0
}

// operand reads a number or an expression in brackets.
func (p *adder) operand() (*big.Rat, bool) {
	if p.i >= len(p.tokens) || p.depth > 16 {
		return nil, false
	}
	t := p.tokens[p.i]
	if t.kind == punctKind && t.text == "(" {
		p.i++
		p.depth++
		x, ok := p.binary(0)
		p.depth--
		if !ok || p.i >= len(p.tokens) || p.tokens[p.i].text != ")" {
			return nil, false
		}
		p.i++
		return x, true
	}
	if t.kind != numberKind {
		return nil, false
	}
	text, ok := number(t.text)
	if !ok {
		return nil, false
	}
	x, ok := new(big.Rat).SetString(text)
	if ok = ok && small(x); ok {
		p.i++
	}
	return x, ok
}

// small says that code holds a value.
func small(v *big.Rat) bool {
	return v.Num().BitLen() <= boundBits && v.Denom().BitLen() <= boundBits
}

// apply computes one operator; ok is false where the value is not defined or
// larger than code holds.
func (p *adder) apply(op string, x, y *big.Rat) (*big.Rat, bool) {
	if y == nil {
		return nil, false
	}
	z := new(big.Rat)
	whole := x.IsInt() && y.IsInt()
	switch {
	case op == "+":
		z.Add(x, y)
	case op == "-":
		z.Sub(x, y)
	case op == "*":
		z.Mul(x, y)
	case op == "/" && (p.real || !whole):
		if y.Sign() == 0 {
			return nil, false
		}
		z.Quo(x, y)
	case whole:
		n, ok := applyWhole(op, x.Num(), y.Num())
		if !ok {
			return nil, false
		}
		z.SetInt(n)
	default:
		return nil, false
	}
	return z, small(z)
}

// applyWhole computes what is defined on whole numbers alone.
func applyWhole(op string, x, y *big.Int) (*big.Int, bool) {
	z := new(big.Int)
	few := y.IsInt64() && y.Int64() >= 0 && y.Int64() <= boundBits
	switch op {
	case "|":
		z.Or(x, y)
	case "^":
		z.Xor(x, y)
	case "&":
		z.And(x, y)
	case "/", "%":
		if y.Sign() == 0 {
			return nil, false
		}
		if z.Quo(x, y); op == "%" {
			z.Rem(x, y)
		}
	case "<<", ">>", "**":
		if !few {
			return nil, false
		}
		switch op {
		case "<<":
			z.Lsh(x, uint(y.Int64()))
		case ">>":
			z.Rsh(x, uint(y.Int64()))
		default:
			z.Exp(x, y, nil)
		}
	}
	return z, true
}
