internal import GatewayCore
internal import GatewaySupport

/// The reference by which a sender cancels a scheduled send: the backend's id of the notification, of a secure send also
/// the id of its text, and a keyed digest over them and the sender, joined by dots. The ids contain no dot.
///
/// The gateway stores no scheduled sends. The digest proves that it gave the reference to this sender.
struct ScheduledSendReference {
    /// The path of a scheduled send, without the reference.
    static let path = "/auth/scheduled/"

    /// The backend's id of the notification.
    let notification: String
    /// The id of the text of a secure send.
    let secureID: SecureID?
    /// The text of the reference.
    let text: String

    /// Creates the reference of a notification. Returns nil if libcrypto fails.
    init?(_ notification: String, _ secureID: SecureID?, of sender: UserName, _ digester: KeyedDigester) {
        self.init(ids: secureID.map { "\(notification).\($0.text)" } ?? notification, of: sender, digester)
    }

    private init?(ids: String, of sender: UserName, _ digester: KeyedDigester) {
        let parts = ids.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count <= 2, let digest = Self.digest(ids, sender, digester) else { return nil }
        notification = String(parts[0])
        secureID = parts.count == 2 ? SecureID(String(parts[1])) : nil
        text = "\(ids).\(String(hexEncoding: digest.bytes))"
    }

    /// Verifies a reference. Returns nil if the gateway did not give it to this sender.
    init?(_ text: String, givenTo sender: UserName, _ digester: KeyedDigester) {
        guard text.utf8.count <= 300, let dot = text.utf8.lastIndex(of: UInt8(ascii: ".")),
            let expected = ScheduledSendReference(ids: String(text[..<dot]), of: sender, digester),
            ConstantTime.equal(Array(text.utf8), Array(expected.text.utf8))
        else { return nil }
        self = expected
    }

    private static func digest(
        _ ids: String, _ sender: UserName, _ digester: KeyedDigester
    ) -> KeyedDigest? {
        digester.digest(Array("scheduled send".utf8), Array(sender.text.utf8), Array(ids.utf8))
    }
}
