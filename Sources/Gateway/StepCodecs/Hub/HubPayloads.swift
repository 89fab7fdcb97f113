public import GatewayCore
internal import GatewaySupport

/// The payloads of sends through a notification hub: for each push service a template, in which `{sender}` and
/// `{message}` stand for the sender's name and the text.
///
/// Both are escaped for JSON or XML, which cannot be switched off: a message can never add a member or an element.
public struct HubPayloads: Sendable {
    private enum Part: Sendable {
        case literal([UInt8])
        case sender
        case message
    }

    /// The error that a template cannot be used. The detail is for operators.
    public struct Malformed: Error, Sendable, Hashable {
        /// What is wrong with the template.
        public let detail: String
    }

    /// The templates, indexed by `PushService.index`.
    private var templates: [[Part]]

    /// Creates the payloads that notify-users backends send, with the member names of FCM's HTTP v1 interface.
    public init() {
        templates = PushService.allCases.map { Self.parts(of: Self.standard(for: $0)) }
    }

    /// Returns the default template of a service.
    public static func standard(for service: PushService) -> String {
        switch service {
        case .apns: #"{"aps":{"alert":"From {sender}: {message}"}}"#
        case .fcm: #"{"message":{"data":{"message":"From {sender}: {message}"}}}"#
        case .wns:
            """
            <toast><visual><binding template="ToastText01"><text id="1">From {sender}: {message}</text></binding>\
            </visual></toast>
            """
        case .mpns:
            """
            <wp:Notification xmlns:wp="WPNotification"><wp:Toast><wp:Text1>From {sender}: {message}</wp:Text1>\
            </wp:Toast></wp:Notification>
            """
        }
    }

    /// Replaces the template of a service. Throws if payloads made of it would not always be valid, or lack the text.
    public mutating func set(_ template: String, for service: PushService) throws(Malformed) {
        let parts = Self.parts(of: template)
        guard parts.contains(where: { if case .message = $0 { true } else { false } }) else {
            throw Malformed(detail: "does not contain {message}")
        }
        // A text that only the inside of a string or an element can hold.
        let sample = Self.payload(of: parts, sender: Self.escapedSample(service), message: Self.escapedSample(service))
        switch service {
        case .apns, .fcm:
            let parser = JSONParser(depthLimit: 16, memberLimit: 256)
            guard let value = try? parser.parse(sample.span), case .object = value, !Self.namesContainSample(value)
            else {
                throw Malformed(detail: "is not a JSON object with {sender} and {message} inside of values")
            }
        case .wns, .mpns:
            do throws(XMLTokenizer.Malformed) {
                var tokenizer = XMLTokenizer(sample)
                while try tokenizer.next() != nil {}
            } catch {
                throw Malformed(detail: "is not XML with {sender} and {message} in elements: \(error.detail)")
            }
        }
        templates[service.index] = parts
    }

    /// Returns the payload of a message. Throws if XML cannot represent a character of the text.
    func payload(of text: String, for service: PushService, from sender: UserName) throws(Rejection) -> [UInt8] {
        Self.payload(
            of: templates[service.index], sender: try EscapedText.bytes(of: sender.text, for: service),
            message: try EscapedText.bytes(of: text, for: service))
    }

    private static func payload(of parts: [Part], sender: [UInt8], message: [UInt8]) -> [UInt8] {
        var payload: [UInt8] = []
        payload.reserveCapacity(sender.count + message.count + 160)
        for part in parts {
            switch part {
            case .literal(let bytes): payload += bytes
            case .sender: payload += sender
            case .message: payload += message
            }
        }
        return payload
    }

    private static let sample = "a\"'<&>\\ ]]>b"

    private static func escapedSample(_ service: PushService) -> [UInt8] {
        // Every character can be represented.
        (try? EscapedText.bytes(of: sample, for: service)) ?? []
    }

    /// Returns whether a message would determine the name of a member.
    private static func namesContainSample(_ value: JSONValue) -> Bool {
        switch value {
        case .object(let members): members.contains { $0.name.contains(sample) || namesContainSample($0.value) }
        case .array(let elements): elements.contains(where: namesContainSample)
        case .null, .bool, .number, .string: false
        }
    }

    private static func parts(of template: String) -> [Part] {
        var parts: [Part] = []
        var rest = template[...]
        while let brace = rest.firstIndex(of: "{") {
            let found = rest[brace...]
            let (part, length): (Part?, Int) =
                found.hasPrefix("{sender}") ? (.sender, 8) : found.hasPrefix("{message}") ? (.message, 9) : (nil, 1)
            let end = rest.index(brace, offsetBy: length)
            parts.append(.literal(Array(rest[..<(part == nil ? end : brace)].utf8)))
            if let part { parts.append(part) }
            rest = rest[end...]
        }
        parts.append(.literal(Array(rest.utf8)))
        return joined(parts)
    }

    private static func joined(_ parts: [Part]) -> [Part] {
        parts.reduce(into: []) { joined, part in
            if case .literal(let last)? = joined.last, case .literal(let next) = part {
                joined[joined.count - 1] = .literal(last + next)
            } else {
                joined.append(part)
            }
        }
    }
}
