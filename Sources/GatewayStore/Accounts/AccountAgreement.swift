package import GatewayCore
internal import GatewaySupport

/// The agreement of gateways that share a store on their account lists.
///
/// Each gateway reads its own files. While these differ, one gateway would revoke the users of another, so account changes
/// take effect when the lists of all live gateways are equal, or when an operator says so.
package protocol AccountAgreement: Sendable {
    /// Publishes the lists of this gateway, and returns whether the differences to the stored accounts may be applied.
    /// After `apply`, no other gateway applies any until `complete()`.
    func propose(_ lists: AccountListsDigest) async throws(LedgerUnavailable) -> AccountDecision

    /// Ends the right that `propose` gave with `apply`.
    func complete() async throws(LedgerUnavailable)

    /// Returns whether the published lists of this gateway may be applied.
    func isReached() async throws(LedgerUnavailable) -> Bool

    /// Makes the published lists of this gateway those that apply, by the word of an operator. The present lists of the
    /// other gateways do not apply any more, even if these are the only live ones.
    ///
    /// - Returns: Nil if this gateway has not published lists yet.
    func applyOwn() async throws(LedgerUnavailable) -> AccountWord?
}

/// The word of an operator about the lists of a gateway.
package struct AccountWord: Sendable, Hashable {
    /// Whether the lists would not apply without it.
    package let isNeeded: Bool
    /// The hosts of the gateways with other lists.
    package let hosts: [String]

    /// Creates a word.
    package init(isNeeded: Bool, hosts: [String]) {
        self.isNeeded = isNeeded
        self.hosts = hosts
    }
}

/// The treatment of a gateway's account lists.
package enum AccountDecision: Sendable, Hashable {
    /// The lists apply, and this gateway writes the changes.
    case apply
    /// The lists apply, but another gateway writes changes at the moment.
    case wait
    /// Live gateways on these hosts have other lists; nothing changes.
    case differ(hosts: [String])
    /// An operator has applied the lists of another gateway instead of these; nothing changes.
    case overruled
}

/// A digest of all account lists of a gateway: the authenticators, their users, and the fingerprints of the passwords. An
/// authenticator without a list has an empty one.
package struct AccountListsDigest: Sendable, Hashable {
    let bytes: [UInt8]

    /// Computes the digest; nil if libcrypto fails.
    package init?(of lists: [PluginName: [UserName: AccountFingerprint]]) {
        var content: [UInt8] = []
        func append(_ part: some Collection<UInt8>) {
            content += "\(part.count):".utf8
            content += part
        }
        for (name, accounts) in lists.sorted(by: { $0.key.text < $1.key.text }) {
            append(name.text.utf8)
            append("\(accounts.count)".utf8)
            for (user, fingerprint) in accounts.sorted(by: { $0.key < $1.key }) {
                append(user.text.utf8)
                append(fingerprint.bytes)
            }
        }
        guard let digest = SHA256.digest(content) else { return nil }
        bytes = digest
    }
}
