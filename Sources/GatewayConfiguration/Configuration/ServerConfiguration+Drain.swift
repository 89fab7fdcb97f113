internal import GatewayCore
internal import GatewaySupport

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
    static func warnOfCutCalls(_ root: ConfigurationReader, _ drain: DrainSection, _ backend: BackendSection?) {
        guard let backend, backend.timeout > drain.limit else { return }
        root.report(
            "drain",
            "\"limit\" is shorter than \"backend.timeout\": a stop may abort calls that the backend would complete",
            severity: .warning)
    }
}
