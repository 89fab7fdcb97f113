internal import Gateway
public import GatewayConfiguration
internal import GatewayCore
internal import GatewayHTTP
internal import GatewayStore
public import GatewaySupport
public import Logging
internal import NotifyBackend

/// The command `probe`: tests which of the known vulnerabilities the configured backend has, and which of them the
/// gateway mitigates.
///
/// Tests that could harm other users run only against an embedded backend that is started for them. Registrations that
/// the probe makes at a configured backend are deleted afterwards.
public struct BackendProbe: Sendable {
    private let configuration: ServerConfiguration
    /// The tested backend.
    private let section: ServerConfiguration.BackendSection
    private let logger: Logger

    /// Creates a probe of a backend of a configuration.
    ///
    /// - Parameter section: The backend; nil for the first one.
    public init(
        configuration: ServerConfiguration, of section: ServerConfiguration.BackendSection? = nil, logger: Logger
    ) {
        self.configuration = configuration
        self.section = section ?? configuration.backend
        self.logger = logger
    }

    /// The reason why the backend could not be tested.
    public struct Unavailable: Error, Sendable, Hashable {
        /// A sentence for the operator.
        public let reason: String
    }

    /// The result of a probe.
    public struct Report: Sendable {
        /// One result for each vulnerability: `vulnerability`, `title`, `backend`, `evidence`, `gateway`, `reason`.
        public var findings: [JSONValue]
        /// Further remarks, a sentence each: how the backend was reached without the gateway, and which registrations
        /// were not deleted.
        public var remarks: [String]
        /// Whether the gateway mitigates every vulnerability that the backend has or may have.
        public var isSafe: Bool
    }

    /// Runs the probe, which makes about forty calls to the backend.
    public func run() async throws -> Report {
        guard section.hub == nil else {
            throw Unavailable(reason: "the gateway uses a notification hub instead of a notify-users backend")
        }
        do {
            switch section.address {
            case .embedded: return try await probeEmbedded()
            case .remote(let address):
                let tls = try section.tls.map { try CertificateFiles.clientTLS($0) }
                return try await probe(
                    ProbeTarget(
                        address: address, tls: tls, host: section.address.hostField,
                        profile: section.profile.backend, credential: section.credential,
                        users: (Self.name(), Self.name()), inbox: nil))
            }
        } catch let fault as ProbeError {
            throw Unavailable(reason: fault.detail)
        } catch let problem as ConfigurationProblem {
            throw Unavailable(reason: "\(problem)")
        }
    }

    /// Runs the harmless tests against a backend and deletes the registrations that they made.
    func probe(_ target: ProbeTarget) async throws(ProbeError) -> Report {
        var probe = Probe(target)
        let findings: [ProbeFinding]
        do throws(ProbeError) {
            findings = try await probe.run()
        } catch {
            _ = await probe.session.cleanUp()
            throw error
        }
        let left = await probe.session.cleanUp()
        var remarks = [
            "The backend was reached without the gateway, at \(target.host); block access to it for everybody else."
        ]
        if !left.isEmpty {
            let ids = left.map(\.text).joined(separator: ", ")
            remarks.append("These registrations of the probe could not be deleted: \(ids)")
        }
        return report(findings, remarks)
    }

    private func probeEmbedded() async throws -> Report {
        let flavor: BackendFlavor =
            switch section.profileName {
            case .classic: .classic
            case .core: .core
            case .net6: .net6
            }
        let profile = section.profile.backend
        return try await ProbedEmbeddedBackend.run(flavor, profile: profile, logger: logger) { backend in
            var probe = Probe(backend.target)
            var findings = try await probe.run()
            for finding in try await EmbeddedBackendProbe(backend).run() {
                findings[finding.vulnerability.rawValue - 1] = finding
            }
            return report(findings, ["An embedded backend was started for the probe; it serves this machine only."])
        }
    }

    private func report(_ findings: [ProbeFinding], _ remarks: [String]) -> Report {
        let migrationWarning = Migration.warning(configuration)
        var isSafe = true
        let items = findings.map { finding in
            let mitigation = ProbeMitigation(finding.vulnerability, configuration, migrationWarning: migrationWarning)
            if finding.state != .closed, mitigation != .mitigated { isSafe = false }
            var members: [JSONValue.Member] = [
                .init("vulnerability", .string(finding.vulnerability.name)),
                .init("title", .string(finding.vulnerability.title)),
                .init("backend", .string(finding.state.rawValue)), .init("evidence", .string(finding.evidence)),
                .init("gateway", .string(mitigation.word)),
            ]
            if let reason = mitigation.reason { members.append(.init("reason", .string(reason))) }
            return JSONValue.object(members)
        }
        return Report(findings: items, remarks: remarks, isSafe: isSafe)
    }

    /// Returns a user name that no user has.
    private static func name() -> String { "probe-\(ProbeSession.handle().prefix(32).lowercased())" }
}
