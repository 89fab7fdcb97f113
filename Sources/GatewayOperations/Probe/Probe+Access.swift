internal import Gateway
internal import GatewayCore
internal import GatewayHTTP

extension Probe {
    /// Tests V3, V14, V15 and V16: authentication. Each test requests an id, which leaves nothing behind.
    mutating func credentials() async throws(ProbeError) {
        func status(_ fields: [String]) async throws(ProbeError) -> Int {
            try await session.reserve(nil, as: session.own, fields: fields).status
        }
        let stranger = "probe-\(ProbeSession.handle().prefix(16).lowercased())"
        let mirrored = try await status([ProbeTarget.basic("\(stranger):\(stranger)")])
        found(.v14, Self.isSuccess(mirrored), "password equal to the user name: \(mirrored)")
        let empty = try await status([ProbeTarget.basic(":")])
        let longer = try await status([ProbeTarget.basic("\(session.own):\(session.own):x")])
        found(
            .v15, Self.isSuccess(empty) || Self.isSuccess(longer),
            "empty user name: \(empty); password with a suffix: \(longer)")
        let quoted = try await status([ProbeTarget.basic("\(stranger)\":\(stranger)\"")])
        found(.v3, Self.isSuccess(quoted), "user name with a quotation mark: \(quoted)")
        let missing = try await status([])
        let malformed = try await status(["Authorization: Basic !!!"])
        found(
            .v16, missing >= 500 || malformed >= 500,
            "no Authorization: \(missing); malformed Authorization: \(malformed)")
    }

    /// Tests V22, V23 and V24: transport security, and paths beside the four calls.
    mutating func otherPaths() async throws(ProbeError) {
        let isLocal =
            switch session.target.address {
            case .unix: true
            case .tcp(let host, _), .tls(let host, _): host == "::1" || host.hasPrefix("127.") || host == "localhost"
            }
        if case .tls = session.target.address {
            found(.v22, false, "reached through TLS")
        } else {
            found(.v22, !isLocal, isLocal ? "runs on this machine" : "reached over a network in plain HTTP")
        }
        let fields = session.target.authorization(of: session.own)
        let page = try await session.call("GET", "/", fields: fields, body: nil)
        found(.v23, page.isSuccess || page.status >= 500, "GET /: \(page.status)")
        // An id that no notification is likely to have yet.
        let number = Int.random(in: 1_000_000_000...2_000_000_000)
        let read = try await session.call(
            "GET", "\(session.target.profile.notificationsPath)/\(number)", fields: fields, body: nil)
        found(.v24, ![401, 403, 404, 405].contains(read.status), "GET a notification: \(read.status)")
    }
}
