import BenchmarkSupport
import Foundation
import GatewayCore
import GatewaySupport
import NIOCore

/// The users file. All users have the same password hash, which makes the file quick to create.
struct Users: Dimension {
    let name = "users"
    let sizes = [10, 1_000, 100_000]

    private static let password = "a password of some length"
    /// The sha512crypt hash of the password with the fewest rounds, so that the first logins are fast.
    private static let hash =
        "$6$rounds=1000$benchmarks$D.Q/E2apzV33w32HUTFjTXVS15QaZmjyghbZQyiCpERzP7qdWM25jVi3.Oscw4RMVD41/yigUXbQD.rzCKQNX/"

    func prepare(_ setup: inout GatewaySetup, size: Int) async throws {
        var text = "users:\n"
        for number in 0..<size { text += "  \(Self.user(number)): { hash: \"\(Self.hash)\" }\n" }
        let file = "\(setup.directory)/users.yaml"
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        setup.users = file
    }

    func calls(_ setup: GatewaySetup, size: Int) throws -> [(name: String, requests: [ByteBuffer])] {
        // The number of callers is that of the smallest size, because it is not measured.
        let callers = spread(10, over: size).map(Self.user)
        let tokens = try setup.tokens(of: callers)
        let passwords = callers.map { user in
            "Basic " + String(decoding: Base64.encode(Array("\(user):\(Self.password)".utf8), .standard), as: UTF8.self)
        }
        return [
            ("send, token", tokens.map { CallBytes.send("Bearer \($0)") }),
            ("send, cached password", passwords.map { CallBytes.send($0) }),
        ]
    }

    private static func user(_ number: Int) -> String { "user-\(number)" }
}
