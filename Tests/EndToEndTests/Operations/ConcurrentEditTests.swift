import Foundation
import GatewayTesting
import Testing

@Suite("Concurrent changes of a file")
struct ConcurrentEditTests {
    @Test("Each of 50 concurrent `users add` commands that succeeds adds its user")
    func users() async throws {
        let directory = try TestFiles.ofGateway()
        try FileManager.default.removeItem(atPath: directory.path + "/users.yaml")
        let names = (1...50).map { "user\($0)" }
        let added = try await withThrowingTaskGroup(of: String?.self) { group in
            for name in names {
                group.addTask {
                    try await directory.command("users", "add", name, input: "a password\n").status == 0 ? name : nil
                }
            }
            return try await group.reduce(into: Set<String>()) { added, name in
                if let name { added.insert(name) }
            }
        }
        let listed = try await directory.command("users", "list").output.split(separator: "\n").map(String.init)
        #expect(Set(listed) == added)
        #expect(added.count == 50)
        #expect(listed.count == 50)
        #expect(try directory.names() == ["gateway.yaml", "users.yaml"])
    }

    @Test("Each of 12 concurrent `keys rotate` commands adds its key")
    func keys() async throws {
        let directory = try TestFiles.ofGateway("authenticators: [{ hmac-token: { keys: token-keys.yaml } }]")
        try await withThrowingTaskGroup(of: Int32.self) { group in
            for number in 1...12 {
                group.addTask { try await directory.command("keys", "rotate", "--id", "k\(number)").status }
            }
            for try await status in group { #expect(status == 0) }
        }
        let keys = try directory.text(of: "token-keys.yaml")
        for number in 1...12 { #expect(keys.contains("\"k\(number)\"")) }
    }

    @Test("`users list --json` prints name, groups and state of each user, and no hash")
    func listing() async throws {
        let directory = try TestFiles.ofGateway()
        let lines = try await directory.command("users", "list", "--json").output.split(separator: "\n")
        #expect(lines.count == 4)
        #expect(lines.first == #"{"user":"alice","canonical":"alice","groups":[],"disabled":false}"#)
        #expect(lines.contains(#"{"user":"bob","canonical":"bob","groups":["staff"],"disabled":false}"#))
    }
}
