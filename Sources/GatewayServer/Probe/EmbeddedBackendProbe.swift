internal import Gateway
internal import GatewayCore

/// The rest of the probe: what could delete registrations of others, or all of them. For a backend that this very process runs
/// for it; there is no way to point it at another.
struct EmbeddedBackendProbe {
    private let session: ProbeSession

    /// - Parameter backend: the process's own backend.
    init(_ backend: borrowing ProbedEmbeddedBackend) { session = ProbeSession(backend.target) }

    /// For tests of the gateway in front of a backend of the test's own.
    init(testing target: ProbeTarget) { session = ProbeSession(target) }

    /// V10, V12 and V13.
    func run() async throws(ProbeError) -> [ProbeFinding] {
        [try await inventedID(), try await widenedFilter(), try await hubItself()]
    }

    private func inventedID() async throws(ProbeError) -> ProbeFinding {
        // The grammar of ids holds.
        guard let invented = RegistrationID("1-\(UInt32.random(in: 1 ... .max))-1") else {
            throw ProbeError("an invented id is none")
        }
        let handle = ProbeSession.handle()
        let status = try await session.register(invented, handle, as: session.own)
        let found = try await session.reserve(handle, as: session.own).id
        return ProbeFinding(
            vulnerability: .v10, state: Probe.isSuccess(status) && found == invented ? .open : .closed,
            evidence: "registered under an invented id: \(status)")
    }

    private func widenedFilter() async throws(ProbeError) -> ProbeFinding {
        let victim = ProbeSession.handle()
        guard let id = try await session.reserve(victim, as: session.other).id,
            Probe.isSuccess(try await session.register(id, victim, as: session.other))
        else { throw ProbeError("no device could be registered") }
        let widened = try await session.reserve("x%27%20or%20channeluri%20ne%20%27", as: session.own)
        return ProbeFinding(
            vulnerability: .v12, state: Probe.isSuccess(widened.status) ? .open : .closed,
            evidence: "asked for an id with a quote in the handle: \(widened.status)")
    }

    private func hubItself() async throws(ProbeError) -> ProbeFinding {
        let profile = session.target.profile
        var statuses: [Int] = []
        for path in ["\(profile.registerPath)?id=..", "\(profile.registerPath)/.."] {
            statuses.append(
                try await session.call(
                    "DELETE", path, fields: session.target.authorization(of: session.own), body: nil
                ).status)
        }
        return ProbeFinding(
            vulnerability: .v13, state: statuses.contains(where: Probe.isSuccess) ? .open : .closed,
            evidence: "deleted the id of two dots: \(statuses.map(String.init).joined(separator: ", "))")
    }
}
