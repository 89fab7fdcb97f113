internal import GatewayCore

extension ServerConfiguration {
    /// Reads `version`: of the language of this file. There is one so far.
    static func readVersion(_ root: ConfigurationReader) {
        guard let version = root.integer("version", in: 1...Int.max), version > newestVersion else { return }
        root.report(
            "version", "is \(version); this program reads configurations up to version \(newestVersion)")
    }

    /// The newest version of `gateway.yaml` that this program reads.
    static let newestVersion = 1

    /// Reads `drain`: how the gateway stops.
    static func readDrain(_ reader: ConfigurationReader?) -> DrainSection {
        defer { reader?.finish() }
        let standard = DrainSection()
        return DrainSection(
            // How long it goes on taking calls after it has said that it is not ready, so that load balancers notice; 5 s.
            grace: reader?.duration("grace", in: .zero ... .seconds(60)) ?? standard.grace,
            // How long calls in flight may take after that, before they are cut; 70 s.
            limit: reader?.duration("limit", in: .zero ... .seconds(700)) ?? standard.limit)
    }

    /// Warns of a backend that may take longer for a call than the gateway waits when it stops.
    static func warnOfCutCalls(_ root: ConfigurationReader, _ drain: DrainSection, _ backend: BackendSection?) {
        guard let backend, backend.timeout > drain.limit else { return }
        root.report(
            "drain",
            "\"limit\" is shorter than \"backend.timeout\": when the gateway stops it may cut calls that would have ended",
            severity: .warning)
    }
}
