/// What a push service knows a device by, canonical, with its service: a handle is bound by the two together.
///
/// Made by `HandleRules` alone, from what a client sent.
public struct DeviceHandle: Sendable, Hashable {
    /// The service that gave the handle.
    public let service: PushService
    /// The handle in its canonical form: APNs upper-case hexadecimal, FCM as given, WNS and MPNS a URI in the form of `ChannelURI`.
    public let text: String
    /// The forms by which ledgers of earlier versions may know the handle; nearly always none. They are not part of what it is.
    package let formerTexts: [String]

    /// Why no handle can be made of a text.
    public enum Fault: Error, Sendable, Hashable {
        /// Not a handle of the service by its grammar.
        case malformed(PushService)
        /// What an app writes when it describes its token instead of encoding it: `{length=32,bytes=0x…}`, `(null)`.
        case descriptionOfAToken
        /// A URI whose host is not the push service's: the hub would post there with the app's own credentials.
        case foreignHost

        /// A sentence that the client's developer can be told.
        public var hint: String {
            switch self {
            case .malformed(.apns): "An APNs handle is 32 to 512 hexadecimal digits, an even number of them."
            case .malformed(.fcm): "An FCM handle is 16 to 4096 letters, digits and _ : - ."
            case .malformed(.wns): "A WNS handle is an https URI of at most 2048 bytes."
            case .malformed(.mpns): "An MPNS handle is an http or https URI of at most 2048 bytes."
            case .descriptionOfAToken:
                "The handle is a printed description of a token; encode the token's bytes as hexadecimal digits."
            case .foreignHost: "The handle's host is not one of the push service's."
            }
        }
    }

    /// A handle in its canonical form.
    ///
    /// - Parameter former: what an earlier version would have made of the same text of a client.
    init(service: PushService, canonical text: String, former: String? = nil) {
        self.service = service
        self.text = text
        var formerTexts: [String] = []
        if former != nil, text.utf8.contains(UInt8(ascii: "%")) { formerTexts.append(Self.withCapitalEscapes(text)) }
        if let former, former != text, !formerTexts.contains(former) { formerTexts.append(former) }
        self.formerTexts = formerTexts
    }

    /// The text with the digits of its escapes in capitals.
    private static func withCapitalEscapes(_ text: String) -> String {
        var digits = 0
        return String(
            decoding: text.utf8.map { byte in
                digits = byte == UInt8(ascii: "%") ? 3 : max(0, digits - 1)
                return digits > 0 && (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte) ? byte - 0x20 : byte
            }, as: UTF8.self)
    }

    /// Whether both are one handle.
    public static func == (left: DeviceHandle, right: DeviceHandle) -> Bool {
        left.service == right.service && left.text == right.text
    }

    /// Hashes what makes it the handle that it is.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(service)
        hasher.combine(text)
    }
}

extension DeviceHandle {
    /// A handle that no device has, in the form that every backend takes: APNs.
    ///
    /// - Parameter random: hexadecimal digits, 64 of them.
    package static func nobody(_ random: String) -> DeviceHandle {
        DeviceHandle(service: .apns, canonical: random.uppercased())
    }
}
