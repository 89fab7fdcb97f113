internal import GatewayCore
internal import GatewayHTTP

extension ServerConfiguration {
    static func readListeners(_ root: ConfigurationReader) -> [ListenerSection] {
        let standard = ListenerSection(
            address: .tcp(host: "127.0.0.1", port: 8080), allowsPlaintextCredentials: false, tls: nil,
            speaksHTTP2: false, trust: TrustedProxies())
        guard let values = root.sequence("listen") else { return [standard] }
        if values.isEmpty { root.report("listen", "must name at least one listener") }
        var taken: [(address: ListenAddress, path: String)] = []
        return values.compactMap { value in
            let reader = root.reader(of: value.node, under: value.path)
            defer { reader.finish() }
            // `plaintext-credentials: allow` judges credentials that anybody on the way can read.
            let plaintext = reader.word("plaintext-credentials", of: PlaintextCredentials.self) ?? .refuse
            // TLS 1.2 and 1.3 by a certificate; in the clear unless given.
            let (isSecure, tls) = (reader.has("tls"), readListenerTLS(reader))
            // HTTP/2 beside HTTP/1.1: by ALPN behind TLS, which is the default there; in the clear by prior knowledge.
            let speaksHTTP2 = reader.bool("http2") ?? isSecure
            let trust = readTrust(reader)
            guard let address = readListenAddress(reader) else { return nil }
            if let other = taken.first(where: { $0.address.overlaps(address) }) {
                reader.report("address", "\(address) is taken by \(other.path) already")
            }
            taken.append((address, value.path))
            if isSecure, plaintext == .allow {
                reader.report("plaintext-credentials", "is for listeners without tls")
            }
            if !address.isLocal, !isSecure { warnOfPlaintext(reader, allowed: plaintext == .allow, trust) }
            // The other listeners' warning says it as well.
            if address.isLocal || isSecure, !trust.proxies.isEmpty, plaintext == .refuse {
                remindOfScheme(reader, trust, isSecure: isSecure)
            }
            return ListenerSection(
                address: address, allowsPlaintextCredentials: plaintext == .allow, tls: tls,
                speaksHTTP2: speaksHTTP2, trust: trust)
        }
    }

    /// Who is believed to speak for others, and by what: nobody unless given.
    private static func readTrust(_ reader: ConfigurationReader) -> TrustedProxies {
        // IP addresses, ranges of them, and the word unix.
        let values = reader.sequence("trusted-proxies") ?? []
        let proxies = values.compactMap { value -> AddressRange? in
            guard let text = reader.string(of: value.node, under: value.path) else { return nil }
            guard let range = AddressRange(text) else {
                reader.report(
                    at: value.node.location, under: value.path,
                    "\"\(text)\" is not a range of addresses; write 192.0.2.1, 10.0.0.0/8 without bits behind the /8, "
                        + "2001:db8::/32, or unix")
                return nil
            }
            return range
        }
        // What the proxies say it by; x-forwarded-for unless given.
        let source = reader.word("client-address", of: TrustedProxies.Source.self)
        if source != nil, values.isEmpty {
            reader.report("client-address", "is for listeners with trusted-proxies")
        }
        return TrustedProxies(proxies: proxies, source: source ?? .xForwardedFor)
    }

    static func readConnections(_ reader: ConfigurationReader?) -> ListenerConfiguration.Connections {
        defer { reader?.finish() }
        var connections = ListenerConfiguration.Connections()
        // In all, on all listeners; an idle one is closed for each new one where nine tenths are taken. Fewer where the system allows the process fewer files.
        connections.total = reader?.integer("total", in: 1...10_000) ?? connections.total
        // From one address, of IPv6 from one /64, and four times as many from one /56. Unix sockets and trusted proxies are exempt.
        connections.perPeer = reader?.integer("per-address", in: 1...10_000) ?? connections.perPeer
        // Bytes of requests that are not complete, in all: 16 MiB at least, of which a connection may hold 64 KiB.
        if let bytes = reader?.byteCount("request-memory") {
            if bytes >= 16 << 20 {
                connections.requestMemory = bytes
            } else {
                reader?.report("request-memory", "is 16MiB at least: with less, usual requests would be refused")
            }
        }
        return connections
    }

    /// A proxy that is listed and does not say https makes every login fail, which is hard to see from outside.
    private static func remindOfScheme(_ reader: ConfigurationReader, _ trust: TrustedProxies, isSecure: Bool) {
        let word: String
        switch trust.source {
        case .xForwardedFor: word = "set \"X-Forwarded-Proto: https\" for clients that came by TLS"
        case .forwarded: word = "say \"proto=https\" in \"Forwarded\" for clients that came by TLS"
        // With TLS here as well, what the client has encrypted ends here.
        case .proxyProtocol where isSecure: return
        case .proxyProtocol: word = "use version 2 with its SSL field, as HAProxy's send-proxy-v2-ssl does"
        }
        reader.report(
            "trusted-proxies", "credentials count only where the proxy says https: have it \(word)", severity: .warning)
    }

    private enum PlaintextCredentials: String, CaseIterable {
        case refuse
        case allow
    }

    private static func warnOfPlaintext(_ reader: ConfigurationReader, allowed: Bool, _ trust: TrustedProxies) {
        let message =
            allowed
            ? "credentials that arrive here can be read by everybody on the way"
            : trust.proxies.isEmpty
                ? "every call with a credential is refused here, since the listener is plaintext and not local"
                : "calls with a credential are refused here, unless a trusted proxy says that they came by https"
        reader.report("address", message, severity: .warning)
    }
}
