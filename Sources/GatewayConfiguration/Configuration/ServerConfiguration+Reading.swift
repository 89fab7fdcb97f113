internal import Gateway
internal import GatewayCore
internal import GatewayStore
public import GatewaySupport
internal import Logging
internal import NIOCore

extension ServerConfiguration {
    /// Reads the root of `gateway.yaml`. All problems go to the reader. Returns nil if `backend` or `policy` is missing
    /// or invalid.
    public static func read(_ root: ConfigurationReader, catalog: PluginCatalog) -> ServerConfiguration? {
        readVersion(root)
        let names = readIdentity(root.mapping("identity"))
        // The listeners for clients; default: 127.0.0.1:8080 alone.
        let listeners = readListeners(root)
        // The limits of client connections.
        let connections = readConnections(root.mapping("connections"))
        // The address of health and metrics; default: 127.0.0.1:9090.
        let admin = readAdmin(root.mapping("admin"), beside: listeners)
        // The pages that show who notified whom; default: none.
        let console = readConsole(root.mapping("console"), names, beside: listeners, admin)
        // The socket for operator commands.
        let control = ControlSocketPath.read(root, toListen: true)
        let backends = readBackends(root)
        let authenticators = readAuthenticators(root, names, catalog)
        warnOfUnusedCertificates(root, listeners, authenticators)
        checkBrowserLogins(root, console, authenticators)
        let authentication = readAuthentication(root.mapping("authentication"))
        // The named groups of recipients of one send.
        let audiences = root.mapping("audiences")
        let members = readAudiences(audiences, names)
        // The named areas of GeoJSON files.
        let fences = root.mapping("fences")
        let fenceFiles = readFences(fences)
        let policy = readPolicy(root, names, audiences: members, fences: fenceFiles)
        warnOfUnused(fences, fenceFiles.files, policy)
        // The sends whose push contains no text.
        let sends = readSends(root.mapping("sends"), names, backends)
        let limits = readLimits(root, names)
        warnOfUnreachable(audiences, members, policy, limits)
        // The number of event loop threads. Each has its own connections to the backend. Default: the number of
        // processors.
        let eventLoops = root.integer("event-loops", in: 1...256) ?? System.coreCount
        let (callsInFlight, callsPerCaller) = readOverload(root.mapping("overload"))
        let journal = readJournal(root.mapping("journal"))
        let ledger = readLedger(root.mapping("ledger"))
        // The database server of registrations and sessions; default: none, but the file of the ledger.
        let store = readStore(root.mapping("store"))
        // The export of spans to an OpenTelemetry collector.
        let tracing = readTracing(root.mapping("tracing"))
        let log = readLog(root.mapping("log"))
        let drain = readDrain(root.mapping("drain"))
        warnOfCallsBeyondDrain(root, drain, backends)
        root.finish()
        guard !backends.isEmpty, let policy else { return nil }
        return ServerConfiguration(
            listeners: listeners, connections: connections, admin: admin, console: console, control: control,
            backends: backends,
            authenticators: authenticators,
            authentication: authentication, names: names,
            policy: policy, fenceFiles: fenceFiles.files, sends: sends, limits: limits, eventLoops: eventLoops,
            callsInFlight: callsInFlight,
            callsPerCaller: callsPerCaller, journal: journal,
            ledger: ledger, store: store, tracing: tracing, log: log,
            drain: drain)
    }

    /// Reads `address` of a listener.
    static func readListenAddress(_ reader: ConfigurationReader) -> ListenAddress? {
        guard let text = reader.required("address") else { return nil }
        guard let address = ListenAddress(text) else {
            reader.report(
                "address",
                "\"\(text)\" is not an address; use an IP address and a port such as 127.0.0.1:8080 or "
                    + "[::1]:8080, or unix: and an absolute path")
            return nil
        }
        return address
    }

    private static func readAdmin(
        _ reader: ConfigurationReader?, beside listeners: [ListenerSection]
    ) -> ListenAddress {
        let standard = ListenAddress.tcp(host: "127.0.0.1", port: 9090)
        guard let reader else { return standard }
        defer { reader.finish() }
        guard let address = readListenAddress(reader) else { return standard }
        if listeners.contains(where: { $0.address.overlaps(address) }) {
            reader.report("address", "\(address) is already used by a listener of `listen`")
        }
        if !address.isLocal {
            reader.report(
                "address",
                "other machines can reach the admin listener, which has no authentication; use a loopback address or a "
                    + "network for operators only", severity: .warning)
        }
        return address
    }

