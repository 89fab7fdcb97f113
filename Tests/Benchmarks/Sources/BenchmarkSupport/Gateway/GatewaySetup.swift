import Foundation
import GatewayCore
import HMACToken

/// A gateway's directory: its configuration and what that names, and tokens that it accepts.
package struct GatewaySetup {
    /// The directory, which is there and empty but for what a benchmark has put there.
    package let directory: String
    /// The port that it serves on.
    package let port = LoopbackAddress.freePort()
    /// The port of its admin listener.
    package let adminPort = LoopbackAddress.freePort()
    /// Where the backend is, on 127.0.0.1.
    package var backendPort: Int
    /// How many connections to the backend there may be; nil for its default.
    package var backendConnections: Int?
    /// How many event loops it has; nil for its default.
    package var loops: Int?
    /// The journal's directory.
    package var journal: String
    /// The ledger's file.
    package var ledger: String
    /// The users file; nil where tokens alone are taken.
    package var users: String?
    /// The limits, as the configuration has them.
    package var limits = "[{ name: sends, per: sender, rate: 1000000/s }]"
    /// What it logs.
    package var logLevel = "warning"
    /// How many calls may be in flight. All clients are at one address and of a few users.
    package var overload = "calls-per-user: 100000, calls-per-address: 100000"
    /// Further lines of the configuration.
    package var more = ""

    /// A gateway in front of a backend.
    package init(directory: String, backendPort: Int) {
        self.directory = directory
        self.backendPort = backendPort
        journal = "\(directory)/journal"
        ledger = "\(directory)/ledger.sqlite"
    }

    private static let key = String(
        decoding: Base64.encode((0..<32).map { _ in UInt8.random(in: .min ... .max) }, .standard), as: UTF8.self)
    private var keys: String { "\(directory)/keys.yaml" }

    /// Writes the configuration and the keys.
    ///
    /// - Returns: the configuration's path.
    func write() throws -> String {
        try writeKeys()
        let file = "\(directory)/gateway.yaml"
        let passwords = users.map { ", { static-users: { file: \"\($0)\" } }" } ?? ""
        try """
        listen: [{ address: "127.0.0.1:\(port)" }]
        admin: { address: "127.0.0.1:\(adminPort)" }
        control: \(directory)/control.sock
        connections: { per-address: 10000 }
        backend: { url: "http://127.0.0.1:\(backendPort)"\(backendConnections.map { ", connections: \($0)" } ?? "") }
        \(loops.map { "event-loops: \($0)" } ?? "")
        drain: { grace: 0s }
        authenticators: [{ hmac-token: { keys: keys.yaml } }\(passwords)]
        policy: { send: [{ from: "*", to: "*" }], tags: [{ user: "*", allow: ["topic:*"] }] }
        limits: \(limits)
        overload: { \(overload) }
        journal: { directory: \(journal), minimum-free: 0 }
        ledger: { file: \(ledger), migrated: true }
        log: { level: \(logLevel) }
        \(more)

        """.write(toFile: file, atomically: true, encoding: .utf8)
        return file
    }

    /// Tokens for users, good for a day.
    package func tokens(of users: [String]) throws -> [String] {
        try writeKeys()
        let signer = try TokenSigner(HMACTokenPlugin.Settings(keys: keys))
        let now = Clocks.system.wall()
        return try users.map { user in
            guard let name = UserName(canonical: user) else { throw NoName(text: user) }
            return try signer.issue(subject: name, lifetime: .seconds(86_400), now: now).token
                .withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        }
    }

    private func writeKeys() throws {
        let text = "keys: [{ id: k1, algorithm: HS256, secret: \"\(Self.key)\" }]\n"
        try text.write(toFile: keys, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: keys)
    }

    private struct NoName: Error {
        let text: String
    }
}
