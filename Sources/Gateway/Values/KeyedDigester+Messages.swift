internal import GatewayCore
internal import GatewaySupport

extension KeyedDigester {
    /// Returns the digest by which the journal identifies a message. Equal texts of different senders have different digests, so the
    /// journal does not show that two users wrote the same.
    ///
    /// Returns nil if libcrypto fails.
    func digest(ofMessage text: String, from sender: UserName) -> KeyedDigest? { digest(ofTexts: sender.text, text) }
}
