import Foundation
import GatewayCore
import GatewaySupport
import HMACToken

/// The directory of a gateway: its configuration, the files that it names, and tokens that the gateway accepts.
package struct GatewaySetup {
    /// The directory, which exists and contains only files of the benchmark.
    package let directory: String
    /// The port of the listener for clients.
    package let port = LoopbackAddress.freePort()
    /// The port of its admin listener.
    package let adminPort = LoopbackAddress.freePort()
    /// The backend's port on 127.0.0.1.
    package var backendPort: Int
    /// The maximum of connections to the backend; nil for the default.
    package var backendConnections: Int?
    /// The number of event loops; nil for the default.
    package var loops: Int?
    /// The journal's directory.
    package var journal: String
    /// The ledger's file.
    package var ledger: String
    /// The users file; nil if the gateway accepts only tokens.
    package var users: String?
    /// The value of `limits` in the configuration.
    package var limits = "[{ name: sends, per: sender, rate: 1000000/s }]"
    /// The log level.
    package var logLevel = "warning"
    /// The values of `overload` in the configuration. The default is high, because all clients have one address and few
    /// users.
    package var overload = "calls-per-user: 100000, calls-per-address: 100000"
    /// Additional lines of the configuration.
    package var more = ""

    /// Creates the setup of a gateway in front of a backend.
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
    /// - Returns: the path of the configuration.
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

    /// Returns tokens for users, valid for a day.
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
