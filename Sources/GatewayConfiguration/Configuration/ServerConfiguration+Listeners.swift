internal import GatewayCore
internal import GatewayHTTP
internal import GatewaySupport

extension ServerConfiguration {
    /// Reads `listen`: the addresses, TLS and trusted proxies of the listeners. Default: 127.0.0.1:8080 alone.
    static func readListeners(_ root: ConfigurationReader) -> [ListenerSection] {
        let standard = ListenerSection(
            address: .tcp(host: "127.0.0.1", port: 8080), allowsPlaintextCredentials: false, tls: nil,
            supportsHTTP2: false, trust: TrustedProxies())
        guard let values = root.sequence("listen") else { return [standard] }
        if values.isEmpty { root.report("listen", "must name at least one listener") }
        var taken: [(address: ListenAddress, path: String)] = []
        return values.compactMap { value in
            let reader = root.reader(of: value.node, under: value.path)
            defer { reader.finish() }
            // With `plaintext-credentials: allow`, credentials are verified that anybody on the network path can read.
            let plaintext = reader.word("plaintext-credentials", of: PlaintextCredentials.self) ?? .refuse
            // The certificate for TLS 1.2 and 1.3; default: plaintext.
            let isSecure = reader.has("tls")
            let (tls, clients) = readListenerTLS(reader)
            // HTTP/2 in addition to HTTP/1.1. With TLS it is negotiated by ALPN and on by default; without TLS it needs
            // prior knowledge.
            let supportsHTTP2 = reader.bool("http2") ?? isSecure
            let trust = readTrustedProxies(reader)
            let forwardedCertificates = readForwardedCertificates(reader, trust)
            guard let address = readListenAddress(reader) else { return nil }
            if let other = taken.first(where: { $0.address.overlaps(address) }) {
                reader.report("address", "\(address) is already used by \(other.path)")
            }
            taken.append((address, value.path))
            if isSecure, plaintext == .allow {
                reader.report("plaintext-credentials", "applies only to listeners without tls")
            }
            if !address.isLocal, !isSecure { warnOfPlaintext(reader, allowed: plaintext == .allow, trust) }
            // The warning about plaintext covers this as well.
            if address.isLocal || isSecure, !trust.proxies.isEmpty, plaintext == .refuse {
                warnOfMissingScheme(reader, trust, isSecure: isSecure)
            }
            return ListenerSection(
                address: address, allowsPlaintextCredentials: plaintext == .allow, tls: tls, clients: clients,
                supportsHTTP2: supportsHTTP2, trust: trust, forwardedCertificates: forwardedCertificates)
        }
    }

    /// Reads the trusted proxies of a listener, and the header field or protocol by which they state the client's
    /// address; default: none.
    private static func readTrustedProxies(_ reader: ConfigurationReader) -> TrustedProxies {
        // IP addresses, address ranges, and the word `unix`.
        let values = reader.sequence("trusted-proxies") ?? []
        let proxies = values.compactMap { value -> AddressRange? in
            guard let text = reader.string(of: value.node, under: value.path) else { return nil }
            guard let range = AddressRange(text) else {
                reader.report(
                    at: value.node.location, under: value.path,
                    "\"\(text)\" is not an address range; use 192.0.2.1, 10.0.0.0/8 with zero host bits, "
                        + "2001:db8::/32, or unix")
                return nil
            }
            return range
        }
        // The source of the client's address; default: x-forwarded-for.
        let source = reader.word("client-address", of: TrustedProxies.Source.self)
        if source != nil, values.isEmpty {
            reader.report("client-address", "applies only to listeners with trusted-proxies")
        }
        return TrustedProxies(proxies: proxies, source: source ?? .xForwardedFor)
    }

    /// Reads `connections`: the limits of client connections.
    static func readConnections(_ reader: ConfigurationReader?) -> ListenerConfiguration.Connections {
        defer { reader?.finish() }
        var connections = ListenerConfiguration.Connections()
        // The total of all listeners; fewer if the limit of file descriptors is lower. Above nine tenths of it, each
        // new connection closes an idle one.
        connections.total = reader?.integer("total", in: 1...10_000) ?? connections.total
        // The maximum from one address, for IPv6 from one /64, and four times as many from one /56. Unix sockets and
        // trusted proxies are exempt.
        connections.perPeer = reader?.integer("per-address", in: 1...10_000) ?? connections.perPeer
        // The total bytes of incomplete requests, at least 16 MiB. One connection may hold 64 KiB.
        if let bytes = reader?.byteCount("request-memory") {
            if bytes >= 16 << 20 {
                connections.requestMemory = bytes
            } else {
                reader?.report("request-memory", "must be at least 16MiB; with less, ordinary requests are rejected")
            }
        }
        return connections
    }

    /// Warns that every login fails if a trusted proxy does not state https. The cause is hard to see from outside.
    private static func warnOfMissingScheme(_ reader: ConfigurationReader, _ trust: TrustedProxies, isSecure: Bool) {
        let word: String
        switch trust.source {
        case .xForwardedFor: word = "set \"X-Forwarded-Proto: https\" for clients that use TLS"
        case .forwarded: word = "set \"proto=https\" in \"Forwarded\" for clients that use TLS"
        // The listener's own TLS ends the client's TLS here.
        case .proxyProtocol where isSecure: return
        case .proxyProtocol: word = "send version 2 with the SSL field (HAProxy: send-proxy-v2-ssl)"
        }
        reader.report(
            "trusted-proxies", "credentials are accepted only if the proxy reports https; let it \(word)",
            severity: .warning)
    }

    /// Warns of client certificates that no authenticator accepts, and of an authenticator that receives none.
    static func warnOfUnusedCertificates(
        _ root: ConfigurationReader, _ listeners: [ListenerSection], _ authenticators: [ConfiguredPlugin]
    ) {
        let isAccepted = authenticators.contains { $0.credentialKinds.contains(.certificate) }
        if isAccepted, listeners.allSatisfy({ $0.clients == nil && $0.forwardedCertificates == nil }) {
            root.report(
                "authenticators",
                "client certificates are accepted, but no listener has tls.clients or forwarded-certificates",
                severity: .warning)
        }
        // A required certificate protects the listener even if it identifies nobody.
        if !isAccepted,
            listeners.contains(where: { $0.clients?.isRequired == false || $0.forwardedCertificates != nil })
        {
            root.report(
                "listen", "client certificates are verified, but no authenticator accepts them",
                severity: .warning)
        }
    }

    private enum PlaintextCredentials: String, CaseIterable {
        case refuse
        case allow
    }

    private static func warnOfPlaintext(_ reader: ConfigurationReader, allowed: Bool, _ trust: TrustedProxies) {
        let message =
            allowed
            ? "credentials are sent here unencrypted and can be read on the network"
            : trust.proxies.isEmpty
                ? "every call with a credential is rejected here, because the listener is plaintext and not local"
                : "calls with a credential are rejected here, unless a trusted proxy reports https"
        reader.report("address", message, severity: .warning)
    }
}
