internal import Gateway
internal import GatewayCore

/// Tests a backend for vulnerabilities without harm: with its own ids, handles and users, and sends to its own user
/// only. Tests that could harm others are in `EmbeddedBackendProbe` and cannot be reached from here.
struct Probe {
    let session: ProbeSession
    private var findings: [ProbeVulnerability: ProbeFinding] = [:]

    init(_ target: ProbeTarget) { session = ProbeSession(target) }

    /// Runs all tests and returns the findings in the order of the vulnerabilities, including those that were not
    /// tested.
    ///
    /// - Throws: `ProbeError` if the backend cannot be reached or does not assign ids.
    mutating func run() async throws(ProbeError) -> [ProbeFinding] {
        // The first call shows whether the backend can be reached.
        let first = try await session.reserve(nil, as: session.own)
        guard let id = first.id else {
            throw ProbeError("it assigns no ids: status \(first.status) for \(session.target.profile.registerPath)")
        }
        await attempt(.v9) { probe throws(ProbeError) in try await probe.ownership() }
        await attempt(.v5) { probe throws(ProbeError) in try await probe.tags(under: id) }
        await attempt(.v14) { probe throws(ProbeError) in try await probe.credentials() }
        await attempt(.v1) { probe throws(ProbeError) in try await probe.messages() }
        await attempt(.v4) { probe throws(ProbeError) in try await probe.parameters() }
        await attempt(.v23) { probe throws(ProbeError) in try await probe.otherPaths() }
        await attempt(.v25) { probe throws(ProbeError) in try await probe.bodies() }
        await attempt(.v17) { probe throws(ProbeError) in try await probe.deletedTwice() }
        return all()
    }

    /// Returns all findings. A vulnerability without a finding was not tested.
    private func all() -> [ProbeFinding] {
        ProbeVulnerability.allCases.map { vulnerability in
            findings[vulnerability]
                ?? ProbeFinding(
                    vulnerability: vulnerability, state: .notTried,
                    evidence: vulnerability.danger ?? "an earlier call failed")
        }
    }

    /// Records the finding of a vulnerability.
    mutating func found(_ vulnerability: ProbeVulnerability, _ isOpen: Bool, _ evidence: String) {
        findings[vulnerability] = ProbeFinding(
            vulnerability: vulnerability, state: isOpen ? .open : .closed, evidence: evidence)
    }

    /// Runs tests. If the backend interrupts them, the finding of the first vulnerability is `unclear`.
    private mutating func attempt(
        _ vulnerability: ProbeVulnerability, _ calls: (inout Probe) async throws(ProbeError) -> Void
    ) async {
        do throws(ProbeError) {
            try await calls(&self)
        } catch {
            if findings[vulnerability] == nil {
                findings[vulnerability] = ProbeFinding(
                    vulnerability: vulnerability, state: .unclear, evidence: error.detail)
            }
        }
    }
}
