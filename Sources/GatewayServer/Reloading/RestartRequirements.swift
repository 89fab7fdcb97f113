internal import GatewayConfiguration
internal import GatewayCore
internal import GatewaySupport
internal import Logging

/// The changed settings that need a restart: open sockets, locked stores, and the rules for the user names in the
/// stores.
struct RestartRequirements {
    private let old: ServerConfiguration
    private let new: ServerConfiguration

    init(from old: ServerConfiguration, to new: ServerConfiguration) {
        self.old = old
        self.new = new
    }

    /// The paths of the changed settings, in the order of the configuration's sections.
    var paths: [String] {
        var paths: [String] = []
        func need(_ path: String, _ differs: Bool) { if differs { paths.append(path) } }
        need("listen", old.listeners.map(\.socket) != new.listeners.map(\.socket))
        need("connections", old.connections != new.connections)
        need("admin.address", old.admin != new.admin)
        need("console", old.console?.socket != new.console?.socket)
        need("control", old.control != new.control)
        paths += backendPaths
        need("event-loops", old.eventLoops != new.eventLoops)
        need("overload.calls", old.callsInFlight != new.callsInFlight)
        need("identity", old.names != new.names)
        need("journal.directory", old.journal.directory != new.journal.directory)
        need("journal.signing-key", old.journal.signingKey != new.journal.signingKey)
        need("journal.checkpoint-copy", old.journal.checkpointCopy != new.journal.checkpointCopy)
        need("ledger.file", old.ledger.file != new.ledger.file)
        need("store", old.store != new.store)
        // Secure sends need a store, which is opened at the start.
        need("sends", old.sends.secure == nil && new.sends.secure != nil)
        need("log.format", old.log.format != new.log.format)
        return paths
    }

    /// The changes of embedded backends, which run for as long as the gateway.
    private var backendPaths: [String] {
        let (old, new) = (old.backends, new.backends)
        if old.count == 1, new.count == 1 {
            let isEmbedded = (old[0].address == .embedded, new[0].address == .embedded)
            if isEmbedded.0 != isEmbedded.1 { return ["backend.url"] }
            if !isEmbedded.0 { return [] }
            return [
                old[0].embeddedPort != new[0].embeddedPort ? "backend.port" : nil,
                (old[0].hub == nil) != (new[0].hub == nil) ? "backend.hub" : nil,
                old[0].profileName != new[0].profileName ? "backend.profile" : nil,
            ].compactMap(\.self)
        }
        func embedded(_ sections: [ServerConfiguration.BackendSection]) -> [String] {
            sections.map { section in
                guard section.address == .embedded else { return "" }
                return "\(section.name) \(section.embeddedPort) \(section.profileName)"
            }
        }
        // A backend elsewhere may be added behind the embedded ones, but their places in the list are fixed.
        let (before, after) = (embedded(old), embedded(new))
        let differs = (0..<max(before.count, after.count)).contains { index in
            (index < before.count ? before[index] : "") != (index < after.count ? after[index] : "")
        }
        return differs ? ["backend"] : []
    }

    /// Returns a problem for each of them.
    func problems(in source: ConfigurationSource) -> [ConfigurationProblem] {
        paths.map { path in
            ConfigurationProblem(
                at: source.location(of: path), path: path,
                "needs a restart; it cannot change while the gateway runs")
        }
    }
}

extension ServerConfiguration.ConsoleSection {
    /// The settings that are fixed while the socket is open. Users and the files of the certificate may change.
    fileprivate var socket: Self {
        var section = self
        if section.tls != nil { section.tls = TLSFiles(certificate: "", key: "") }
        (section.viewers, section.operators, section.isSelfService) = ([], [], false)
        return section
    }
}

extension ServerConfiguration.ListenerSection {
    /// The settings that are fixed while the socket is open. The files may change, but TLS and client certificates cannot
    /// be turned on or off.
    fileprivate var socket: Self {
        var section = self
        if section.tls != nil { section.tls = TLSFiles(certificate: "", key: "") }
        section.clients?.files = ClientAuthorityFiles(authorities: "")
        if section.forwardedCertificates != nil {
            section.forwardedCertificates = ClientAuthorityFiles(authorities: "")
        }
        return section
    }
}
