import Gateway
import GatewayCore
import Testing

@testable import GatewayHTTP

/// Tests of the encoding of response fields (RFC 7541): a client cannot make the encoder's dynamic table grow.
@Suite struct ResponseFieldEncodingTests {
    typealias Frame = FrameClient.Frame

    @Test("No response adds an entry to the dynamic table, whatever size the client allows")
    func noResponseAddsAnEntry() throws {
        let serving = ClosureResponder { _ in Response(status: 200, body: []) }
        let connection = try EmbeddedHTTP2Connection(serving)
        // SETTINGS_HEADER_TABLE_SIZE
        try connection.send(bytes: FrameClient.preface + Frame.setting(1, .max).bytes + Frame.settingsAck.bytes)
        var blocks = 0
        for number in 0..<2000 as Range<UInt32> {
            try connection.send(.headers(2 * number + 1, HTTP2Fixture.get("/")))
            for frame in try connection.frames() where frame.type == 1 {
                #expect(try Self.entriesAdded(frame.payload) == 0)
                blocks += 1
            }
            if !connection.isOpen { break }
        }
        #expect(blocks >= 100)
    }

    private struct Truncated: Error {}

    /// Returns the number of literals with incremental indexing (RFC 7541, section 6.2.1) in a block.
    private static func entriesAdded(_ block: [UInt8]) throws -> Int {
        var rest = block[...]
        var added = 0
        func integer(_ bits: Int) throws -> Int {
            guard let first = rest.popFirst() else { throw Truncated() }
            let mask = 1 << bits - 1
            var value = Int(first) & mask
            guard value == mask else { return value }
            var shift = 0
            while true {
                guard let byte = rest.popFirst(), shift <= 28 else { throw Truncated() }
                value += Int(byte & 0x7F) << shift
                shift += 7
                if byte & 0x80 == 0 { return value }
            }
        }
        func skipText() throws {
            let length = try integer(7)
            guard length <= rest.count else { throw Truncated() }
            rest = rest.dropFirst(length)
        }
        while let first = rest.first {
            if first & 0x80 != 0 {
                _ = try integer(7)
            } else if first & 0xE0 == 0x20 {
                _ = try integer(5)
            } else {
                let isIndexed = first & 0x40 != 0
                if isIndexed { added += 1 }
                if try integer(isIndexed ? 6 : 4) == 0 { try skipText() }
                try skipText()
            }
        }
        return added
    }
}
