import Foundation
import GatewayCore
import GatewayTesting
import Testing

@testable import GatewayStore
@testable import GatewaySupport

private typealias Fixture = JournalFixture

@Suite("Journal: checkpoints", .timeLimit(.minutes(5)))
struct JournalCheckpointTests {
    @Test("A checkpoint follows each thousand lines, the end and a restart; each signs the line before it")
    func everyThousand() async throws {
        let fixture = JournalFixture(isSigned: true)
        let journal = try fixture.open()
        for batch in 0..<25 {
            let calls = (0..<50).map { batch * 50 + $0 }
            try await journal.record(calls.flatMap { [Fixture.intent($0), Fixture.outcome($0)] })
        }
        await journal.close()
        let lines = try fixture.lines()
        let places = lines.filter { $0.kind == "checkpoint" }.map(\.seq)
        #expect(places == [1001, 2002, lines.count])
        for line in lines where line.kind == "checkpoint" {
            let signature = try #require((line.members["signature"] as? String).flatMap { Data(base64Encoded: $0) })
            let (head, time) = (line.members["prev"] as? String ?? "", line.members["at"] as? String ?? "")
            #expect(line.members["head"] as? String == head)
            #expect(line.members["through"] as? Int == line.seq - 1)
            #expect(line.members["format"] as? Int == 1)
            // The signed text, written out from the format's description alone.
            let message = "notify-gateway journal\ncheckpoint\n\(line.seq - 1)\n\(head)\n\(time)\n"
            #expect(Fixture.key.publicKey.verifies(Array(signature), of: Array(message.utf8)))
        }
        await (try fixture.open()).close()
        #expect(try fixture.lines().suffix(4).map(\.kind) == ["checkpoint", "start", "stop", "checkpoint"])
        let report = try fixture.verified()
        #expect(report.finding == nil)
        #expect(report.checkpoints == 5)
        #expect(report.signedThrough == report.last - 1)
    }

    @Test("A call with more records than a checkpoint covers gets a checkpoint within")
    func withinACall() async throws {
        let fixture = JournalFixture(isSigned: true)
        let journal = try fixture.open()
        try await journal.record((0..<3500).map { Fixture.intent($0) })
        await journal.close()
        #expect(try fixture.lines().filter { $0.kind == "checkpoint" }.map(\.seq).prefix(3) == [1001, 2002, 3003])
        #expect(try fixture.verified().finding == nil)
    }

    @Test("Records older than a minute are signed, with the next batch or without one")
    func everyMinute() async throws {
        let fixture = JournalFixture(isSigned: true)
        let journal = try fixture.open()
        try await journal.record([Fixture.intent(1)])
        fixture.hands.pass(seconds: 59)
        try await journal.record([Fixture.intent(2)])
        #expect(try fixture.lines().count { $0.kind == "checkpoint" } == 0)
        fixture.hands.pass(seconds: 1)
        try await journal.record([Fixture.intent(3)])
        // The checkpoint is in the batch or just before it, depending on when the writer read the clock.
        #expect(try fixture.lines().suffix(2).count { $0.kind == "checkpoint" } == 1)
        await journal.close()

        var idle = JournalFixture(isSigned: true)
        idle.configuration.checkpointInterval = .zero
        let quiet = try idle.open()
        await idle.files.state.wait { state in
            state.durable.values.contains { String(decoding: $0, as: UTF8.self).contains("\"kind\":\"checkpoint\"") }
        }
        #expect(try idle.lines().map(\.kind) == ["start", "checkpoint"])
        await quiet.close()
    }

    @Test("Each full segment ends with a checkpoint")
    func rotation() async throws {
        let fixture = JournalFixture(segmentBytes: 2000, isSigned: true)
        let journal = try fixture.open()
        for number in 0..<40 { try await journal.record([Fixture.intent(number), Fixture.outcome(number)]) }
        await journal.close()
        for segment in try JournalReading.segments(in: fixture.directory) {
            let last = try fixture.directory.bytes(segment).split(separator: 0x0A).last
            #expect(try JournalReading.line(Array(#require(last))).kind == "checkpoint")
        }
        #expect(try fixture.verified().finding == nil)
    }

    @Test("A segment that is a day old is replaced, full or not")
    func daily() async throws {
        let fixture = JournalFixture(isSigned: true)
        let journal = try fixture.open()
        fixture.hands.pass(seconds: 86_399)
        try await journal.record([Fixture.intent(1)])
        #expect(try JournalReading.segments(in: fixture.directory).count == 1)
        fixture.hands.pass(seconds: 1)
        try await journal.record([Fixture.intent(2)])
        #expect(try JournalReading.segments(in: fixture.directory).count == 2)
        await journal.close()
        #expect(try fixture.verified().finding == nil)
    }

