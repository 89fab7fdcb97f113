import GatewaySupport
import GatewayTesting
import NIOCore
import NIOEmbedded
import NIOSSL
import Testing

@testable import GatewayHTTP

/// Tests of reading the offered protocols from the first message of a TLS client.
@Suite struct ClientHelloTests {
    /// Returns the first bytes of a NIOSSL client.
    private func hello(_ protocols: [String]) throws -> ByteBuffer {
        let handler = try NIOSSLClientHandler(
            context: TLSOffer(protocols: protocols).context(), serverHostname: "localhost")
        let channel = EmbeddedChannel(handler: handler)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        let hello = try channel.readOutbound(as: ByteBuffer.self)
        _ = try? channel.finish()
        return try #require(hello)
    }

    /// Returns the result for bytes that arrive at once.
    private func reading(of bytes: ByteBuffer, supported: [String]) -> ClientHelloParser.ParseResult {
        var parser = ClientHelloParser()
        return parser.parse(bytes, supported: supported)
    }

    /// Returns the message in records of at most `size` bytes.
    private func fragmented(_ hello: ByteBuffer, by size: Int) throws -> ByteBuffer {
        var hello = hello
        let header = hello.readSlice(length: 5)
        let record = try #require(header)
        var pieces = ByteBuffer()
        while hello.readableBytes > 0 {
            let read = hello.readSlice(length: min(size, hello.readableBytes))
            let piece = try #require(read)
            pieces.writeImmutableBuffer(try #require(record.getSlice(at: record.readerIndex, length: 3)))
            pieces.writeInteger(UInt16(piece.readableBytes))
            pieces.writeImmutableBuffer(piece)
        }
        return pieces
    }

    static let offers: [(offered: [String], isAcceptable: Bool)] = [
        ([], true), (["http/1.1"], true), (["h2", "http/1.1"], true), (["http/1.0", "http/1.1"], true),
        (["h2"], false), (["http/1.0"], false), (["http/1.1x", "ttp/1.1"], false),
    ]

    @Test("A client without a common protocol is detected however its bytes are split", arguments: offers)
    func offersAreRead(_ offered: [String], _ isAcceptable: Bool) throws {
        let hello = try hello(offered)
        for count in 0..<hello.readableBytes {
            let part = try #require(hello.getSlice(at: hello.readerIndex, length: count))
            #expect(reading(of: part, supported: ["http/1.1"]) == .incomplete, "\(count)")
        }
        let expected = isAcceptable ? ClientHelloParser.ParseResult.acceptable : .noCommonProtocol
        #expect(reading(of: hello, supported: ["http/1.1"]) == expected)
    }

    @Test("A message in several records is read as one", arguments: [1, 3, 100])
    func severalRecords(_ size: Int) throws {
        let pieces = try fragmented(hello(["http/1.0"]), by: size)
        #expect(reading(of: pieces, supported: ["http/1.1"]) == .noCommonProtocol)
        #expect(reading(of: pieces, supported: ["http/1.0"]) == .acceptable)
    }

    @Test("Bytes that arrive one by one, in records of one byte, cost no more than one step each")
    func singleBytes() throws {
        let pieces = try fragmented(hello(["http/1.0"]), by: 1)
        var (parser, reading) = (ClientHelloParser(), ClientHelloParser.ParseResult.incomplete)
        for count in 1...pieces.readableBytes {
            let part = try #require(pieces.getSlice(at: pieces.readerIndex, length: count))
            #expect(reading == .incomplete)
            reading = parser.parse(part, supported: ["http/1.1"])
        }
        #expect(reading == .noCommonProtocol)
        // One for each byte, and one more for each complete record of six bytes.
        #expect(parser.parsedHeaders <= pieces.readableBytes + pieces.readableBytes / 6)
    }

    @Test("Bytes that are not a ClientHello are left to TLS")
    func otherBytes() {
        for bytes in [
            Array("GET / HTTP/1.1".utf8), [21, 3, 3, 0, 2, 1, 0], [22, 3, 1, 0, 0], [22, 3, 1, 0, 4, 1, 0, 0, 0],
        ] {
            #expect(reading(of: ByteBuffer(bytes: bytes), supported: []) == .acceptable, "\(bytes)")
        }
        let long = ByteBuffer(bytes: [23, 3, 1, 64, 0] + [UInt8](repeating: 1, count: 16_384))
        #expect(reading(of: long, supported: []) == .acceptable)
    }

    @Test("A message of more than 16 KiB, and one that is incomplete after 17 KiB, are too long")
    func tooLong() {
        func begin(_ length: Int, _ count: Int, records: Int = 1) -> ByteBuffer {
            let body = [1, UInt8(length >> 16), UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF)]
            let message = (body + [UInt8](repeating: 0, count: count)).prefix(count)
            let size = (count + records - 1) / records
            return ByteBuffer(
                bytes: stride(from: 0, to: count, by: size).flatMap { start in
                    let piece = message[start..<min(start + size, count)]
                    return [22, 3, 1, UInt8(piece.count >> 8), UInt8(piece.count & 0xFF)] + piece
                })
        }
        #expect(reading(of: begin(16_384, 16_000), supported: []) == .incomplete)
        #expect(reading(of: begin(16_385, 4), supported: []) == .tooLong)
        #expect(reading(of: begin(0xFF_FFFF, 16_000), supported: []) == .tooLong)
        // Records of one byte with headers of five bytes.
        #expect(reading(of: begin(16_384, 2900, records: 2900), supported: []) == .incomplete)
        #expect(reading(of: begin(16_384, 2902, records: 2902), supported: []) == .tooLong)
        #expect(reading(of: ByteBuffer(bytes: [22, 3, 1, 0xFF, 0xFF]), supported: []) == .incomplete)
        let endless = ByteBuffer(bytes: [22, 3, 1, 0xFF, 0xFF] + [UInt8](repeating: 1, count: 17_404))
        #expect(reading(of: endless, supported: []) == .tooLong)
    }

    @Test("No byte of a client traps")
    func nothingTraps() throws {
        let base = Array(try hello(["h2", "http/1.1"]).readableBytesView)
        var random = SplitMix(seed: 5)
        for _ in 0..<5000 {
            var bytes = base
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: .min ... .max, using: &random)
            }
            _ = reading(of: ByteBuffer(bytes: bytes), supported: ["http/1.1"])
        }
    }
}
