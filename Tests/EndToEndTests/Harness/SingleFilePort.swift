import Foundation
import GatewaySupport
import GatewayTesting
import NIOCore
import Synchronization

/// A backend that differs from the built-in profiles: other paths and platform names, the user in a header field, ids
/// as plain text, and other statuses than 200.
final class SingleFilePort: Sendable {
    struct Registration: Sendable, Hashable {
        var platform: String
        var handle: String
        var tags: Set<String>
    }

    private struct State {
        var reserved: Set<String> = []
        var registrations: [String: Registration] = [:]
        var inboxes: [String: [String]] = [:]
        var seen: [String] = []
    }

    private let state = Mutex(State())

    /// The method and the target of each request, in order.
    var seen: [String] { state.withLock(\.seen) }
    /// The registrations by id.
    var registrations: [String: Registration] { state.withLock(\.registrations) }

    /// The payloads that the device received.
    func inbox(_ handle: String) -> [String] { state.withLock { $0.inboxes[handle] ?? [] } }

    /// Deletes all registrations.
    func forget() { state.withLock { ($0.reserved, $0.registrations) = ([], [:]) } }

    private func answer(_ request: CapturedRequest) -> (status: String, body: String) {
        state.withLock { state in
            state.seen.append("\(request.method) \(request.target)")
            guard request.values("X-Port-Secret") == ["correct-horse"], request.values("Authorization").isEmpty,
                let user = request.values("X-Port-User").first, let query = request.query
            else { return ("403 Forbidden", "") }
            let parameters = Dictionary(query.map { ($0.name, $0.value) }) { first, _ in first }
            switch "\(request.method) \(request.path)" {
            case "POST /registration":
                let id = "\(state.reserved.count + 1)-4200-1"
                state.reserved.insert(id)
                return ("201 Created", "\(id)\n")
            case "PUT /registration":
                return Self.register(request, id: parameters["id"] ?? "", user, &state)
            case "DELETE /registration":
                let gone = state.registrations.removeValue(forKey: parameters["id"] ?? "")
                return gone == nil ? ("404 Not Found", "") : ("204 No Content", "")
            case "POST /notifications":
                return Self.send(request, parameters, user, &state)
            default:
                return ("404 Not Found", "")
            }
        }
    }

    private static func register(
        _ request: CapturedRequest, id: String, _ user: String, _ state: inout State
    ) -> (String, String) {
        let object = (try? JSONSerialization.jsonObject(with: Data(request.body))) as? [String: Any]
        guard let platform = object?["Platform"] as? String, let handle = object?["Handle"] as? String,
            let tags = object?["Tags"] as? [String], ["ios", "android"].contains(platform)
        else { return ("400 Bad Request", "") }
        guard state.reserved.contains(id) else { return ("404 Not Found", "") }
        state.registrations[id] = Registration(
            platform: platform, handle: handle, tags: Set(tags).union(["username:\(user)"]))
        return ("200 OK", "")
    }

    private static func send(
        _ request: CapturedRequest, _ parameters: [String: String], _ user: String, _ state: inout State
    ) -> (String, String) {
        guard let pns = parameters["pns"], ["ios", "android"].contains(pns), let recipient = parameters["to_tag"],
            let text = (try? JSONSerialization.jsonObject(with: Data(request.body), options: .fragmentsAllowed))
                as? String
        else { return ("400 Bad Request", "") }
        let message = "From \(user): \(text)"
        let payload =
            pns == "ios"
            ? #"{"aps":{"alert":"\#(message)","sound":"default"}}"# : #"{"message":{"data":{"text":"\#(message)"}}}"#
        for device in state.registrations.values
        where device.platform == pns && !device.tags.isDisjoint(with: ["username:\(recipient)", "from:\(user)"]) {
            state.inboxes[device.handle, default: []].append(payload)
        }
        return ("201 Created", "")
    }
}

extension SingleFilePort {
    /// Runs the body with such a backend on a free TCP port.
    static func run<Result: Sendable>(_ body: (SingleFilePort, Int) async throws -> Result) async throws -> Result {
        let port = SingleFilePort()
        return try await ScriptedServer.run { request in
            guard let request = CapturedRequest(ByteBuffer(bytes: request.bytes)) else { return [] }
            let (status, body) = port.answer(request)
            let length = status.hasPrefix("204") ? "" : "Content-Length: \(body.utf8.count)\r\n"
            return [.write("HTTP/1.1 \(status)\r\nContent-Type: text/plain\r\n\(length)\r\n\(body)")]
        } _: { server in
            try await body(port, server.port)
        }
    }
}
