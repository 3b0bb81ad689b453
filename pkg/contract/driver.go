package contract

// modes checks what belongs to one mode of the candidate only.
func (k *checker) modes() {
	run, driver := k.root.get("candidate", "run"), k.root.get("evaluation", "driver")
	mode := k.c.Candidate.Mode
	switch mode {
	case ModeBatch, ModeCase:
		if run == nil && !k.faulty("$.candidate.run") {
			k.missing(k.root.get("candidate"), "run", "add it: shell command that launches the candidate")
		}
		k.bad(driver, "a driver belongs to modes driver and data, this is mode "+string(mode), "delete it, or change candidate.mode")
		return
	case ModeDriver:
		k.undisturbed(driver)
	case ModeData:
		k.nothingLaunched()
	default:
		return
	}
	if evaluation := k.root.get("evaluation"); driver == nil && !k.faulty("$.evaluation.driver") {
		k.missing(evaluation, "driver", "add driver: {run: …}, the frozen command of mode "+string(mode))
	}
	for _, name := range driver.get("secrets").items() {
		if _, twice := k.c.Evaluation.Environment[name.text]; twice {
			k.bad(name, name.text+" is set by evaluation.environment already", "delete it there")
		}
	}
}

// missing adds the fault of a key that n lacks.
func (k *checker) missing(n *node, key, fix string) {
	if n != nil {
		k.add(Fault{Line: n.line, Column: n.column, Path: n.path + "." + key, Message: "missing", Fix: fix})
	}
}

// undisturbed keeps network and secrets away from a driver that candidate code
// talks to.
func (k *checker) undisturbed(driver *node) {
	const cure = "only mode data, where no candidate code is launched, may have it"
	if driver.get("network").is() {
		k.bad(driver.get("network"), "candidate code could reach the network through the driver of mode driver", cure)
	}
	if secrets := driver.get("secrets"); len(secrets.items()) > 0 {
		k.bad(secrets, "candidate code could learn the secrets of the driver of mode driver", cure)
	}
}

// nothingLaunched refuses in mode data what speaks of launches.
func (k *checker) nothingLaunched() {
	const why = "in mode data nothing of the candidate is launched"
	for _, at := range [][]string{{"candidate", "run"}, {"candidate", "build"}, {"scope", "generated"}} {
		k.bad(k.root.get(at...), why, "delete it")
	}
	if k.c.Candidate.Directory != "." {
		k.bad(k.root.get("candidate", "directory"), why, "delete it")
	}
	metrics := []*node{k.root.get("metric", "name")}
	for _, list := range []string{"secondary", "constraints"} {
		for _, n := range k.root.get(list).items() {
			metrics = append(metrics, n.get("name"), n.get("metric"))
		}
	}
	for _, n := range append(metrics, k.root.get("acceptance", "tie_breakers").items()...) {
		if Noisy(n.string()) {
			k.bad(n, why+": "+n.text+" would measure the harness", "choose a metric that the scorer prints, or code_lines")
		}
	}
}
