/// The canonical identifier that a push service gave a device, together with the service. Ownership is bound to the
/// pair.
///
/// Created only by `HandleRules` from client input.
public struct DeviceHandle: Sendable, Hashable {
    /// The push service that issued the handle.
    public let service: PushService
    /// The canonical handle: APNs in upper-case hexadecimal, FCM unchanged, WNS and MPNS as a URI normalized by
    /// `ChannelURI`.
    public let text: String
    /// The spellings under which a ledger of an earlier version may hold the handle; almost always empty. They take no
    /// part in equality.
    package let formerTexts: [String]

    /// The reason why a text is not a usable handle.
    public enum Fault: Error, Sendable, Hashable {
        /// The text does not match the grammar of the service.
        case malformed(PushService)
        /// The text is a printed token object instead of the encoded token: `{length=32,bytes=0x…}`, `(null)`.
        case descriptionOfAToken
        /// The URI's host does not belong to the push service. The hub would post there with the app's own credentials.
        case foreignHost

        /// A sentence for the developer of the client.
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

    /// Creates a handle from its canonical form.
    ///
    /// - Parameter former: The form that an earlier version would have stored for the same client input.
    init(service: PushService, canonical text: String, former: String? = nil) {
        self.service = service
        self.text = text
        var formerTexts: [String] = []
        if former != nil, text.utf8.contains(UInt8(ascii: "%")) { formerTexts.append(Self.withCapitalEscapes(text)) }
        if let former, former != text, !formerTexts.contains(former) { formerTexts.append(former) }
        self.formerTexts = formerTexts
    }

    /// Returns the text with upper-case hexadecimal digits in its percent escapes.
    private static func withCapitalEscapes(_ text: String) -> String {
        var digits = 0
        return String(
            decoding: text.utf8.map { byte in
                digits = byte == UInt8(ascii: "%") ? 3 : max(0, digits - 1)
                return digits > 0 && (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte) ? byte - 0x20 : byte
            }, as: UTF8.self)
    }

    /// Returns whether both are the same handle of the same service.
    public static func == (left: DeviceHandle, right: DeviceHandle) -> Bool {
        left.service == right.service && left.text == right.text
    }

    /// Hashes the service and the canonical text.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(service)
        hasher.combine(text)
    }
}

extension DeviceHandle {
    /// Returns a handle that no device has, in the form that every backend accepts: APNs.
    ///
    /// - Parameter random: 64 random hexadecimal digits.
    package static func nobody(_ random: String) -> DeviceHandle {
        DeviceHandle(service: .apns, canonical: random.uppercased())
    }
}
