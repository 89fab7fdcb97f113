internal import Gateway
internal import GatewayCore

/// Tries which of the holes a backend has, without harm: with ids, handles and users of its own, and sends to nobody but its own
/// user. What could harm others is in `EmbeddedBackendProbe` and cannot be reached from here.
struct Probe {
    let session: ProbeSession
    private var findings: [ProbeVulnerability: ProbeFinding] = [:]

    init(_ target: ProbeTarget) { session = ProbeSession(target) }

    /// All that was found, in the order of the holes; what was not tried too.
    ///
    /// - Throws: where the backend cannot be reached at all.
    mutating func run() async throws(ProbeError) -> [ProbeFinding] {
        // The first call is the one that tells whether anybody is there.
        let first = try await session.reserve(nil, as: session.own)
        guard let id = first.id else {
            throw ProbeError("it does not give ids: \(first.status) to \(session.target.profile.registerPath)")
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

    /// What was found so far; holes that nothing was found of were not tried.
    private func all() -> [ProbeFinding] {
        ProbeVulnerability.allCases.map { vulnerability in
            findings[vulnerability]
                ?? ProbeFinding(
                    vulnerability: vulnerability, state: .notTried,
                    evidence: vulnerability.danger ?? "the calls before it failed")
        }
    }

    /// Notes what a hole's call came to.
    mutating func found(_ vulnerability: ProbeVulnerability, _ isOpen: Bool, _ evidence: String) {
        findings[vulnerability] = ProbeFinding(
            vulnerability: vulnerability, state: isOpen ? .open : .closed, evidence: evidence)
    }

    /// Runs some calls; if the backend breaks off in them, that is what was found of the hole that they begin with.
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
