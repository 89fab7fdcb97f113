import Foundation
import GatewayTesting

extension TestFiles {
    /// The default sections of the configuration: ports that the system chooses, a control socket, the embedded
    /// backend, and stores in the directory.
    private static let sections = [
        ("listen", #"[{ address: "127.0.0.1:0" }]"#), ("admin", #"{ address: "127.0.0.1:0" }"#),
        ("control", "control.sock"), ("backend", "{ url: embedded }"),
        ("authenticators", "[{ static-users: { file: users.yaml } }]"),
        ("policy", #"{ send: [{ from: "*", to: "*" }] }"#), ("journal", "{ directory: journal, minimum-free: 0 }"),
        ("ledger", "{ file: ledger.sqlite }"),
    ]

    /// Creates a directory with a users file and a `gateway.yaml`.
    ///
    /// - Parameter own: sections that replace the default sections of the same name.
    static func ofGateway(_ own: String = "") throws -> TestFiles {
        let directory = try TestFiles()
        try directory.write(GatewayUnderTest.users, to: "users.yaml")
        try directory.configure(own)
        return directory
    }

    /// Writes `gateway.yaml` with the default sections and the given ones.
    func configure(_ own: String) throws {
        let named = Set(
            own.split(separator: "\n").compactMap { $0.wholeMatch(of: /([a-z-]+):.*/).map { String($0.1) } })
        let common = Self.sections.filter { !named.contains($0.0) }.map { "\($0): \($1)\n" }.joined()
        try write("\(common)\(own)\n", to: "gateway.yaml")
    }

    /// Runs a command of the program with this configuration.
    func command(_ arguments: String..., input: String = "") async throws -> Program.Outcome {
        try await Program.run(arguments + ["--config", "gateway.yaml"], input: input, in: path)
    }
}