    /// Reads `identity`: the rules that make user names canonical.
    static func readIdentity(_ reader: ConfigurationReader?) -> NameRules {
        guard let reader else { return NameRules() }
        defer { reader.finish() }
        var prefixes: [String] = []
        var suffixes: [String] = []
        for entry in reader.strings("strip") ?? [] {
            // `EXAMPLE\` is a prefix of a name, `@example.com` a suffix.
            if entry.count > 1, entry.hasSuffix("\\") {
                prefixes.append(entry)
            } else if entry.count > 1, entry.hasPrefix("@") {
                suffixes.append(entry)
            } else {
                reader.report("strip", "\"\(entry)\" is not a suffix @DOMAIN or a prefix DOMAIN\\")
            }
        }
        return NameRules(
            prefixes: prefixes, suffixes: suffixes,
            escaping: reader.word("escape", of: NameRules.Escaping.self) ?? .refuse,
            keepsLoginCase: reader.word("case", of: LoginCase.self) == .keep)
    }

    private enum LoginCase: String, CaseIterable {
        case lower
        case keep
    }

    private static func readLedger(_ reader: ConfigurationReader?) -> LedgerSection {
        defer { reader?.finish() }
        let limits = StoredLedger.Limits()
        return LedgerSection(
            // The database of registrations and sessions.
            file: reader?.path("file") ?? LedgerSection.standardFile,
            // The maximum number of devices of a user. Beyond it, the device that was not seen for longest is deleted.
            registrationsPerUser: reader?.integer("registrations-per-user", in: 1...1000) ?? limits.registrations,
            // The maximum number of owner changes of a device within 24 hours.
            ownershipTransfersPerDay: reader?.integer("hand-overs-per-day", in: 0...1000) ?? limits.ownershipTransfers,
            // Whether all registrations from before the gateway are known to be valid; default: false, until an import
            // has shown it.
            isMigrated: reader?.bool("migrated") ?? false,
            // The running time of the gateway for which an imported registration is kept until its owner's device
            // registers again; default: 30d.
            confirmation: reader?.duration("confirm-imported-within", in: .seconds(3600)...(.seconds(3650 * 86_400)))
                ?? limits.confirmation)
    }

    private static func readOverload(
        _ reader: ConfigurationReader?
    ) -> (all: Int, perCaller: CallerConcurrencyLimit.Bounds) {
        defer { reader?.finish() }
        // The maximum number of calls in flight, including those that wait; further calls are queued. Default: 2048.
        let all = reader?.integer("calls", in: 1...1_000_000) ?? 2048
        var perCaller = CallerConcurrencyLimit.Bounds()
        // The maximum number of calls of one user at the backend; further calls are rejected with 429. Default: 64.
        perCaller.perUser = reader?.integer("calls-per-user", in: 1...1_000_000) ?? perCaller.perUser
        // The maximum number of calls of one address, for IPv6 one /64. Unix sockets and trusted proxies are exempt.
        // Default: 512.
        perCaller.perAddress = reader?.integer("calls-per-address", in: 1...1_000_000) ?? perCaller.perAddress
        return (all, perCaller)
    }

    private static func readLog(_ reader: ConfigurationReader?) -> LogSection {
        defer { reader?.finish() }
        return LogSection(
            // The minimum level: trace, debug, info, notice, warning, error, critical.
            level: reader?.word("level", of: LogLevel.self)?.level ?? .info,
            format: reader?.word("format", of: LogSection.Format.self) ?? .json)
    }
}

extension ServerConfiguration {
    /// Reads `version`: the version of the configuration language. Only 1 exists.
    static func readVersion(_ root: ConfigurationReader) {
        guard let version = root.integer("version", in: 1...Int.max), version > newestVersion else { return }
        root.report(
            "version", "is \(version), but this program reads versions up to \(newestVersion)")
    }

    /// The newest version of `gateway.yaml` that this program reads.
    static let newestVersion = 1

    /// Reads `drain`: how the gateway stops.
    static func readDrain(_ reader: ConfigurationReader?) -> DrainSection {
        defer { reader?.finish() }
        let standard = DrainSection()
        return DrainSection(
            // The time for which the gateway accepts calls after it reports itself as not ready, so that load balancers
            // notice; default: 5s.
            grace: reader?.duration("grace", in: .zero ... .seconds(60)) ?? standard.grace,
            // The time that calls in flight have after that, before they are aborted; default: 70s.
            limit: reader?.duration("limit", in: .zero ... .seconds(700)) ?? standard.limit)
    }

    /// Warns of a backend time limit that exceeds the drain limit.
    static func warnOfCallsBeyondDrain(_ root: ConfigurationReader, _ drain: DrainSection, _ backends: [BackendSection])
    {
        guard backends.contains(where: { $0.timeout > drain.limit }) else { return }
        root.report(
            "drain",
            "\"limit\" is shorter than \"backend.timeout\": a stop may abort calls that the backend would complete",
            severity: .warning)
    }
}
