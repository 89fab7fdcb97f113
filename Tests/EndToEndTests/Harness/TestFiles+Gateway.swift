import Foundation
import GatewayTesting

extension TestFiles {
    /// What the configuration of a gateway that runs as a program has, unless a test says otherwise: ports of the system's choice, a
    /// control socket, the embedded backend, stores in the directory.
    private static let sections = [
        ("listen", #"[{ address: "127.0.0.1:0" }]"#), ("admin", #"{ address: "127.0.0.1:0" }"#),
        ("control", "control.sock"), ("backend", "{ url: embedded }"),
        ("authenticators", "[{ static-users: { file: users.yaml } }]"),
        ("policy", #"{ send: [{ from: "*", to: "*" }] }"#), ("journal", "{ directory: journal, minimum-free: 0 }"),
        ("ledger", "{ file: ledger.sqlite }"),
    ]

    /// A directory with users and a `gateway.yaml`.
    ///
    /// - Parameter own: sections of the test's own, in place of those that most have.
    static func ofGateway(_ own: String = "") throws -> TestFiles {
        let directory = try TestFiles()
        try directory.write(GatewayUnderTest.users, to: "users.yaml")
        try directory.configure(own)
        return directory
    }

    /// Writes `gateway.yaml`, as `ofGateway` does.
    func configure(_ own: String) throws {
        let named = Set(
            own.split(separator: "\n").compactMap { $0.wholeMatch(of: /([a-z-]+):.*/).map { String($0.1) } })
        let common = Self.sections.filter { !named.contains($0.0) }.map { "\($0): \($1)\n" }.joined()
        try write("\(common)\(own)\n", to: "gateway.yaml")
    }

    /// Runs a command of the program with that configuration.
    func command(_ arguments: String..., input: String = "") async throws -> Program.Outcome {
        try await Program.run(arguments + ["--config", "gateway.yaml"], input: input, in: path)
    }
}
