@testable import GatewayCore
@testable import GatewayStore

/// The journal's lines as the writer makes them, without a file: so many records a batch.
private final class Lines {
    private var batch = JournalBatch(chain: .beginning, signer: nil)
    private let entries: [JournalEntry]

    init(batchOf count: Int) {
        let facts = Sample.facts
        entries = (0..<count).map { number in
            let kind: JournalRecord.Kind = number.isMultiple(of: 2) ? .intent : .outcome
            return .record(
                kind == .intent
                    ? JournalRecord(.intent, facts: facts)
                    : JournalRecord(.outcome, facts: facts, result: "accepted", status: 200, milliseconds: 3))
        }
    }

    func encode() throws -> Bool {
        batch.open(clocks: .system)
        for entry in entries { try batch.append(entry) }
        let bytes = batch.bytes
        return bytes.count > entries.count * 300 && bytes.last == UInt8(ascii: "\n")
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
