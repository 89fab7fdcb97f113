import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import NIOEmbedded
import Testing

@testable import ExternalProcess

@Suite("Frames of external-process")
struct FrameTests {
    @Test("A frame is decoded wherever the bytes are split")
    func everyCut() throws {
        let texts = [#"{"a":1}"#, "{}", String(repeating: "x", count: 300)]
        let bytes = texts.flatMap { Frame.encode(Array($0.utf8)).readableBytesView }
        for cut in 0...bytes.count {
            let channel = EmbeddedChannel(handler: ByteToMessageHandler(FrameDecoder()))
            try channel.writeInbound(ByteBuffer(bytes: bytes[..<cut]))
            try channel.writeInbound(ByteBuffer(bytes: bytes[cut...]))
            var found: [String] = []
            while let frame = try channel.readInbound(as: ByteBuffer.self) { found.append(String(buffer: frame)) }
            #expect(found == texts)
            _ = try channel.finish()
        }
    }

    @Test("The largest frame is accepted and one byte more is rejected")
    func bound() throws {
        let channel = EmbeddedChannel(handler: ByteToMessageHandler(FrameDecoder()))
        try channel.writeInbound(Frame.encode([UInt8](repeating: 0x20, count: Frame.maximumLength)))
        #expect(try channel.readInbound(as: ByteBuffer.self)?.readableBytes == Frame.maximumLength)
        #expect(throws: ProtocolError.frameLength(65_537)) {
            try channel.writeInbound(ByteBuffer(bytes: [0, 1, 0, 1]))
        }
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    @Test("Random bytes are rejected and never trap")
    func randomBytes() throws {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2000 {
            var state = ProtocolStateMachine()
            let bytes = (0..<Int.random(in: 0...64, using: &generator)).map { _ in
                UInt8.random(in: .min ... .max, using: &generator)
            }
            #expect(throws: ProtocolError.self) { _ = try state.receive(ByteBuffer(bytes: bytes)) }
            // After a fault, further frames are ignored.
            let step = try state.receive(ByteBuffer(string: PoolFixture.hello))
            if case .some = step { Issue.record("handled a frame after a fault") }
        }
    }

    @Test(
        "A request encodes any user name and password as JSON that reads back",
        arguments: TestData.naughtyStrings + ["\"\\\n\u{7F}"])
    func naughty(_ text: String) throws {
        let credential = Credential.password(user: LoginName(text), password: Secret(text.utf8))
        guard let request = Request(credential, peer: .documentation) else {
            #expect(text.isEmpty || text.utf8.count > 1024 || text.utf8.contains(0))
            return
        }
        let frame = request.frame(timeLeft: .seconds(5))
        let object = try Frame.decodeObject(ByteBuffer(bytes: frame.readableBytesView.dropFirst(4)))
        #expect(object["user"]?.string?.unicodeScalars.elementsEqual(text.unicodeScalars) == true)
        #expect(object["password"]?.string?.unicodeScalars.elementsEqual(text.unicodeScalars) == true)
        #expect(object["id"]?.string == request.id)
    }

    @Test("The largest request fits in a frame")
    func largestRequest() throws {
        let worst = String(repeating: "\u{1}", count: 1024)
        let password = try #require(
            Request(.password(user: LoginName(worst), password: Secret(worst.utf8)), peer: .documentation))
        #expect(password.frame(timeLeft: .seconds(60)).readableBytes <= 4 + Frame.maximumLength)
        let token = [UInt8](repeating: 0x61, count: Request.maximumTokenLength)
        let bearer = try #require(Request(.bearer(token: Secret(token)), peer: .documentation))
        #expect(bearer.frame(timeLeft: .seconds(60)).readableBytes <= 4 + Frame.maximumLength)
    }

    @Test("Request ids have one length and differ")
    func ids() {
        let credential = Credential.bearer(token: Secret("t".utf8))
        let ids = (0..<200).compactMap { _ in Request(credential, peer: .documentation)?.id }
        #expect(Set(ids).count == 200)
        #expect(ids.allSatisfy { $0.utf8.count == 32 })
    }
}
