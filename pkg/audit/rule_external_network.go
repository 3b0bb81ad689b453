package audit

var ruleNetwork = rule{
	class: "external.network",
	about: "The change reaches the network. The sandbox has none; what comes from there is not the candidate's.",
	fix:   "work without the network",
	patterns: []pattern{
		{severity: Review, message: "the network is used", re: expr(`(?m)\bcurl\s+-|\bwget\s+|\brequests\.(?:get|post|put|Session)\(|\burllib\.request\b|\burlopen\(|\bhttpx\.|` +
			"\\baiohttp\\.|\\bhttp\\.(?:Get|Post|NewRequest)\\(|\\bfetch\\(\\s*[\"'`]https?:|\\bnet\\.Dial\\w*\\(|" +
			`\bsocket\.(?:socket|create_connection)\(|\bXMLHttpRequest\b|\baxios\.|\breqwest::|\bHttpClient\b|` +
			`\bURLConnection\b|\bTcpStream::connect\b|\bopenai\.|\banthropic\.`)},
	},
}
