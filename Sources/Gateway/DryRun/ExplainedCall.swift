internal import GatewayCore
public import GatewaySupport

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
            case .send(let send):
                [.init("recipient", .string(send.recipient.text))] + Self.message(send.text, send.service)
            case .sendToAudience(let send):
                [.init("audience", .string(send.audience.text))] + Self.message(send.text, send.service)
            case .own: []
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
