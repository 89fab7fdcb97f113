internal import Gateway
internal import GatewayCore
internal import NIOCore
internal import NIOHPACK

extension AnswerWriter {
    /// The answer's fields for HTTP/2: the same as for HTTP/1.1, but for those about the connection.
    mutating func fields(of answer: Answer, id: CallID) -> HPACKHeaders {
        var fields = HPACKHeaders()
        fields.reserveCapacity(answer.fields.count + 5)
        fields.add(name: ":status", value: "\(answer.status)")
        fields.add(name: "date", value: dateText())
        if Self.mayHaveBody(answer.status) { fields.add(name: "content-length", value: "\(answer.body.count)") }
        if let contentType = answer.contentType { fields.add(name: "content-type", value: contentType) }
        for field in answer.fields { fields.add(name: field.name.lowercased(), value: field.value) }
        fields.add(name: "x-request-id", value: id.text)
        return fields
    }
}
