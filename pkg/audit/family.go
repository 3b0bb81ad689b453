package audit

import "strings"

// family says how a kind of source file is cut into tokens. It is a tolerant
// approximation: it must find literals and comments, not parse.
type family struct {
	line    []string    // what begins a comment to the end of the line
	block   [][2]string // what encloses a comment
	quotes  string
	triple  []string // quotes that enclose several lines
	regex   bool     // /…/ is a literal where an operand may stand
	rawHash bool     // r#"…"# and R"(…)"
	words   bool     // a word without quotes is a literal where a value may stand
	prose   bool     // the lines are text as well
	code    bool     // there are tokens at all
	data    bool     // nothing is compared, only stored
	docs    bool     // a string behind a colon is documentation
	real    bool     // 7/2 is 3.5
}

var (
	slashes    = []string{"//"}
	hash       = []string{"#"}
	cBlock     = [][2]string{{"/*", "*/"}}
	tripleBoth = []string{`"""`, `'''`}

	proseFamily = family{prose: true}
	pyFamily    = family{line: hash, quotes: `"'`, triple: tripleBoth, docs: true, code: true, real: true}
	hashFamily  = family{line: hash, quotes: "\"'`", triple: tripleBoth, code: true, real: true}
	shellFamily = family{line: hash, quotes: "\"'`", words: true, code: true}
	awkFamily   = family{line: hash, quotes: "\"'`", regex: true, code: true, real: true}
	sedFamily   = family{line: hash, prose: true}
	goFamily    = family{line: slashes, block: cBlock, quotes: "\"'`", code: true}
	jsFamily    = family{line: slashes, block: cBlock, quotes: "\"'`", regex: true, code: true, real: true}
	rustFamily  = family{line: slashes, block: cBlock, quotes: `"`, rawHash: true, code: true}
	cFamily     = family{line: slashes, block: cBlock, quotes: `"'`, triple: []string{`"""`}, rawHash: true, code: true}
	phpFamily   = family{line: []string{"//", "#"}, block: cBlock, quotes: "\"'`", code: true}
	dashFamily  = family{line: []string{"--"}, block: [][2]string{{"{-", "-}"}, {"--[[", "]]"}, {"/*", "*/"}}, quotes: `"'`, code: true}
	lispFamily  = family{line: []string{";"}, block: [][2]string{{"#|", "|#"}}, quotes: `"`, code: true}
	percent     = family{line: []string{"%"}, quotes: `"'`, code: true}
	// yaml lines are read as text; its quoted strings as literals too.
	yamlFamily = family{line: hash, quotes: `"'`, triple: tripleBoth, prose: true, code: true, data: true}
	// An unknown file is read both ways.
	anyFamily = family{line: slashes, block: cBlock, quotes: "\"'`", triple: tripleBoth, prose: true, code: true}
)

// families maps extensions, or whole names without one, to families.
var families = map[string]family{
	"md": proseFamily, "markdown": proseFamily, "txt": proseFamily, "rst": proseFamily, "adoc": proseFamily, "org": proseFamily,
	"csv": proseFamily, "tsv": proseFamily, "prompt": proseFamily, "tex": proseFamily, "license": proseFamily,
	"py": pyFamily, "pyi": pyFamily, "pyx": pyFamily,
	"sh": shellFamily, "bash": shellFamily, "zsh": shellFamily, "ksh": shellFamily, "dash": shellFamily, "fish": shellFamily,
	"awk": awkFamily, "rb": awkFamily, "pl": awkFamily, "pm": awkFamily, "sed": sedFamily,
	"r": hashFamily, "jl": hashFamily, "ex": hashFamily, "exs": hashFamily, "nim": hashFamily, "mk": hashFamily,
	"cmake": hashFamily, "toml": hashFamily, "cfg": hashFamily, "ini": hashFamily, "conf": hashFamily, "properties": hashFamily,
	"dockerfile": hashFamily, "makefile": hashFamily, "nix": hashFamily, "tf": hashFamily, "gd": hashFamily, "ps1": hashFamily,
	"yaml": yamlFamily, "yml": yamlFamily,
	"go": goFamily,
	"js": jsFamily, "ts": jsFamily, "jsx": jsFamily, "tsx": jsFamily, "mjs": jsFamily, "cjs": jsFamily, "mts": jsFamily,
	"rs": rustFamily, "php": phpFamily,
	"c": cFamily, "h": cFamily, "cc": cFamily, "cpp": cFamily, "cxx": cFamily, "hpp": cFamily, "hh": cFamily, "cu": cFamily, "cuh": cFamily,
	"java": cFamily, "kt": cFamily, "scala": cFamily, "swift": cFamily, "cs": cFamily, "m": cFamily, "mm": cFamily, "dart": cFamily,
	"groovy": cFamily, "zig": cFamily, "json": cFamily, "jsonl": cFamily, "proto": cFamily, "glsl": cFamily, "wgsl": cFamily, "metal": cFamily,
	"inc": cFamily, "def": cFamily, "inl": cFamily, "ipp": cFamily, "s": cFamily, "asm": lispFamily,
	"hs": dashFamily, "lua": dashFamily, "sql": dashFamily, "elm": dashFamily, "adb": dashFamily, "ads": dashFamily, "vhd": dashFamily,
	"lisp": lispFamily, "clj": lispFamily, "cljs": lispFamily, "scm": lispFamily, "el": lispFamily, "rkt": lispFamily,
	"erl": percent, "hrl": percent,
}

// familyOf chooses by the extension, or by the name where there is none.
func familyOf(path string) family {
	name := strings.ToLower(path[strings.LastIndexByte(path, '/')+1:])
	if f, ok := families[name[strings.LastIndexByte(name, '.')+1:]]; ok {
		return f
	}
	return anyFamily
}
