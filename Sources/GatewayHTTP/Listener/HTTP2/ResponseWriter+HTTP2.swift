internal import Gateway
internal import GatewayCore
internal import NIOCore
internal import NIOHPACK

extension ResponseWriter {
    /// Returns the header fields of an HTTP/2 response: the same as in HTTP/1.1, without the connection-specific ones.
    mutating func fields(of response: Response, id: CallID) -> HPACKHeaders {
        var fields = HPACKHeaders()
        fields.reserveCapacity(response.fields.count + 5)
        fields.add(name: ":status", value: "\(response.status)")
        fields.add(name: "date", value: dateText())
        if Self.mayHaveBody(response.status) { fields.add(name: "content-length", value: "\(response.body.count)") }
        if let contentType = response.contentType { fields.add(name: "content-type", value: contentType) }
        for field in response.fields { fields.add(name: field.name.lowercased(), value: field.value) }
        fields.add(name: "x-request-id", value: id.text)
        return fields
    }
}
