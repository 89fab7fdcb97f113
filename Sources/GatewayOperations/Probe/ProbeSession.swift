internal import Gateway
internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

/// The calls of a probe. They use the probe's own users and devices only. The session tracks the registrations that it
/// makes and deletes them at the end.
final class ProbeSession {
    let target: ProbeTarget
    let client: ProbeClient
    /// The handle of a device of the probe's first user. No real device has it.
    let handle = ProbeSession.handle()
    private var registered: [RegistrationID: String] = [:]

    init(_ target: ProbeTarget) {
        self.target = target
        client = ProbeClient(target)
    }

    var own: String { target.users.own }
    var other: String { target.users.other }

    /// Returns a handle of 256 random bits.
    static func handle() -> String {
        (0..<4).map { _ in
            let digits = String(UInt64.random(in: .min ... .max), radix: 16, uppercase: true)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    /// Requests an id, with a handle of the probe or without one.
    func reserve(
        _ handle: String?, as user: String, fields: [String]? = nil
    ) async throws(ProbeError) -> (status: Int, id: RegistrationID?) {
        let query = handle.map { "?handle=\($0)" } ?? ""
        let response = try await call(
            "POST", target.profile.registerPath + query, fields: fields ?? target.authorization(of: user), body: nil)
        return (response.status, response.isSuccess ? ReservedIDParser.read(response.body) : nil)
    }

    /// Registers a device of the probe under an id that was assigned to it.
    func register(
        _ id: RegistrationID, _ handle: String, platform: PushService = .apns, tags: [String] = [], as user: String,
        body: String? = nil
    ) async throws(ProbeError) -> Int {
        let list = String(decoding: JSONWriter.bytes(of: .array(tags.map(JSONValue.string))), as: UTF8.self)
        let word = target.profile.platformNames[platform]?.text ?? "-"
        let standard = #"{"Platform":"\#(word)","Handle":"\#(handle)","Tags":\#(list)}"#
        // Tracked before the call, because a registration whose response is lost must be deleted too.
        let before = registered.updateValue(user, forKey: id)
        let response = try await call(
            "PUT", path(of: id), fields: target.authorization(of: user), body: body ?? standard)
        if !response.isSuccess { registered[id] = before }
        return response.status
    }

    /// Deletes a registration as the user and returns the status of the response.
    func delete(_ id: RegistrationID, as user: String) async throws(ProbeError) -> Int {
        let response = try await call("DELETE", path(of: id), fields: target.authorization(of: user), body: nil)
        if response.isSuccess { registered[id] = nil }
        return response.status
    }

    /// Sends a message to the probe's own user by default.
    func send(
        _ body: String, to recipient: String? = nil, pns: String? = nil, service: PushService = .apns
    ) async throws(ProbeError) -> BackendResponse {
        let word = pns ?? target.profile.pnsNames[service]?.text ?? "-"
        let path = "\(target.profile.notificationsPath)?pns=\(word)&to_tag=\(recipient ?? own)"
        return try await call("POST", path, fields: target.authorization(of: own), body: body)
    }

    /// Sends any request. The caller ensures that it is harmless.
    func call(
        _ method: String, _ path: String, fields: [String], body: String?
    ) async throws(ProbeError) -> BackendResponse {
        try await client.send(.init(method: method, target: path, fields: fields, body: body))
    }

    /// Returns the path of a registration, with the id where the backend reads it.
    func path(of id: RegistrationID) -> String {
        switch target.profile.idLocation {
        case .path: "\(target.profile.registerPath)/\(id.text)"
        case .query: "\(target.profile.registerPath)?id=\(id.text)"
        }
    }

    /// Deletes the registrations that still exist.
    ///
    /// - Returns: The registrations that the backend did not delete.
    func cleanUp() async -> [RegistrationID] {
        for (id, user) in registered { _ = try? await delete(id, as: user) }
        return registered.keys.sorted { $0.text < $1.text }
    }
}

extension BackendResponse {
    var isSuccess: Bool { (200..<300).contains(status) }
}
