package audit

var ruleMessage = rule{
	class: "message.case",
	about: "The commit message repeats the text of a case. Nothing runs it, but later work may be written from it.",
	fix:   "describe the kind of input in the message",
}
