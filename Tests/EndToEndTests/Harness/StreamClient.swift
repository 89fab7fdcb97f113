import Foundation
import NIOCore
import NIOPosix

/// An HTTP/2 client with prior knowledge (RFC 9113) on one connection. It sends frames and returns the received frames.
/// It decodes no response field except `:status: 200`.
struct StreamClient {
    struct Frame: Sendable, Equatable {
        let type: UInt8
        let flags: UInt8
        let stream: UInt32
        let payload: [UInt8]

        /// Removes the first frame from the bytes. Returns nil if the frame is not complete.
        fileprivate init?(takenFrom bytes: inout [UInt8]) {
            guard bytes.count >= 9 else { return nil }
            let end = 9 + Int(StreamClient.number(bytes[..<3]))
            guard bytes.count >= end else { return nil }
            (type, flags, stream) = (bytes[3], bytes[4], StreamClient.number(bytes[5..<9]))
            payload = Array(bytes[9..<end])
            bytes.removeFirst(end)
        }

        /// Whether the frame is a response with status 200. `:status: 200` is one byte, an index into the static table
        /// (RFC 7541, appendix A).
        var isGood: Bool { type == 1 && payload.first == 0x88 }

        /// The last stream that is processed and the error code of a GOAWAY frame.
        var lastStream: UInt32? { type == 7 ? StreamClient.number(payload.prefix(4)) : nil }
        var reason: UInt32? { type == 7 ? StreamClient.number(payload[4..<8]) : nil }
    }

    private let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>

    /// Connects to a listener on a Unix socket, sends the preface and reads until the peer closes the connection.
    ///
    /// - Parameters:
    ///   - begin: runs before the first read.
    ///   - each: receives each frame in order; the next frame is read after it returns.
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

    /// Sends a request on a stream. The password equals the user name.
    func call(_ stream: UInt32, _ method: String, _ path: String, as user: String, body: String) async throws {
        let pair = Data("\(user):\(user)".utf8).base64EncodedString()
        let fields = [
            (":method", method), (":scheme", "http"), (":path", path), (":authority", "gateway.test"),
            ("authorization", "Basic \(pair)"), ("content-type", "application/json"),
        ]
        // The fields are literals without indexing and without Huffman coding (RFC 7541, section 6.2.2), each at most
        // 126 bytes long.
        let block = fields.flatMap { name, value -> [UInt8] in
            [0, UInt8(name.utf8.count)] + Array(name.utf8) + [UInt8(value.utf8.count)] + Array(value.utf8)
        }
        try await say(type: 1, flags: 4, stream: stream, block)
        try await say(type: 0, flags: 1, stream: stream, Array(body.utf8))
    }

    /// Answers a PING frame.
    func answer(_ ping: Frame) async throws { try await say(type: 6, flags: 1, stream: 0, ping.payload) }

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
