import Foundation
import NIOCore
import NIOPosix

/// A client of HTTP/2 with prior knowledge (RFC 9113) on one connection: says what it is told, frame by frame, and hands over what
/// comes back. Of the fields of an answer it reads only whether the status is 200.
struct StreamClient {
    struct Frame: Sendable, Equatable {
        let type: UInt8
        let flags: UInt8
        let stream: UInt32
        let payload: [UInt8]

        /// Takes the first frame off the front of the bytes; nil where it is not complete.
        fileprivate init?(takenFrom bytes: inout [UInt8]) {
            guard bytes.count >= 9 else { return nil }
            let end = 9 + Int(StreamClient.number(bytes[..<3]))
            guard bytes.count >= end else { return nil }
            (type, flags, stream) = (bytes[3], bytes[4], StreamClient.number(bytes[5..<9]))
            payload = Array(bytes[9..<end])
            bytes.removeFirst(end)
        }

        /// `:status: 200` is one byte, by the table that both sides know (RFC 7541, appendix A).
        var isGood: Bool { type == 1 && payload.first == 0x88 }

        /// The last stream that is served, and the reason, of a GOAWAY.
        var lastStream: UInt32? { type == 7 ? StreamClient.number(payload.prefix(4)) : nil }
        var reason: UInt32? { type == 7 ? StreamClient.number(payload[4..<8]) : nil }
    }

    private let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>

    /// Connects to what listens on a Unix socket, says the preface, and stays until the other side closes the connection.
    ///
    /// - Parameters:
    ///   - begin: what is done first.
    ///   - each: is handed every frame that comes back, in order; the next one is not read before it returns.
    static func run(
        socket path: String, _ begin: (StreamClient) async throws -> Void,
        each: (Frame, StreamClient) async throws -> Void
    ) async throws {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(unixDomainSocketPath: path) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        try await channel.executeThenClose { inbound, outbound in
            let client = StreamClient(outbound: outbound)
            try await outbound.write(ByteBuffer(string: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
            try await client.say(type: 4, flags: 0, stream: 0, [])
            try await begin(client)
            var rest: [UInt8] = []
            for try await more in inbound {
                rest += more.readableBytesView
                while let frame = Frame(takenFrom: &rest) { try await each(frame, client) }
            }
        }
    }

    /// Makes a call on a stream of its own; the user's password is the name.
    func call(_ stream: UInt32, _ method: String, _ path: String, as user: String, body: String) async throws {
        let pair = Data("\(user):\(user)".utf8).base64EncodedString()
        let fields = [
            (":method", method), (":scheme", "http"), (":path", path), (":authority", "gateway.test"),
            ("authorization", "Basic \(pair)"), ("content-type", "application/json"),
        ]
        // Field lines that are not indexed and not compressed (RFC 7541, section 6.2.2); none is longer than 126 bytes.
        let block = fields.flatMap { name, value -> [UInt8] in
            [0, UInt8(name.utf8.count)] + Array(name.utf8) + [UInt8(value.utf8.count)] + Array(value.utf8)
        }
        try await say(type: 1, flags: 4, stream: stream, block)
        try await say(type: 0, flags: 1, stream: stream, Array(body.utf8))
    }

    private func say(type: UInt8, flags: UInt8, stream: UInt32, _ payload: [UInt8]) async throws {
        var bytes = ByteBuffer()
        bytes.writeBytes([0, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF), type, flags])
        bytes.writeInteger(stream)
        bytes.writeBytes(payload)
        try await outbound.write(bytes)
    }

    fileprivate static func number(_ bytes: some Collection<UInt8>) -> UInt32 {
        bytes.reduce(0) { $0 << 8 | UInt32($1) }
    }
}
