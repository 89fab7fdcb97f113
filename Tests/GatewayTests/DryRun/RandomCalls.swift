import GatewayCore
import GatewaySupport
import GatewayTesting

@testable import Gateway

/// A generator of random calls of every kind, valid and invalid.
struct RandomCalls {
    private var random: SplitMix
    private var number: UInt64 = 0

    init(seed: UInt64) { random = SplitMix(seed: seed) }

    private static let handles = [
        Sample.apns, Sample.apns.lowercased(), String(repeating: "AB", count: 32), Sample.fcm, Sample.wns, "", "zz",
        "(null)",
        "x' or 1 eq 1", "https://elsewhere.example/?token=1",
    ]
    private static let labels = [
        "11-22-3", "44-55-6", "2372532420827572008-85883004107185159-4", "..", "1-2", "0-0-0%2f",
    ]
    private static let recipients = [
        "alice", "bob", "bob", "bob", "Bob", "carol", "dave", "bob%7C%7Cusername:carol", "", "audience:oncall",
        "audience:nobody",
        "audience:",
    ]
    private static let tags = [
        "topic:news", "Topic:A", "region:x", "username:alice", "username:bob", "from:alice", "a,b", "$x",
    ]
    private static let words = ["apns", "APNS", "gcm", "fcm", "fcmv1", "wns", "mpns", "adm", ""]

    mutating func next() -> (user: String, request: ReceivedRequest) {
        number += 1
        let user = TestGateway.users.randomElement(using: &random) ?? "alice"
        switch Int.random(in: 0..<12, using: &random) {
        case 0, 1: return (user, request("POST /api/register\(handleQuery())", user))
        case 2, 3, 4: return (user, request("PUT /api/register/\(one(Self.labels))", user, body: registration()))
        case 5: return (user, request("DELETE /api/register/\(one(Self.labels))", user))
        case 6:
            let odd = [
                "GET /auth/whoami", "GET /auth/registrations", "DELETE /auth/registrations/11-22-3",
                "GET /api/register",
                "POST /api/notifications/1", "PATCH /api/register/11-22-3", "POST /auth/token",
                "PUT /api/register?id=11-22-3",
                "GET /api/../x",
            ]
            return (user, request(one(odd), user))
        default:
            let target = "/api/notifications?pns=\(one(Self.words))&to_tag=\(one(Self.recipients))"
            return (user, request("POST \(target)", user, body: message()))
        }
    }

    /// The number of seconds to advance the clock by, or nil.
    mutating func pause() -> Int? {
        Int.random(in: 0..<12, using: &random) == 0 ? Int.random(in: 1...12, using: &random) : nil
    }

    private mutating func one(_ texts: [String]) -> String { texts.randomElement(using: &random) ?? "" }

    private mutating func handleQuery() -> String {
        switch Int.random(in: 0..<6, using: &random) {
        case 0: return ""
        case 1: return "?handle=\(Sample.apns)&handle=x"
        case 2: return "?other=1"
        default:
            let bytes = Array(one(Self.handles).utf8)
            return "?handle=" + bytes.map { "%\(String($0 >> 4, radix: 16))\(String($0 & 15, radix: 16))" }.joined()
        }
    }

    private mutating func registration() -> String {
        let tags = (0..<Int.random(in: 0...3, using: &random)).map { _ in "\"\(one(Self.tags))\"" }
        let body = Sample.body(one(Self.words), one(Self.handles), tags: "[\(tags.joined(separator: ","))]")
        return Int.random(in: 0..<12, using: &random) == 0 ? String(body.dropLast()) : body
    }

    private mutating func message() -> String {
        switch Int.random(in: 0..<10, using: &random) {
        case 0: return ""
        case 1: return "\"" + String(repeating: "long ", count: 1000) + "\""
        case 2: return "unquoted"
        default: return "\"\(random.text(upTo: 20))\""
        }
    }

    private mutating func request(_ line: String, _ user: String, body: String = "") -> ReceivedRequest {
        let type: ReceivedRequest.FieldValue =
            Int.random(in: 0..<20, using: &random) == 0 ? .text("text/plain") : .absent
        return ReceivedRequest(line, as: user, contentType: type, body: Array(body.utf8), number: number)
    }
}
