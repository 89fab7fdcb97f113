import Foundation
import GatewayConfiguration
import GatewayCore
import GatewayTesting
import Logging
import Testing

@testable import Gateway
@testable import GatewayServer
@testable import GatewayStore
@testable import GatewaySupport

/// The shipped rules for log monitors, compared with the output of the gateway.
@Suite("Failed logins in log and journal")
struct LoginRecordTests {
    /// Returns the log and journal lines of four failed logins and a ban. Some names try to forge a line.
    private func written() throws -> (log: [String], journal: [String]) {
        let (journal, clock, pipe) = (MemoryJournal(), ManualClock(), Pipe())
        let writer = LogWriter(descriptor: pipe.fileHandleForWriting.fileDescriptor)
        let logger = Logger(label: "notify-gateway") { label in
            StructuredLogHandler(
                logLevel: .notice, label: label, format: .json, writer: writer, clocks: clock.clocks)
        }
        let logins = FailedLoginRecorder(
            journal: journal, clocks: clock.clocks, throttle: LoginThrottle(clocks: clock.clocks), names: NameRules())
        let names = ["bob", #"x","peer":"198.51.100.9","reason":"wrong"}"#, "a\\", "b\u{1B}[2J\"\n"]
        for (number, name) in names.enumerated() {
            var facts = CallFacts(
                call: CallID(process: 1, number: UInt64(number)), peer: Peer(address: .v4(7), text: "192.0.2.7"))
            facts.attempted = PresentedName(name)
            facts.authenticator = "static-users"
            _ = logins.record(Rejection(.credentialsRejected, "wrong").with(facts), logger)
            if number == 0 {
                let limit = Rejection.Extra.limit(name: "login-pair", retryAfterSeconds: 30)
                _ = logins.record(Rejection(.rateLimited, "throttle", extra: limit).with(facts), logger)
            }
        }
        writer.flush()
        try pipe.fileHandleForWriting.close()
        let log = String(decoding: try #require(try pipe.fileHandleForReading.readToEnd()), as: UTF8.self)
        let lines = journal.records(.rejection).map { String(decoding: JournalEntry($0).members, as: UTF8.self) }
        return (log.split(separator: "\n").map(String.init), lines)
    }

    @Test("The fail2ban filter matches each failed login and each ban with the client address")
    func fail2ban() throws {
        let file = TestData.package.appending(path: "deploy/fail2ban/filter.d/notify-gateway.conf")
        let text = try String(contentsOf: file, encoding: .utf8)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("failregex = ") })
        let pattern = line.dropFirst("failregex = ".count).replacing("<HOST>", with: "(?<host>[0-9A-Fa-f.:]+)")
        let regex = try NSRegularExpression(pattern: String(pattern))
        let log = try written().log
        #expect(log.count == 5)
        for line in log {
            // fail2ban matches a line of a file without its date, and an entry of systemd's journal behind its origin.
            for line in [line, line.replacing(/"at":"[^"]*"/, with: "\"at\":\"\""), "gate notify-gateway[47]: \(line)"]
            {
                let match = regex.firstMatch(in: line, range: NSRange(line.startIndex..., in: line))
                let host = match.flatMap { Range($0.range(withName: "host"), in: line) }.map { String(line[$0]) }
                #expect(host == "192.0.2.7", "\(line)")
            }
        }
        let other = try #require(log.first).replacing("Login failed", with: "Call rejected")
        #expect(regex.firstMatch(in: other, range: NSRange(other.startIndex..., in: other)) == nil)
    }

    @Test("The Sigma rule names members that the journal records contain")
    func sigma() throws {
        let file = TestData.package.appending(path: "deploy/sigma/failed-logins.yml")
        let root = try YAMLDocument.parse(try String(contentsOf: file, encoding: .utf8), file: file.lastPathComponent)
        let detection = try #require(root["detection"])
        let records = try written().journal
        #expect(records.count == 5)
        for (name, expected) in [("failed", 4), ("refused", 1)] {
            let selection = try #require(detection[name]?.texts)
            #expect(selection.keys.sorted() == ["kind", "result"])
            #expect(
                records.count { record in selection.allSatisfy { record.contains(",\"\($0.key)\":\"\($0.value)\"") } }
                    == expected)
        }
        #expect(records.contains { $0.contains(#","attempted":"bob""#) && $0.contains(#","reason":"wrong""#) })
        #expect(records.contains { $0.contains(#","rule":"login-pair""#) && $0.contains(#","reason":"30 s""#) })
    }
}

extension ConfigurationNode {
    fileprivate subscript(_ name: String) -> ConfigurationNode? {
        guard case .mapping(let entries) = shape else { return nil }
        return entries.first { $0.name == name }?.value
    }

    /// The scalar entries of a mapping.
    fileprivate var texts: [String: String]? {
        guard case .mapping(let entries) = shape else { return nil }
        return entries.reduce(into: [:]) { texts, entry in
            if case .scalar(let text, _) = entry.value.shape { texts[entry.name] = text }
        }
    }
}
