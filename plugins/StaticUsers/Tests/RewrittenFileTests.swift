import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import StaticUsers

/// Programs that write the users file while the gateway looks at it. The looks are scripted, so nothing depends on time.
@Suite("A users file in the middle of a write")
struct RewrittenFileTests {
    /// A way in which a program brings the file to its final content. Between two steps the gateway looks at the file.
    struct Way: CustomTestStringConvertible, Sendable {
        let name: String
        /// The steps, each with the number of looks after it.
        let steps: [Step]
        var testDescription: String { name }
    }

    /// A change of the file, and the number of looks after it.
    struct Step: Sendable {
        let looks: Int
        let write: @Sendable (UsersPath) throws -> Void

        init(_ looks: Int, _ write: @escaping @Sendable (UsersPath) throws -> Void) {
            self.looks = looks
            self.write = write
        }
    }

    /// The users file of a test.
    struct UsersPath: Sendable {
        let path: String

        /// Writes into the file that exists, as shells and `htpasswd` do.
        func inPlace(_ text: String, from offset: UInt64? = nil, truncating: Bool = true) throws {
            if !FileManager.default.fileExists(atPath: path) {
                FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600])
            }
            let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
            if truncating { try handle.truncate(atOffset: offset ?? 0) }
            try handle.seek(toOffset: offset ?? 0)
            try handle.write(contentsOf: Data(text.utf8))
            try handle.close()
        }

        /// Appends to the file.
        func append(_ text: String) throws {
            let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
            try handle.seekToEnd()
            try handle.write(contentsOf: Data(text.utf8))
            try handle.close()
        }

        /// Writes another file and renames it.
        func renamed(_ text: String) throws {
            try UsersPath(path: path + ".new").inPlace(text)
            try rename(path + ".new")
        }

        func rename(_ other: String) throws {
            guard Foundation.rename(other, path) == 0 else { throw CocoaError(.fileWriteUnknown) }
        }

        func remove() throws { try FileManager.default.removeItem(atPath: path) }

        /// Sets the time of the last modification.
        func setModified(_ time: Date) throws {
            try FileManager.default.setAttributes([.modificationDate: time], ofItemAtPath: path)
        }

        /// Replaces the file by a symbolic link to a file with the text.
        func link(_ text: String, _ name: String) throws {
            try UsersPath(path: path + name).inPlace(text)
            let link = path + ".link"
            try? FileManager.default.removeItem(atPath: link)
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path + name)
            guard Foundation.rename(link, path) == 0 else { throw CocoaError(.fileWriteUnknown) }
        }
    }

    /// The names of the file at the beginning and at the end.
    static let names = (0..<40).map { "user\($0 + 10)" }
    static let lines = names.map { "\($0):\(Hashes.sha256)\n" }
    static let text = lines.joined()

    private static func prefix(_ count: Int) -> String { lines.prefix(count).joined() }

    /// The number of looks that find the file without so many users before it counts.
    private static func pause(missing count: Int) -> Int { min(count, FileSettling.maximumLooks) }

    static let ways: [Way] = {
        var ways: [Way] = []
        // Every prefix of lines, with as long a pause as the program may take.
        for count in 0..<names.count {
            ways.append(
                Way(
                    name: "in place, with a pause after \(count) lines",
                    steps: [
                        Step(pause(missing: names.count - count), { try $0.inPlace(prefix(count)) }),
                        Step(1, { try $0.append(lines.dropFirst(count).joined()) }),
                    ]))
        }
        // A torn line at the end.
        for bytes in [1, 7, 8, 30, 51] {
            let text = prefix(20) + lines[20].prefix(bytes)
            ways.append(
                Way(
                    name: "in place, with a pause within a line after \(bytes) bytes",
                    steps: [
                        Step(30, { try $0.inPlace(text) }),
                        Step(1, { try $0.append(String(Self.text.dropFirst(text.count))) }),
                    ]))
        }
        // A loop of htpasswd, which writes the file once for each user. Its pauses may be as long near the end.
        for pause in [1, 4, 8, FileSettling.maximumLooks] {
            ways.append(
                Way(
                    name: "htpasswd in a loop, with \(pause) looks after each user",
                    steps: (0..<names.count).map { number in Step(pause, { try $0.inPlace(prefix(number + 1)) }) }))
        }
        ways += [
            Way(name: "renamed", steps: [Step(1, { try $0.renamed(text) })]),
            Way(
                name: "renamed, slowly written",
                steps: [
                    Step(3, { try UsersPath(path: $0.path + ".new").inPlace(prefix(10)) }),
                    Step(1, { try UsersPath(path: $0.path + ".new").append(lines.dropFirst(10).joined()) }),
                    Step(1, { try $0.rename($0.path + ".new") }),
                ]),
            Way(
                name: "truncated, then written",
                steps: [Step(FileSettling.maximumLooks, { try $0.inPlace("") }), Step(1, { try $0.inPlace(text) })]),
            Way(
                name: "deleted and created",
                steps: [
                    Step(30, { try $0.remove() }), Step(3, { try $0.inPlace("") }),
                    Step(3, { try $0.inPlace(prefix(5)) }),
                    Step(1, { try $0.inPlace(text) }),
                ]),
            Way(
                name: "deleted, then moved back",
                steps: [
                    Step(1, { try FileManager.default.moveItem(atPath: $0.path, toPath: $0.path + ".old") }),
                    Step(1, { try FileManager.default.moveItem(atPath: $0.path + ".old", toPath: $0.path) }),
                ]),
            Way(
                name: "symbolic link switched",
                steps: [Step(1, { try $0.link(prefix(30), ".1") }), Step(1, { try $0.link(text, ".2") })]),
            Way(
                name: "modification time kept",
                steps: [
                    Step(
                        FileSettling.maximumLooks,
                        {
                            try $0.inPlace(prefix(10))
                            try $0.setModified(Date(timeIntervalSince1970: 1))
                        }
                    ),
                    Step(
                        1,
                        {
                            try $0.inPlace(text)
                            try $0.setModified(Date(timeIntervalSince1970: 1))
                        }
                    ),
                ]),
            Way(
                name: "same size, filled with comments",
                steps: [
                    Step(
                        FileSettling.maximumLooks,
                        { try $0.inPlace(prefix(10) + String(repeating: "#", count: text.count - prefix(10).count)) }
                    ), Step(1, { try $0.inPlace(text) }),
                ]),
            Way(
                name: "in another order, without truncation",
                steps: [
                    Step(30, { try $0.inPlace(lines.reversed().prefix(10).joined(), truncating: false) }),
                    Step(1, { try $0.inPlace(lines.reversed().joined()) }),
                ]),
            Way(
                name: "replaced by a file for another machine, by mistake for a moment",
                steps: [
                    Step(FileSettling.maximumLooks, { try $0.renamed("root:\(Hashes.bcrypt)\n") }),
                    Step(1, { try $0.renamed(text) }),
                ]),
            Way(
                name: "with other passwords for a moment",
                steps: [
                    Step(
                        FileSettling.maximumLooks,
                        { try $0.inPlace(text.replacing(Hashes.sha256, with: Hashes.bcrypt)) }
                    ), Step(1, { try $0.inPlace(text) }),
                ]),
        ]
        return ways
    }()

    @Test("Nobody who is in the final file loses anything, however it was written", arguments: ways)
    func nobodyLoses(_ way: Way) async throws {
        let files = try TestFiles()
        let file = UsersPath(path: try files.write(Self.text, to: "users.htpasswd"))
        let made = try await StaticUsersPlugin.makeAuthenticator(.init(file: file.path), context: PluginContext.test())
        let authenticator = try #require(made as? StaticUsersAuthenticator)
        let before = authenticator.accounts(at: .test)
        for (number, step) in way.steps.enumerated() {
            try step.write(file)
            for look in 0..<step.looks {
                _ = await authenticator.reload()
                let lost = before.fingerprints.filter {
                    authenticator.accounts(at: .test).fingerprints[$0.key] != $0.value
                }
                #expect(lost.isEmpty, "step \(number), look \(look)")
            }
        }
        #expect(await authenticator.reload().isEmpty)
        #expect(authenticator.accounts(at: .test) == before)
    }

    @Test("There are at least 50 ways to write the file")
    func count() { #expect(Self.ways.count >= 50) }

    @Test("A user who is not in the file any more loses the account at the third look, and several soon")
    func removed() async throws {
        let files = try TestFiles()
        let file = UsersPath(path: try files.write(Self.text, to: "users.htpasswd"))
        let made = try await StaticUsersPlugin.makeAuthenticator(.init(file: file.path), context: PluginContext.test())
        let authenticator = try #require(made as? StaticUsersAuthenticator)
        try file.renamed(Self.prefix(39))
        try await authenticator.settle(afterLosses: 1)
        #expect(authenticator.accounts(at: .test).fingerprints.count == 39)
        try file.inPlace(Self.prefix(36))
        try await authenticator.settle(afterLosses: 3)
        #expect(authenticator.accounts(at: .test).fingerprints.count == 36)
        // A user who is added does not wait.
        try file.inPlace(Self.prefix(37))
        #expect(await authenticator.reload().isEmpty)
        #expect(authenticator.accounts(at: .test).fingerprints.count == 37)
    }

    @Test(
        "Each way to take something from a user waits for the third look",
        arguments: [
            "", "  bob: { hash: \"\(Hashes.otherSHA512)\", groups: [a, b], expires: 2027-01-31T00:00:00Z }\n",
            "  bob: { hash: \"\(Hashes.sha512)\", groups: [a], expires: 2027-01-31T00:00:00Z }\n",
            "  bob: { hash: \"\(Hashes.sha512)\", groups: [a, b] }\n",
            "  bob: { hash: \"\(Hashes.sha512)\", groups: [a, b], expires: 2027-01-31T00:00:00Z, disabled: true }\n",
        ])
    func losses(_ bob: String) async throws {
        let alice = "users:\n  alice: { hash: \"\(Hashes.sha512)\" }\n"
        let full = "  bob: { hash: \"\(Hashes.sha512)\", groups: [a, b], expires: 2027-01-31T00:00:00Z }\n"
        let files = try TestFiles()
        let file = try files.write(alice + full)
        let made = try await StaticUsersPlugin.makeAuthenticator(.init(file: file), context: PluginContext.test())
        let authenticator = try #require(made as? StaticUsersAuthenticator)
        let before = authenticator.accounts(at: .test)
        try files.write(alice + bob)
        for _ in 0..<2 {
            #expect(await authenticator.reload().map(\.severity) == [.warning])
            #expect(authenticator.accounts(at: .test) == before)
        }
        #expect(await authenticator.reload().isEmpty)
        #expect(authenticator.accounts(at: .test) != before)
    }
}
