public import GatewayCore
public import GatewaySupport
internal import NIOCore

/// The predicted result of a call, with the reasons.
public struct Explanation: Sendable {
    /// The final decision of the gateway.
    public enum Outcome: Sendable {
        /// The call would be rejected with this status.
        case rejected(Rejection, status: Int)
        /// The gateway would respond itself, without the backend.
        case servedLocally
        /// The call would be recorded, and these requests would be sent to the backend. These members of an audience
        /// would be skipped.
        case forwarded([ExplainedRequest], skipped: [Skipped])
    }

    /// A member of an audience that a send would skip.
    public struct Skipped: Sendable, Hashable {
        /// The member.
        public var user: UserName
        /// The name of the per-recipient limit that is exhausted for the member.
        public var limit: String
    }

    /// The parsed call; nil if it could not be parsed.
    public var call: ExplainedCall?
    /// The operation, named as in the journal; nil if no route matched.
    public var action: Action?
    /// The policy rule that decided, or another policy decision, named as in the journal.
    public var rule: String?
    /// The fence of that rule, which contains the position in the request; nil if the rule has no fence.
    public var fence: FenceName?
    /// Whether the push of the send contains an id in place of the text.
    public var isSecure = false
    /// The backend's id of the registration concerned.
    public var registration: RegistrationID?
    /// The current state of the limits that count the call. Some limits count every call; the others count only calls
    /// that reach the limit phase, so a call rejected earlier is not charged to them.
    public var limits: [LimitStatus] = []
    /// The final decision.
    public var outcome = Outcome.servedLocally
}

extension Explanation {
    /// Creates the explanation of a call that is rejected before the gateway parses it.
    public init(rejection: Rejection) {
        self.init()
        outcome = .rejected(rejection, status: rejection.code.status)
    }
}

/// A parsed call as named parameters, for display.
public struct ExplainedCall: Sendable, Hashable {
    /// The parameters in display order. They include the text of a message.
    public let parameters: [JSONValue.Member]

    init(_ call: Call) {
        parameters =
            switch call {
            case .registration(.create(let handle)): Self.handle(handle)
            case .registration(.update(let label, let wanted)):
                [.init("label", .string(label.text))] + Self.handle(wanted.handle)
                    + [.init("tags", .array(wanted.tags.map(JSONValue.string)))]
            case .registration(.delete(let label)): [.init("label", .string(label.text))]
            case .send(let send, _):
                [.init("recipient", .string(send.recipient.text))] + Self.message(send.text, send.service)
            case .sendToAudience(let send, _):
                [.init("audience", .string(send.audience.text))] + Self.message(send.text, send.service)
            case .local: []
            }
    }

    private static func handle(_ handle: DeviceHandle?) -> [JSONValue.Member] {
        guard let handle else { return [] }
        return [.init("platform", .string(handle.service.rawValue)), .init("handle", .string(handle.text))]
    }

    private static func message(_ text: String, _ service: PushService) -> [JSONValue.Member] {
        [
            .init("pns", .string(service.rawValue)), .init("text", .string(text)),
            .init("bytes", .number(String(text.utf8.count))),
        ]
    }
}

/// A request that the backend would receive, unchanged except for the credential, which is hidden.
public struct ExplainedRequest: Sendable, Hashable {
    /// The condition under which the request is sent.
    public enum Condition: String, Sendable, Hashable, CaseIterable {
        /// Always, once the previous request of the plan, if any, has succeeded.
        case always
        /// If the backend assigns an id that the ledger has for another device.
        case ifIDIsTaken = "if-id-is-anothers"
        /// If the backend responds that the registration of the previous request no longer exists.
        case ifGone = "if-gone"
    }

    /// The condition under which the request is sent.
    public let condition: Condition
    /// The head and the body. `{id}` stands for the id that the backend assigns to a registration, or the gateway to a
    /// secure notification, `{traceparent}` for the unique value of the request, and `(hidden)` for a credential.
    public let text: String

    init(_ condition: Condition, _ bytes: ByteBuffer, hiding credentialField: String) {
        self.condition = condition
        text = Self.hiding(credentialField, in: String(buffer: bytes))
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
