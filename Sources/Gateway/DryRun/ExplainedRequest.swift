internal import NIOCore

/// A request that the backend would receive, unchanged except for the credential, which is hidden.
public struct ExplainedRequest: Sendable, Hashable {
    /// The condition under which the request is sent.
    public enum Condition: String, Sendable, Hashable, CaseIterable {
        /// After the previous request succeeded.
        case always
        /// If the backend assigns an id that the ledger has for another device.
        case ifIDIsAnothers = "if-id-is-anothers"
        /// If the backend responds that the registration of the previous request no longer exists.
        case ifGone = "if-gone"
    }

    /// The condition under which the request is sent.
    public let condition: Condition
    /// The head and the body. `{id}` stands for the id that the backend assigns, `{traceparent}` for the unique value
    /// of the request, and `(hidden)` for a credential.
    public let text: String

    init(_ condition: Condition, _ bytes: ByteBuffer, credential: UpstreamCredential) {
        self.condition = condition
        let text = String(buffer: bytes)
        let secret =
            switch credential {
            case .mirror, .sharedPassword: "Authorization"
            case .header(_, let secretField, _): secretField
            }
        self.text = Self.hiding(secret, in: text)
    }

    /// Replaces the value of the header field. The encoder writes the field once, in the head.
    static func hiding(_ field: String, in text: String) -> String {
        guard let headEnd = text.range(of: "\r\n\r\n")?.lowerBound,
            let start = text.range(of: "\r\n\(field): ", in: ..<headEnd)?.upperBound
        else { return text }
        let end = text.range(of: "\r\n", in: start...)?.lowerBound ?? text.endIndex
        return text[..<start] + "(hidden)" + text[end...]
    }
}

extension String {
    fileprivate func range(of other: String, in part: some RangeExpression<String.Index>) -> Range<String.Index>? {
        self[part].firstRange(of: other)
    }

    fileprivate func range(of other: String) -> Range<String.Index>? { firstRange(of: other) }
}
