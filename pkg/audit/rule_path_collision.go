package audit

var ruleCollision = rule{
	class: "path.collision",
	about: "Two paths that differ only in case, accents' encoding or look-alike letters are one file on some machines: what was audited there is not what runs.",
	fix:   "choose a name that no other path of the tree resembles",
	tree: func(t *tree) []Finding {
		fresh := map[string]string{} // folded to raw, every new prefix
		for _, c := range t.changes {
			if c.isNew() {
				eachPrefix(c.path, func(p string) { fresh[fold(p)] = p })
			}
		}
		if len(fresh) == 0 {
			return nil
		}
		clash := map[string]bool{}
		look := func(p string) {
			if raw, ok := fresh[foldFast(p)]; ok && raw != p {
				clash[raw], clash[p] = true, true
			}
		}
		for _, e := range t.entries {
			eachPrefix(e.Path, look)
		}
		for _, dir := range t.a.in.Folders {
			eachPrefix(dir, look)
		}
		return t.each(func(c change) (string, bool) {
			bad := false
			eachPrefix(c.path, func(p string) { bad = bad || clash[p] })
			return "the path differs from another one only in case or look-alikes", bad && c.isNew()
		})
	},
}

// eachPrefix calls do for a path and for every folder above it.
func eachPrefix(path string, do func(string)) {
	for i := range len(path) {
		if path[i] == '/' {
			do(path[:i])
		}
	}
	do(path)
}

// foldFast is fold without a copy of what is folded already.
func foldFast(p string) string {
	for i := range len(p) {
		if c := p[i]; c >= 0x80 || c >= 'A' && c <= 'Z' {
			return fold(p)
		}
	}
	return p
}
