import GatewayCore

/// The mapping from a verified certificate to a user. It never suspends and keeps no state.
struct ClientCertificateAuthenticator: Authenticator {
    let settings: ClientCertificatePlugin.Settings
    let names: NameRules

    func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome { outcome(credential) }

    func immediateOutcome(on credential: Credential, from peer: Peer) -> AuthenticationOutcome? { outcome(credential) }

    private func outcome(_ credential: Credential) -> AuthenticationOutcome {
        guard case .certificate(let certificate) = credential else { return .notMine }
        let values = values(of: certificate)
        // With several names, the certificate would not say which of the users it stands for.
        guard values.count == 1, let name = values.first.flatMap(stripped), Self.isPlain(name),
            let user = names.unambiguousCanonical(LoginName(name))
        else { return .rejected(.unmapped) }
        return .accepted(
            Identity(user: user, groups: groups(of: certificate), authenticator: ClientCertificatePlugin.name))
    }

    private func values(of certificate: VerifiedCertificate) -> [String] {
        switch settings.user {
        case .email: certificate.emailAddresses
        case .uri: certificate.uris
        case .dns: certificate.dnsNames
        case .commonName: certificate.commonNames
        }
    }

    private func groups(of certificate: VerifiedCertificate) -> Set<GroupName> {
        switch settings.groups {
        case .none: []
        case .organizationalUnits: Set(certificate.organizationalUnits.compactMap(GroupName.init))
        }
    }

    /// Returns the value without the configured prefix and suffix; nil if it does not have both. Compared by bytes: two
    /// texts of Unicode that only look alike are different.
    private func stripped(_ value: String) -> String? {
        let bytes = value.utf8
        let (prefix, suffix) = (settings.prefix.utf8, settings.suffix.utf8)
        guard bytes.count >= prefix.count + suffix.count, bytes.starts(with: prefix),
            bytes.reversed().starts(with: suffix.reversed())
        else { return nil }
        return String(bytes.dropFirst(prefix.count).dropLast(suffix.count))
    }

    /// Returns whether the text can be one user's name. A wildcard stands for many names, and escaping would make a name
    /// of it. The listener reports a value that is not text as an empty string.
    private static func isPlain(_ name: String) -> Bool { !name.isEmpty && !name.utf8.contains(UInt8(ascii: "*")) }
}
