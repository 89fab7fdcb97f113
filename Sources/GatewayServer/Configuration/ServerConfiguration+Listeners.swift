internal import GatewayCore

extension ServerConfiguration {
    static func readListeners(_ root: ConfigurationReader) -> [ListenerSection] {
        let standard = ListenerSection(
            address: .tcp(host: "127.0.0.1", port: 8080), allowsPlaintextCredentials: false, tls: nil)
        guard let values = root.sequence("listen") else { return [standard] }
        if values.isEmpty { root.report("listen", "must name at least one listener") }
        return values.compactMap { value in
            let reader = root.reader(of: value.node, under: value.path)
            defer { reader.finish() }
            // `plaintext-credentials: allow` judges credentials that anybody on the way can read.
            let plaintext = reader.word("plaintext-credentials", of: PlaintextCredentials.self) ?? .refuse
            // TLS 1.2 and 1.3 by a certificate; in the clear unless given.
            let (isSecure, tls) = (reader.has("tls"), readListenerTLS(reader))
            guard let address = readListenAddress(reader) else { return nil }
            if isSecure, plaintext == .allow {
                reader.report("plaintext-credentials", "is for listeners without tls")
            }
            if !address.isLocal, !isSecure { warnOfPlaintext(reader, allowed: plaintext == .allow) }
            return ListenerSection(address: address, allowsPlaintextCredentials: plaintext == .allow, tls: tls)
        }
    }

    private enum PlaintextCredentials: String, CaseIterable {
        case refuse
        case allow
    }

    private static func warnOfPlaintext(_ reader: ConfigurationReader, allowed: Bool) {
        let message =
            allowed
            ? "credentials that arrive here can be read by everybody on the way"
            : "every call with a credential is refused here, since the listener is plaintext and not local"
        reader.report("address", message, severity: .warning)
    }
}
