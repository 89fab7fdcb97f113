import Foundation
import GatewayCore
import GatewaySupport
import HMACToken
import StaticUsers

/// The directory of a demo: a configuration, two users, a new key, the ledger, the journal, and a link to the program.
struct DemoDirectory {
    let path: String

    var configurationPath: String { "\(path)/gateway.yaml" }

    /// The path by which commands that the demo prints call the program, which need not be in PATH.
    var programPath: String { "\(path)/notify-gateway" }

    init(listen: String, profile: String, upstream: DemoUpstream) throws {
        path = NSTemporaryDirectory() + "notify-gateway-demo-" + UUID().uuidString.prefix(8)
        let manager = FileManager.default
        try manager.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        try manager.createSymbolicLink(
            atPath: programPath, withDestinationPath: manager.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
        // In a temporary directory with a very long name, the path of a socket exceeds the system's limit.
        let hasControl = "\(path)/control.sock".utf8.count <= 107
        try Self.configuration(listen: listen, profile: profile, upstream: upstream, hasControl: hasControl).write(
            toFile: configurationPath, atomically: false, encoding: .utf8)
        var users = try UsersFile.load("\(path)/users.yaml", names: NameRules())
        for name in ["alice", "bob"] {
            try users.add(name, passwordHash: PasswordHash.make(password: Secret(name.utf8)))
        }
        try users.write()
        var keys = try TokenKeysFile.load("\(path)/token-keys.yaml")
        try keys.rotate(now: Clocks.system.wall(), overlap: .zero)
        try keys.write()
    }

    /// Removes the directory with its files.
    func remove() { try? FileManager.default.removeItem(atPath: path) }

    private static func configuration(
        listen: String, profile: String, upstream: DemoUpstream, hasControl: Bool
    ) -> String {
        """
        listen:
          - address: "\(listen)"
        admin: { address: "127.0.0.1:0" }
        console: { address: "127.0.0.1:0", operators: [alice], viewers: [bob], self-service: true }
        \(hasControl ? "control: control.sock" : "")
        \(upstream == .hub ? "sends: { secure: requested }" : "")
        backend:
          \(upstream == .hub ? "hub" : "url"): embedded
          profile: \(profile)
        authenticators:
          - static-users: { file: users.yaml }
          - hmac-token: { keys: token-keys.yaml, issuer: notify-gateway, audience: notify, lifetime: 1h }
        policy:
          send:
            - { from: "*", to: "*" }
          tags:
            - { user: "*", allow: ["topic:*", "myTag"] }
        journal: { directory: journal, minimum-free: 0 }
        ledger: { file: ledger.sqlite }
        drain: { grace: 0s }
        log: { level: notice, format: text }

        """
    }
}
