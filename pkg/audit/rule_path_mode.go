package audit

import "fmt"

var ruleMode = rule{
	class: "path.mode",
	about: "Only plain files of mode 100644 are evaluated, and executable ones that the baseline has already. A mode change makes a file run, or not run, that was never seen to.",
	fix:   "restore the mode of the baseline (git update-index --chmod=-x PATH)",
	tree: func(t *tree) []Finding {
		return t.each(func(c change) (string, bool) {
			switch {
			case c.isGone(), c.to.Mode == "120000", c.to.Mode == "160000":
				return "", false
			case c.isNew():
				return fmt.Sprintf("a new file has mode %s, not 100644", c.to.Mode), c.to.Mode != "100644"
			}
			return fmt.Sprintf("the mode changes from %s to %s", c.from.Mode, c.to.Mode), c.from.Mode != c.to.Mode
		})
	},
}
