import BenchmarkSupport
import Foundation
import GatewayCore
import GatewayStore
import GatewaySupport
import Logging
import NIOCore

/// The size of the journal in MiB. The journal's own code writes it, with its index.
struct JournalSize: Dimension {
    let name = "journal, MiB"
    let sizes = [1, 2_048]

    private static let needed = 6 << 30

    func obstacle(in directory: String) -> String? {
        let free = try? FileManager.default.attributesOfFileSystem(forPath: directory)[.systemFreeSize] as? Int
        guard let free, free >= Self.needed else { return "skipped: \(directory) has less than 6 GB free" }
        return nil
    }

    func prepare(_ setup: inout GatewaySetup, size: Int) async throws {
        var configuration = JournalFile.Configuration(
            directory: setup.journal, logger: Logger(label: "journal") { _ in SwiftLogNoOpLogHandler() })
        configuration.minimumFree = 0
        let journal = try JournalFile(configuration)
        var written = 0
        var number: UInt64 = 0
        while written < size << 20 {
            let records = (0..<1_000).flatMap { _ in
                number += 1
                return Self.records(number)
            }
            try await journal.record(records)
            // Estimate the size from one record, because all have a similar length.
            written += records.count * Self.bytesPerRecord
        }
        await journal.close()
        // A gateway that wrote this journal would also have its index.
        let index = AuditIndex(directory: setup.journal)
        defer { index.close() }
        try index.update()
    }

    func calls(_ setup: GatewaySetup, size: Int) throws -> [(name: String, requests: [ByteBuffer])] {
        [("send, token", [CallBytes.send("Bearer \(try setup.tokens(of: ["alice"])[0])")])]
    }

    private static let bytesPerRecord = 400

    private static func records(_ number: UInt64) -> [JournalRecord] {
        var facts = CallFacts(
            call: CallID(process: 1, number: number), peer: Peer(address: .v4(0xC000_0201), text: "192.0.2.1"))
        facts.action = .send
        facts.user = UserName(canonical: "alice")
        facts.authenticator = "hmac-token"
        facts.recipient = UserName(canonical: "user-\(number % 1_000)")
        facts.pns = .apns
        facts.rule = "send[0]"
        facts.bytes = 23
        facts.digest = KeyedDigest([UInt8](repeating: 7, count: 16))
        return [
            JournalRecord(.intent, facts: facts),
            JournalRecord(.outcome, facts: facts, result: "accepted", status: 200, milliseconds: 1),
        ]
    }
}
