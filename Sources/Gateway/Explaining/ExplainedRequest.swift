internal import GatewayCore
internal import NIOCore

/// A request that the backend would get, byte for byte but for the credential, which is hidden.
public struct ExplainedRequest: Sendable, Hashable {
    /// When it is sent.
    public enum Condition: String, Sendable, Hashable, CaseIterable {
        /// After the one before was answered well.
        case always
        /// Where the backend gives an id that the ledger has for another device.
        case ifIDIsAnothers = "if-id-is-anothers"
        /// Where the backend answers that what the request before is about is gone.
        case ifGone = "if-gone"
    }

    /// When it is sent.
    public let condition: Condition
    /// Head and body. `{id}` stands for the id that the backend gives first, `{traceparent}` for that of the request,
    /// which no other has, `(hidden)` for a credential.
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

    /// The text with the value of the field hidden. The encoder has written it, once, in the head.
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
