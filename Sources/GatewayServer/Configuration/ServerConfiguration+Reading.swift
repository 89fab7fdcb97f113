internal import Gateway
public import GatewayCore
internal import GatewayStore
internal import Logging
internal import NIOCore

extension ServerConfiguration {
    /// Reads the root of `gateway.yaml`. Every problem goes to the reader; nil where one leaves no usable configuration.
    public static func read(_ root: ConfigurationReader, catalog: PluginCatalog) -> ServerConfiguration? {
        readVersion(root)
        let names = readIdentity(root.mapping("identity"))
        // Where clients are listened to: a list, by default 127.0.0.1:8080 alone.
        let listeners = readListeners(root)
        // How many connections of clients there may be.
        let connections = readConnections(root.mapping("connections"))
        // Where health and metrics are asked; by default 127.0.0.1:9090.
        let admin = readAdmin(root.mapping("admin"), beside: listeners)
        // Where operators' commands reach the running gateway.
        let control = ControlSocketPath.read(root, toListen: true)
        let backend = readBackend(root)
        let authenticators = readAuthenticators(root, catalog)
        let authentication = readAuthentication(root.mapping("authentication"))
        // Who is notified by one send.
        let audiences = root.mapping("audiences")
        let members = readAudiences(audiences, names)
        let policy = readPolicy(root, names, audiences: members)
        let limits = readLimits(root, names)
        warnOfUnreachable(audiences, members, policy, limits)
        // How many threads serve calls, each with connections to the backend of its own. As many as there are processors unless
        // given.
        let eventLoops = root.integer("event-loops", in: 1...256) ?? System.coreCount
        let (callsInFlight, callsOfOne) = readOverload(root.mapping("overload"))
        let journal = readJournal(root.mapping("journal"))
        let ledger = readLedger(root.mapping("ledger"))
        let log = readLog(root.mapping("log"))
        let drain = readDrain(root.mapping("drain"))
        warnOfCutCalls(root, drain, backend)
        root.finish()
        guard let backend, let policy else { return nil }
        return ServerConfiguration(
            listeners: listeners, connections: connections, admin: admin, control: control, backend: backend,
            authenticators: authenticators,
            authentication: authentication, names: names,
            policy: policy, limits: limits, eventLoops: eventLoops, callsInFlight: callsInFlight,
            callsOfOne: callsOfOne, journal: journal,
            ledger: ledger, log: log,
            drain: drain)
    }

    static func readListenAddress(_ reader: ConfigurationReader) -> ListenAddress? {
        guard let text = reader.required("address") else { return nil }
        guard let address = ListenAddress(text) else {
            reader.report(
                "address",
                "\"\(text)\" is not an address; write an IP address and a port such as 127.0.0.1:8080 or "
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
            reader.report("address", "\(address) is taken by a listener of `listen` already")
        }
        if !address.isLocal {
            reader.report(
                "address",
                "others than this machine reach the admin listener, which asks nobody for a password; health and metrics "
                    + "are for a network of the operators' alone", severity: .warning)
        }
        return address
    }

    static func readIdentity(_ reader: ConfigurationReader?) -> NameRules {
        guard let reader else { return NameRules() }
        defer { reader.finish() }
        var prefixes: [String] = []
        var suffixes: [String] = []
        for entry in reader.strings("strip") ?? [] {
            // `EXAMPLE\` goes before a name, `@example.com` behind it.
            if entry.count > 1, entry.hasSuffix("\\") {
                prefixes.append(entry)
            } else if entry.count > 1, entry.hasPrefix("@") {
                suffixes.append(entry)
            } else {
                reader.report("strip", "\"\(entry)\" is neither a domain and \\, nor @ and a domain")
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
        let limits = SQLiteLedger.Limits()
        return LedgerSection(
            // The database of registrations and sessions.
            file: reader?.path("file") ?? "/var/lib/notify-gateway/ledger.sqlite",
            // How many devices a user may have; beyond it the one goes that was not seen for longest.
            registrationsPerUser: reader?.integer("registrations-per-user", in: 1...1000) ?? limits.registrations,
            // How often a device may change hands within 24 hours.
            ownershipTransfersPerDay: reader?.integer("hand-overs-per-day", in: 0...1000) ?? limits.ownershipTransfers,
            // Whether whatever the backend has from before the gateway is known to be sound; false until an import has shown it.
            isMigrated: reader?.bool("migrated") ?? false,
            // How long an imported registration is kept while its owner's device has not registered again, counted in time that the
            // gateway runs. 30 days unless given.
            confirmation: reader?.duration("confirm-imported-within", in: .seconds(3600)...(.seconds(3650 * 86_400)))
                ?? limits.confirmation)
    }

    private static func readOverload(_ reader: ConfigurationReader?) -> (all: Int, ofOne: CallerConcurrencyLimit.Bounds)
    {
        defer { reader?.finish() }
        // How many calls may be in flight, whatever they wait for; more wait a moment. 2048 unless given.
        let all = reader?.integer("calls", in: 1...1_000_000) ?? 2048
        var ofOne = CallerConcurrencyLimit.Bounds()
        // How many of them one user may have at the backend; one more is refused with 429. 64 unless given.
        ofOne.perUser = reader?.integer("calls-per-user", in: 1...1_000_000) ?? ofOne.perUser
        // How many one address may have, of IPv6 one /64; Unix sockets and trusted proxies are exempt. 512 unless given.
        ofOne.perAddress = reader?.integer("calls-per-address", in: 1...1_000_000) ?? ofOne.perAddress
        return (all, ofOne)
    }

    private static func readLog(_ reader: ConfigurationReader?) -> LogSection {
        defer { reader?.finish() }
        return LogSection(
            // The least level: trace, debug, info, notice, warning, error, critical.
            level: reader?.word("level", of: LogLevel.self)?.level ?? .info,
            format: reader?.word("format", of: LogSection.Format.self) ?? .json)
    }
}
