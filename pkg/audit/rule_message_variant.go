package audit

var ruleVariant = rule{
	class: "message.variant",
	about: "The Predicted-variant trailer must name an input that nobody has shown: it is what makes the hypothesis more than a description of the cases.",
	fix:   "predict an input that is in no case",
}
