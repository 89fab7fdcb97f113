@testable import GatewayCore
@testable import GatewayStore
@testable import GatewaySupport

/// The encoding of the journal's lines by event loop and writer, without a file, for a number of records per batch.
private final class Lines {
    private var batch = JournalBatch(chain: .beginning, signer: nil)
    private let records: [JournalRecord]

    init(batchOf count: Int) {
        let facts = Sample.facts
        records = (0..<count).map { number in
            number.isMultiple(of: 2)
                ? JournalRecord(.intent, facts: facts)
                : JournalRecord(.outcome, facts: facts, result: "accepted", status: 200, milliseconds: 3)
        }
    }

    func encode() throws -> Bool {
        batch.open(clocks: .system)
        for record in records { try batch.append(JournalEntry(record)) }
        let bytes = batch.bytes
        return bytes.count > records.count * 300 && bytes.last == UInt8(ascii: "\n")
    }
}

func measureRecording() {
    measure("encode-and-chain-an-intent") {
        Lines(batchOf: 1)
    } _: {
        try $0.encode()
    }
    measure("encode-and-chain-32-records") {
        Lines(batchOf: 32)
    } _: {
        try $0.encode()
    }
    measure("digest-a-message") {
        KeyedDigester(key: Secret(Array(repeating: 7, count: 32)))
    } _: {
        $0.digest(Array(Sample.message.utf8)) != nil
    }
}