    @Test(
        "Checkpoints are copied, a failing copy does not block the journal, and the copy shows a cut end")
    func copies() async throws {
        let place = TemporaryDirectory()
        var fixture = JournalFixture(isSigned: true)
        fixture.configuration.checkpointCopy = .file(place("nowhere"))
        await (try fixture.open()).close()
        try PrivateFiles.makeDirectory(place.path)
        fixture.configuration.checkpointCopy = .file(place("copy"))
        let journal = try fixture.open()
        try await journal.record((0..<1500).map { Fixture.intent($0) })
        await journal.close()
        let copies = try CheckpointCopies(file: place("copy"), keys: [Fixture.key.publicKey])
        #expect(copies.count == 3)
        #expect(try place.mode("copy") == 0o600)
        let good = try fixture.verified(copies: copies)
        #expect(good.finding == nil)
        #expect(good.copiesSeen == 3)

        let name = try #require(try JournalReading.segments(in: fixture.directory).last)
        let lines = try fixture.directory.bytes(name).split(separator: 0x0A)
        try fixture.directory.write(Array(lines.dropLast(2).joined(separator: [0x0A])) + [0x0A], to: name)
        #expect(try fixture.verified().finding == nil)
        let finding = try #require(try fixture.verified(copies: copies).finding)
        #expect(finding.number == good.last - 1)
        #expect(finding.what.contains("missing at the end"))
        // Only checkpoints signed by a known key count.
        let foreign = try CheckpointCopies(file: place("copy"), keys: [Fixture.key(9).publicKey])
        #expect(foreign.count == 0)
        #expect(foreign.unreadable == 3)
    }

    @Test("The system log gets the line unchanged after its prefix")
    func syslog() async throws {
        let place = TemporaryDirectory()
        try PrivateFiles.makeDirectory(place.path)
        let log = try DatagramSocket(path: place("log"))
        let line = Array(#"{"seq":1,"at":"x"}"#.utf8) + [0x0A]
        try CheckpointSyslog(path: place("log")).store(line)
        let text = String(decoding: try #require(log.receive()), as: UTF8.self)
        #expect(text == #"<85>notify-gateway[\#(getpid())]: {"seq":1,"at":"x"}"#)
        #expect(throws: FileFailure.self) { try CheckpointSyslog(path: place("none")).store(line) }
    }

    @Test("A journal of a newer version is rejected with its format number and stays unchanged")
    func newerFormat() async throws {
        for kind in ["start", "checkpoint"] {
            let fixture = JournalFixture(isSigned: true)
            await (try fixture.open()).close()
            let name = try #require(try JournalReading.segments(in: fixture.directory).first)
            let text = String(decoding: try fixture.directory.bytes(name), as: UTF8.self)
                .replacing(#""kind":"\#(kind)","format":1"#, with: #""kind":"\#(kind)","format":7"#)
                .split(separator: "\n")
            let newer = Array(text.prefix(kind == "start" ? 1 : 3).joined(separator: "\n").utf8)
            try fixture.directory.write(newer + [0x0A], to: name)
            let error = #expect(throws: JournalUnavailable.self) { try fixture.open() }
            #expect(error?.detail.contains("format 7") == true)
            #expect(try fixture.directory.bytes(name) == newer + [0x0A])
        }
    }

    @Test("The key is created only outside the journal's directory, and stays the same")
    func keyFile() throws {
        let place = TemporaryDirectory()
        let key = try SigningKeyFile.open(place("keys/journal.key"), outside: place("journal"), mayCreate: true)
        #expect(try place.mode("keys/journal.key") == 0o600)
        let again = try SigningKeyFile.open(place("keys/journal.key"), outside: place("journal"), mayCreate: false)
        #expect(again.publicKey == key.publicKey)
        #expect(throws: SigningKeyFile.Failure.self) {
            try SigningKeyFile.open(place("keys/other.key"), outside: place("journal"), mayCreate: false)
        }
        try FileManager.default.createDirectory(atPath: place("journal"), withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: place("link"), withDestinationPath: place("journal"))
        for inside in ["journal/a.key", "journal/deep/a.key", "link/a.key", "keys/../journal/a.key"] {
            let error = #expect(throws: SigningKeyFile.Failure.self) {
                try SigningKeyFile.open(place(inside), outside: place("journal"), mayCreate: true)
            }
            #expect(error?.description.contains("lies in the journal's directory") == true)
        }
        #expect(!SigningKeyFile.isInside(place("journal.key"), place("journal")))
    }
}

/// A socket in place of the system log's.
private final class DatagramSocket {
    private let descriptor: CInt

    init(path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(bound == 0)
    }

    func receive() -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
        return count >= 0 ? Array(bytes.prefix(count)) : nil
    }

    deinit { close(descriptor) }
}
