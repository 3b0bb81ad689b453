package audit

// message audits what a commit says of itself.
func (a *audit) message(c Commit) []Finding {
	return nil
}
