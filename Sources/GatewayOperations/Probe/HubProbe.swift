internal import Gateway
public import GatewayConfiguration
internal import GatewayCore
public import GatewayHTTP
public import GatewaySupport

/// Asks the configured notification hub which rights the gateway's key has. Changes nothing at the hub.
public struct HubProbe: Sendable {
    /// The rights of a key.
    public struct Report: Sendable {
        /// One result for each right: `right`, `key` (`yes`, `no`, `unclear`), `needed`, `evidence`.
        public var findings: [JSONValue] = []
        /// What the operator should change or know, a sentence each.
        public var remarks: [String] = []
        /// Whether the key has the rights that the gateway needs, as far as the hub told.
        public var isSufficient = true
    }

    private let test: HubRightsTest
    private let hub: HubSettings
    private let connector: BackendConnector

    /// Creates a probe. Returns nil if the configuration has no hub outside this process.
    ///
    /// - Parameter tls: The verification of the backends' certificates, in the order of the configuration; nil without
    ///   TLS.
    public init?(configuration: ServerConfiguration, tls: [ClientTLS?], clocks: Clocks) {
        guard let (_, hub, address, tls) = configuration.remoteHub(tls) else { return nil }
        self.hub = hub
        test = HubRightsTest(hub, clocks: clocks)
        connector = BackendConnector(address: address, tls: tls)
    }

    /// Sends one request for each right, and waits for a response for at most 65 s.
    ///
    /// - Throws: `BackendProbe.Unavailable` if the hub cannot be reached or does not exist.
    public func run() async throws(BackendProbe.Unavailable) -> Report {
        var report = Report()
        for right in HubRight.allCases {
            let response: BackendResponse
            do throws(ProbeError) {
                response = try await connector.exchange(test.request(for: right))
            } catch {
                throw BackendProbe.Unavailable(reason: error.detail)
            }
            let answer = HubRightsTest.answer(of: response, to: right)
            if answer == .noHub {
                throw BackendProbe.Unavailable(reason: "the namespace has no hub with the name \(hub.name)")
            }
            record(answer, to: right, "status \(response.status)", in: &report)
        }
        return report
    }

    private func record(
        _ answer: HubRightsTest.Answer, to right: HubRight, _ evidence: String, in report: inout Report
    ) {
        let isNeeded = right != .manage
        let word =
            switch answer {
            case .held: "yes"
            case .missing: "no"
            case .noHub, .unclear: "unclear"
            }
        report.findings.append(
            .object([
                .init("right", .string(right.rawValue)), .init("key", .string(word)),
                .init("needed", .string(isNeeded ? "yes" : "no")), .init("evidence", .string(evidence)),
            ]))
        if answer == .missing, isNeeded {
            report.isSufficient = false
            let use = right == .listen ? "no device can be registered" : "no notification can be sent"
            report.remarks.append(
                "The hub rejects the key \(hub.connection.keyName) for \(right.rawValue): \(use).")
        }
        if answer == .held, !isNeeded {
            report.remarks.append(
                "The key \(hub.connection.keyName) has the right \(right.rawValue), which the gateway does not need; "
                    + "use a key with \(HubRight.listen.rawValue) and \(HubRight.send.rawValue) only.")
        }
    }
}
