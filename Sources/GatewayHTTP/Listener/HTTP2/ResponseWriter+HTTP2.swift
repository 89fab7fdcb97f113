internal import Gateway
internal import GatewayCore
internal import NIOCore
internal import NIOHPACK

extension ResponseWriter {
    /// The values of `:status` in HPACK's static table (RFC 7541, appendix A).
    private static let staticStatuses = [200, 204, 206, 304, 400, 404, 500]

    /// Returns the header fields of an HTTP/2 response: the same as in HTTP/1.1, without the connection-specific ones.
    ///
    /// No field is added to the dynamic table (RFC 7541, section 6.2.2). The client chooses the size of the encoder's dynamic table, and
    /// each response has a new `x-request-id`, so an indexed response would make the table and its linear search grow.
    mutating func fields(of response: Response, id: CallID) -> HPACKHeaders {
        var fields = HPACKHeaders()
        fields.reserveCapacity(response.fields.count + 5)
        // One byte for a status that the static table has; an indexable field that is there is not added to the dynamic table.
        fields.add(
            name: ":status", value: "\(response.status)",
            indexing: Self.staticStatuses.contains(response.status) ? .indexable : .nonIndexable)
        fields.add(name: "date", value: dateText(), indexing: .nonIndexable)
        if Self.mayHaveBody(response.status) {
            fields.add(name: "content-length", value: "\(response.body.count)", indexing: .nonIndexable)
        }
        if let contentType = response.contentType {
            fields.add(name: "content-type", value: contentType, indexing: .nonIndexable)
        }
        for field in response.fields {
            fields.add(name: field.name.lowercased(), value: field.value, indexing: .nonIndexable)
        }
        fields.add(name: "x-request-id", value: id.text, indexing: .nonIndexable)
        return fields
    }
}
