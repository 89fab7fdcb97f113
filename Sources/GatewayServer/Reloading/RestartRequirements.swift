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
        need("control", old.control != new.control)
        let isEmbedded = (old.backend.address == .embedded, new.backend.address == .embedded)
        need("backend.url", isEmbedded.0 != isEmbedded.1)
        if isEmbedded == (true, true) {
            need("backend.port", old.backend.embeddedPort != new.backend.embeddedPort)
            need("backend.hub", (old.backend.hub == nil) != (new.backend.hub == nil))
            need("backend.profile", old.backend.profileName != new.backend.profileName)
        }
        need("event-loops", old.eventLoops != new.eventLoops)
        need("overload.calls", old.callsInFlight != new.callsInFlight)
        need("identity", old.names != new.names)
        need("journal.directory", old.journal.directory != new.journal.directory)
        need("journal.signing-key", old.journal.signingKey != new.journal.signingKey)
        need("journal.checkpoint-copy", old.journal.checkpointCopy != new.journal.checkpointCopy)
        need("ledger.file", old.ledger.file != new.ledger.file)
        need("log.format", old.log.format != new.log.format)
        return paths
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

extension ServerConfiguration.ListenerSection {
    /// The settings that are fixed while the socket is open. The certificate may change, but TLS cannot be turned on or
    /// off.
    fileprivate var socket: Self {
        var section = self
        if section.tls != nil { section.tls = TLSFiles(certificate: "", key: "") }
        return section
    }
}
