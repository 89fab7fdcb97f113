import Gateway
import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import NIOEmbedded
import NIOHPACK
import Synchronization
import Testing

@testable import GatewayHTTP

/// Tests of the memory limit for incomplete requests.
@Suite struct RequestMemoryTests {
    typealias Frame = FrameClient.Frame

    @Test("A connection may hold a fraction of the free memory and a proxy a larger one")
    func parts() {
        let memory = RequestMemory(limit: 257 * 1024)
        var one = RequestMemory.Account(of: memory, part: .client)
        #expect(one.set(1024) == .granted)
        #expect(one.set(1025) == .exhausted)
        #expect(one.set(2048) == .tooMuch)
        #expect(one.bytes == 1024)
        #expect(memory.bytes == 1024)
        #expect(memory.refused.value == 2)
        var proxy = RequestMemory.Account(of: memory, part: .proxy)
        #expect(proxy.set(15 * 1024) == .granted)
        #expect(one.set(0) == .granted)
        #expect(proxy.set(0) == .granted)
        #expect(memory.bytes == 0)
    }

    @Test("A connection with waiting bytes has a larger share, and must fit in its own afterwards")
    func bursts() {
        let memory = RequestMemory(limit: 257 * 1024)
        var one = RequestMemory.Account(of: memory, part: .client)
        #expect(one.set(2048, isBurst: true) == .granted)
        #expect(one.set(5000, isBurst: true) == .tooMuch)
        #expect(one.set(2048) == .tooMuch)
        #expect(one.set(2000) == .tooMuch, "A smaller amount that does not fit either")
        #expect(one.bytes == 2048 && memory.bytes == 2048)
        #expect(one.set(1020) == .granted)
        #expect(one.set(1020) == .granted)
        var proxy = RequestMemory.Account(of: memory, part: .proxy)
        #expect(proxy.set(8192, isBurst: true) == .granted)
        #expect(proxy.set(8192) == .granted)
    }

    @Test("The connections of one address hold a fraction of the free memory together and leave the rest to others")
    func addresses() {
        let memory = RequestMemory(limit: 64 << 20)
        func account(_ address: UInt32?) -> RequestMemory.Account {
            RequestMemory.Account(of: memory, part: .client, address: address.map(Peer.Address.v4))
        }
        var held: [RequestMemory.Account] = []
        for _ in 0..<190 {
            var one = account(1)
            while one.set(one.bytes + 4096) == .granted {}
            held.append(one)
        }
        #expect(memory.bytes <= (64 << 20) / 17)
        #expect(memory.bytes > (64 << 20) / 17 - 4096)
        var other = account(2)
        var exempt = account(nil)
        #expect(other.set(200 << 10) == .granted)
        #expect(exempt.set(200 << 10) == .granted)
        #expect(memory.addressCount == 2)
        for index in held.indices { held[index].close() }
        other.close()
        exempt.close()
        #expect(memory.bytes == 0 && memory.addressCount == 0)
    }

    @Test("The limit holds for any number of connections, and of 64 MiB the first 1,066 may hold 4 KiB each")
    func manyConnections() {
        let memory = RequestMemory(limit: 64 << 20)
        var most: [Int] = []
        for number in 0..<10_000 {
            var account = RequestMemory.Account(of: memory, part: .client)
            // 256 parts stay free for each that is held.
            let bytes = (memory.limit - memory.bytes) / 257
            #expect(account.set(bytes + 1) == .exhausted, "\(number)")
            #expect(account.set(bytes) == .granted)
            most.append(bytes)
        }
        #expect(most[0] == 261_123 && most[999] == 5314)
        #expect(most.prefix { $0 >= 4096 }.count == 1066)
        #expect(memory.bytes < 64 << 20)
    }

    @Test("Free memory returns to the system after a peak")
    func returning() {
        var watch = DropDetector(minimumDecrease: 10)
        let levels = [5, 20, 11, 10, 9, 30, 100, 80, 75, 60]
        var fallen: [Int] = []
        for level in levels where watch.record(level) { fallen.append(level) }
        #expect(fallen == [10, 75])
    }

    @Test("The heap is trimmed after growth, and ever more rarely while a larger process keeps its memory in use")
    func trimming() {
        func at(_ seconds: Int64) -> NIODeadline { .uptimeNanoseconds(0) + .seconds(seconds) }
        let size = 40 << 20
        var policy = TrimPolicy(size: size, now: at(0))
        func pause(_ size: Int, _ now: NIODeadline) -> TimeAmount? { policy.pause(size: size, now: now) }
        #expect(pause(size, at(100)) == nil)
        #expect(pause(size + TrimPolicy.growth - 1, at(100)) == nil)
        #expect(pause(size + TrimPolicy.growth, at(100)) == .zero)
        // The memory is in use, but may be free soon.
        var now: Int64 = 100
        for seconds: Int64 in [4, 8, 16, 32, 60, 60] {
            policy.recordTrim(from: 2 * size + TrimPolicy.success - 1, to: 2 * size, now: at(now))
            #expect(pause(2 * size, at(now + 1)) == .seconds(seconds - 1))
            #expect(pause(2 * size + TrimPolicy.growth, at(now + 1)) == .zero)
            now += seconds
            #expect(pause(2 * size, at(now)) == .zero)
        }
        // A trim that released much is followed soon by the next. A smaller size is the new base.
        policy.recordTrim(from: 2 * size + TrimPolicy.success, to: 2 * size, now: at(now))
        #expect(pause(2 * size, at(now)) == .seconds(2))
        #expect(pause(size, at(now + 1)) == nil)
        #expect(pause(size + TrimPolicy.growth, at(now + 1)) == .zero)
    }

