internal import Gateway
internal import GatewayCore
internal import GatewayHTTP

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
        await attempt(.v9) { probe throws(ProbeError) in try await probe.testOwnership() }
        await attempt(.v5) { probe throws(ProbeError) in try await probe.testTags(under: id) }
        await attempt(.v14) { probe throws(ProbeError) in try await probe.testCredentials() }
        await attempt(.v1) { probe throws(ProbeError) in try await probe.testMessages() }
        await attempt(.v4) { probe throws(ProbeError) in try await probe.testSendParameters() }
        await attempt(.v23) { probe throws(ProbeError) in try await probe.testTransportAndPaths() }
        await attempt(.v25) { probe throws(ProbeError) in try await probe.testDuplicateMembers() }
        await attempt(.v17) { probe throws(ProbeError) in try await probe.testRepeatedDeletion() }
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
    mutating func recordFinding(_ vulnerability: ProbeVulnerability, _ isPresent: Bool, _ evidence: String) {
        findings[vulnerability] = ProbeFinding(
            vulnerability: vulnerability, state: isPresent ? .open : .closed, evidence: evidence)
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

extension Probe {
    /// Tests V3, V14, V15 and V16: authentication. Each test only requests an id, so it creates no registration.
    mutating func testCredentials() async throws(ProbeError) {
        func status(_ fields: [String]) async throws(ProbeError) -> Int {
            try await session.reserve(nil, as: session.own, fields: fields).status
        }
        let stranger = "probe-\(ProbeSession.handle().prefix(16).lowercased())"
        let mirrored = try await status([ProbeTarget.basic("\(stranger):\(stranger)")])
        recordFinding(.v14, Self.isSuccess(mirrored), "password equal to the user name: \(mirrored)")
        let empty = try await status([ProbeTarget.basic(":")])
        let longer = try await status([ProbeTarget.basic("\(session.own):\(session.own):x")])
        recordFinding(
            .v15, Self.isSuccess(empty) || Self.isSuccess(longer),
            "empty user name: \(empty); password with a suffix: \(longer)")
        let quoted = try await status([ProbeTarget.basic("\(stranger)\":\(stranger)\"")])
        recordFinding(.v3, Self.isSuccess(quoted), "user name with a quotation mark: \(quoted)")
        let missing = try await status([])
        let malformed = try await status(["Authorization: Basic !!!"])
        recordFinding(
            .v16, missing >= 500 || malformed >= 500,
            "no Authorization: \(missing); malformed Authorization: \(malformed)")
    }

    /// Tests V22, V23 and V24: transport security, and paths other than those of the four calls.
    mutating func testTransportAndPaths() async throws(ProbeError) {
        let isLocal =
            switch session.target.address {
            case .unix: true
            case .tcp(let host, _), .tls(let host, _): host == "::1" || host.hasPrefix("127.") || host == "localhost"
            }
        if case .tls = session.target.address {
            recordFinding(.v22, false, "reached through TLS")
        } else {
            recordFinding(.v22, !isLocal, isLocal ? "runs on this machine" : "reached over a network in plain HTTP")
        }
        let fields = session.target.authorization(of: session.own)
        let page = try await session.call("GET", "/", fields: fields, body: nil)
        recordFinding(.v23, page.isSuccess || page.status >= 500, "GET /: \(page.status)")
        // An id that no notification is likely to have yet.
        let number = Int.random(in: 1_000_000_000...2_000_000_000)
        let read = try await session.call(
            "GET", "\(session.target.profile.notificationsPath)/\(number)", fields: fields, body: nil)
        recordFinding(.v24, ![401, 403, 404, 405].contains(read.status), "GET a notification: \(read.status)")
    }
}
