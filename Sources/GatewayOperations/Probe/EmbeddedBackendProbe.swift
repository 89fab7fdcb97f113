internal import Gateway
internal import GatewayCore
internal import GatewayHTTP
internal import Logging
internal import NotifyBackend

/// The tests that could delete registrations of other users or the whole hub. They need a backend that this process
/// runs for them; no other backend can be passed.
struct EmbeddedBackendProbe {
    private let session: ProbeSession

    /// Creates the tests.
    ///
    /// - Parameter backend: The backend of this process.
    init(_ backend: borrowing ProbedEmbeddedBackend) { session = ProbeSession(backend.target) }

    /// Creates the tests for a test of the gateway, in front of a backend of that test.
    init(testing target: ProbeTarget) { session = ProbeSession(target) }

    /// Tests V10, V12 and V13.
    func run() async throws(ProbeError) -> [ProbeFinding] {
        [try await testInventedID(), try await testFilterInjection(), try await testHubDeletion()]
    }

    private func testInventedID() async throws(ProbeError) -> ProbeFinding {
        // The text always matches the grammar of ids.
        guard let invented = RegistrationID("1-\(UInt32.random(in: 1 ... .max))-1") else {
            throw ProbeError("an invented id is invalid")
        }
        let handle = ProbeSession.handle()
        let status = try await session.register(invented, handle, as: session.own)
        let found = try await session.reserve(handle, as: session.own).id
        return ProbeFinding(
            vulnerability: .v10, state: Probe.isSuccess(status) && found == invented ? .open : .closed,
            evidence: "register with an invented id: \(status)")
    }

    private func testFilterInjection() async throws(ProbeError) -> ProbeFinding {
        let victim = ProbeSession.handle()
        guard let id = try await session.reserve(victim, as: session.other).id,
            Probe.isSuccess(try await session.register(id, victim, as: session.other))
        else { throw ProbeError("no device could be registered") }
        let widened = try await session.reserve("x%27%20or%20channeluri%20ne%20%27", as: session.own)
        return ProbeFinding(
            vulnerability: .v12, state: Probe.isSuccess(widened.status) ? .open : .closed,
            evidence: "request an id with a quote in the handle: \(widened.status)")
    }

    private func testHubDeletion() async throws(ProbeError) -> ProbeFinding {
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
            evidence: "delete the id of two dots: \(statuses.map(String.init).joined(separator: ", "))")
    }
}

/// An embedded backend that runs for one probe only. Its existence proves that it holds no registrations of others.
struct ProbedEmbeddedBackend: ~Copyable {
    /// The parameters for the probe.
    let target: ProbeTarget

    fileprivate init(port: Int, hub: NotificationHub, profile: BackendProfile.BackendSide) {
        target = ProbeTarget(
            address: .tcp(host: "127.0.0.1", port: port), host: "127.0.0.1:\(port)", profile: profile,
            credential: .mirror, users: ("probe-own", "probe-other"),
            inbox: { handle in hub.inbox(ofHandle: handle).map(\.payload) })
    }

    /// Runs `body` while such a backend listens on a port that the system assigns.
    static func run<Result: Sendable>(
        _ flavor: BackendFlavor, profile: BackendProfile.BackendSide, logger: Logger,
        _ body: (borrowing ProbedEmbeddedBackend) async throws -> Result
    ) async throws -> Result {
        let hub = NotificationHub()
        let (ports, port) = AsyncStream<Int>.makeStream()
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                defer { port.finish() }
                try await EmbeddedBackend(
                    flavor: flavor, hub: hub, logger: logger, onListening: { port.yield($0) }
                ).run()
            }
            defer { group.cancelAll() }
            guard let port = await ports.first(where: { _ in true }) else {
                throw ProbeError("the embedded backend did not start")
            }
            return try await body(ProbedEmbeddedBackend(port: port, hub: hub, profile: profile))
        }
    }
}