    @Test("A trim runs after a drop, and after a closed connection if the process has grown")
    func trimmer() async {
        let size = Mutex(100 << 20)
        let trims = AwaitableValue(0)
        let trimmer = HeapTrimmer(
            delay: .zero, resident: { size.withLock { $0 } }, trim: { trims.withLock { $0 += 1 } })
        trimmer.schedule()
        await trims.wait { $0 == 1 }
        size.withLock { $0 += TrimPolicy.growth }
        trimmer.scheduleIfGrown()
        await trims.wait { $0 == 2 }
    }

    @Test("Only the used HTTP/2 fields keep their memory")
    func fieldsInUse() throws {
        let long = String(repeating: "x", count: 3900)
        let fields = HTTP2Fixture.post("/a") + (0..<4).map { ("x-\($0)", long) } + [("authorization", "Basic YTpi")]
        let reader = try HTTP2RequestReader(HPACKHeaders(fields), limits: .init())
        #expect(reader.bytes.storageCapacity <= 1024)
        let request = FramedRequest(head: reader.head, headBytes: reader.bytes, body: ByteBuffer())
            .received(
                id: CallID(process: 0, number: 0), peer: Peer(address: .local, text: "unix"), allowsCredentials: true
            )
        #expect(String(buffer: request.path) == "/a")
        #expect(request.authorization == .single(ByteBuffer(string: "Basic YTpi")))
    }

    @Test("The body of a call in flight is kept by the request pipeline alone")
    func bodyInFlight() throws {
        let reader = try HTTP2RequestReader(HPACKHeaders(HTTP2Fixture.post("/a")), limits: .init())
        let framed = FramedRequest(head: reader.head, headBytes: reader.bytes, body: ByteBuffer(string: "body"))
        let request = framed.received(
            id: CallID(process: 0, number: 0), peer: Peer(address: .local, text: "unix"), allowsCredentials: true)
        #expect(String(buffer: request.body) == "body")
        #expect(framed.body.storageCapacity == 0)
    }

    /// Returns streams that stay open with a long field that is used.
    static func held(_ streams: Range<UInt32>) -> [Frame] {
        let value = String(repeating: "x", count: 3900)
        return streams.map {
            .headers(2 * $0 + 1, HTTP2Fixture.post("/\($0)") + [("authorization", value)], end: false)
        }
    }

    @Test("The newest HTTP/2 requests beyond the limit are rejected and older ones continue")
    func heldStreams() throws {
        let memory = RequestMemory(limit: 16 << 20)
        let connection = try EmbeddedHTTP2Connection { $0.requestMemory = memory }
        try connection.begin()
        // 64 KiB, which holds eleven requests of 4 KiB, their overhead and the buffer of a frame.
        for frame in Self.held(0..<14) { try connection.send(frame) }
        #expect(memory.bytes <= (16 << 20) / 256)
        let events = try connection.written()
        #expect(events.contains("431 on 27"))
        #expect(!events.contains { $0.hasSuffix("on 1") })
        try connection.send(.data(1, "late"))
        #expect(try connection.written().contains("200 on 1"))
        #expect(memory.refused.value > 0)
        try connection.channel.close().wait()
        connection.loop.run()
        #expect(memory.bytes == 0)
    }

    @Test("A request that arrives in one piece is served without free memory")
    func wholeRequests() throws {
        let memory = RequestMemory(limit: 16 << 20)
        // Proxies that hold almost all memory.
        for _ in 0..<400 {
            var account = RequestMemory.Account(of: memory, part: .proxy)
            var bytes = 0
            while account.set(bytes + 256) == .granted { bytes += 256 }
        }
        let refused = memory.refused.value
        let second = try EmbeddedHTTP2Connection { $0.requestMemory = memory }
        try second.begin()
        try second.send(.headers(1, HTTP2Fixture.post("/a"), end: false), .data(1, "whole"))
        #expect(try second.written().contains("200 on 1"))
        let first = try EmbeddedConnection { $0.requestMemory = memory }
        try first.send("POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab")
        #expect(try first.answers() == ["200 /b"])
        #expect(memory.refused.value == refused)
    }

    @Test("An incomplete HTTP/1.1 request gets status 503 without free memory")
    func incompleteRequest() throws {
        let memory = RequestMemory(limit: 16 << 20)
        var proxies: [RequestMemory.Account] = []
        for _ in 0..<64 {
            var account = RequestMemory.Account(of: memory, part: .proxy)
            while account.set(account.bytes + 4096) == .granted {}
            proxies.append(account)
        }
        let connection = try EmbeddedConnection { $0.requestMemory = memory }
        let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 16000\r\n\r\n"
        try connection.send(head + String(repeating: "x", count: 15_000))
        try connection.send(String(repeating: "x", count: 900))
        #expect(try connection.answers() == ["503 overloaded close"])
        for index in proxies.indices { _ = proxies[index].set(0) }
        #expect(memory.bytes == 0)
    }

    @Test("An incomplete header block counts and closes the connection beyond the limit")
    func incompleteHeads() throws {
        let memory = RequestMemory(limit: 16 << 20)
        let connection = try EmbeddedHTTP2Connection { $0.requestMemory = memory }
        try connection.begin()
        let piece = [("x", String(repeating: "x", count: 8000))]
        try connection.send(.headers(1, HTTP2Fixture.post("/"), end: false, endsHead: false))
        try connection.send(.continuation(1, piece, endsHead: false))
        #expect(memory.bytes >= 16_000)
        for _ in 0..<8 where connection.isOpen { try connection.send(.continuation(1, piece, endsHead: false)) }
        #expect(!connection.isOpen)
        connection.loop.run()
        #expect(memory.bytes == 0)
    }
}
