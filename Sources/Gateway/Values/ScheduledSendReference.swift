internal import GatewayCore
internal import GatewaySupport

/// The reference by which a sender cancels a scheduled send: the backend's id of the notification and a keyed digest
/// over the id and the sender, joined by a dot.
///
/// The gateway stores no scheduled sends. The digest proves that it gave the reference to this sender.
struct ScheduledSendReference {
    /// The path of a scheduled send, without the reference.
    static let path = "/auth/scheduled/"

    /// The backend's id of the notification.
    let notification: String
    /// The text of the reference.
    let text: String

    /// Creates the reference of a notification. Returns nil if libcrypto fails.
    init?(_ notification: String, of sender: UserName, _ digester: KeyedDigester) {
        guard let digest = Self.digest(notification, sender, digester) else { return nil }
        self.notification = notification
        text = "\(notification).\(String(hexEncoding: digest.bytes))"
    }

    /// Verifies a reference. Returns nil if the gateway did not give it to this sender.
    init?(_ text: String, givenTo sender: UserName, _ digester: KeyedDigester) {
        guard text.utf8.count <= 300, let dot = text.utf8.lastIndex(of: UInt8(ascii: ".")),
            let expected = ScheduledSendReference(String(text[..<dot]), of: sender, digester),
            ConstantTime.equal(Array(text.utf8), Array(expected.text.utf8))
        else { return nil }
        self = expected
    }

    private static func digest(
        _ notification: String, _ sender: UserName, _ digester: KeyedDigester
    ) -> KeyedDigest? {
        digester.digest(Array("scheduled send".utf8), Array(sender.text.utf8), Array(notification.utf8))
    }
}
