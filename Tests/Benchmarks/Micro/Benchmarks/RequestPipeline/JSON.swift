@testable import GatewayCore
@testable import GatewaySupport

private struct Text {
    let bytes: [UInt8]

    init(_ text: String) { bytes = Array(text.utf8) }

    func parse(_ isRight: (JSONValue) -> Bool) throws -> Bool { isRight(try JSONParser().parse(bytes.span)) }
}

private let long = String(repeating: "The meeting is at noon, in room Ångström. ", count: 60)

func measureJSON() {
    measure("parse-a-message") {
        Text(Sample.body)
    } _: {
        try $0.parse { $0.string == Sample.message }
    }
    measure("parse-a-registration-body") {
        Text(Sample.registrationBody)
    } _: {
        try $0.parse { $0.member(anyCase: "handle")?.string == Sample.deviceHandle }
    }
    measure("parse-a-message-of-2.5-KB") {
        Text("\"\(long)\"")
    } _: {
        try $0.parse { $0.string == long }
    }
    measure("write-a-message") {
        Sample.message
    } _: { text in
        var bytes: [UInt8] = []
        JSONWriter.write(string: text, to: &bytes)
        return bytes.count == Sample.body.utf8.count
    }
    measure("write-a-registration-body") {
        try JSONParser().parse(Text(Sample.registrationBody).bytes.span)
    } _: {
        JSONWriter.bytes(of: $0).count == Sample.registrationBody.utf8.count
    }
}
