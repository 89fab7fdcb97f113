import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import StaticUsers
import Testing

@Suite("Concurrent changes of the users file")
struct UsersFileLockTests {
    @Test("An edit starts from the content that the file has once the lock is acquired")
    func serial() async throws {
        let files = try TestFiles()
        let path = files.path + "/users.yaml"
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<24 {
                group.addTask {
                    try await Task.detached {
                        try UsersFile.edit(path, names: NameRules()) { file throws(ConfigurationError) in
                            try file.add("u\(number)", passwordHash: Hashes.sha512)
                        }
                    }.value
                }
            }
            try await group.waitForAll()
        }
        #expect(try UsersFile.load(path, names: NameRules()).users.count == 24)
        #expect(try files.names() == ["users.yaml"])
    }

    @Test("A lock that is not released makes the edit fail with a message and changes nothing")
    func held() throws {
        let files = try TestFiles()
        let path = files.path + "/users.yaml"
        let lock = try SecretFile.Lock(path)
        do {
            _ = try SecretFile.Lock(path, maximumWait: .milliseconds(20))
            Issue.record("two have the lock")
        } catch {
            #expect(error.description.contains("another command has held the lock"))
            #expect(error.description.contains("nothing was changed"))
        }
        withExtendedLifetime(lock) {}
        #expect(try files.names() == [])
    }

    @Test("The next edit removes the temporary file of a killed command")
    func killed() throws {
        let files = try TestFiles()
        let path = try files.write("users: { a: { hash: \"\(Hashes.sha512)\" } }")
        try files.write("users:", to: ".users.yaml.notify-gateway-new")
        try UsersFile.edit(path, names: NameRules()) { file throws(ConfigurationError) in
            try file.add("b", passwordHash: Hashes.sha512)
        }
        #expect(try UsersFile.load(path, names: NameRules()).users.map(\.name) == ["a", "b"])
        #expect(try files.names() == ["users.yaml"])
    }
}
