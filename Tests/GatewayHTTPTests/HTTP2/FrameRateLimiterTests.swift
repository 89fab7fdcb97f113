import NIOCore
import Testing

@testable import GatewayHTTP

@Suite("HTTP/2 frame rate limit")
struct FrameRateLimiterTests {
    typealias Frame = FrameClient.Frame

    private let start = NIODeadline.uptimeNanoseconds(0)

    private func meter() -> FrameRateLimiter {
        var meter = FrameRateLimiter(now: start)
        _ = process(FrameClient.preface, &meter)
        return meter
    }

    /// Returns whether the client may continue after these bytes.
    private func process(
        _ bytes: some Sequence<UInt8>, _ meter: inout FrameRateLimiter, at time: NIODeadline? = nil
    ) -> Bool {
        var frames = Int.max
        return meter.process(ByteBuffer(bytes: bytes).readableBytesView, frames: &frames, now: time ?? start) != nil
    }

    /// Returns how many of the given frames are accepted before the allowance is exhausted.
    private func taken(
        _ frame: Frame, _ count: Int, _ meter: inout FrameRateLimiter, at time: NIODeadline? = nil
    ) -> Int {
        for number in 0..<count {
            let isTaken = process(frame.bytes, &meter, at: time)
            if !isTaken { return number }
        }
        return count
    }

    @Test("The count does not depend on how the bytes are split")
    func splits() {
        let frames = [Frame.ping, .settings, .data(1, "x", end: false), .headers(1, HTTP2Fixture.get("/"))]
        let bytes = FrameClient.preface + (0..<100).flatMap { _ in frames }.flatMap(\.bytes)
        for size in [1, 2, 9, 10, 1000, bytes.count] {
            var meter = FrameRateLimiter(now: start)
            var taken = 0
            for from in stride(from: 0, to: bytes.count, by: size) {
                guard process(bytes[from..<min(from + size, bytes.count)], &meter) else { break }
                taken = from + size
            }
            // Three of the four frames cost one unit each.
            let perRound = frames.flatMap(\.bytes).count
            let rounds = (taken - FrameClient.preface.count) / perRound
            #expect(abs(rounds - FrameAllowance.maximum / 3) <= 1 + size / perRound, "\(size)")
        }
    }

    @Test("The allowance refills over time and with completed calls")
    func comesBack() {
        var meter = meter()
        let (first, most) = (taken(.ping, 300, &meter), FrameAllowance.maximum)
        #expect(first == most)
        let step = FrameAllowance.span.nanoseconds / Int64(most)
        let later = taken(.ping, 10, &meter, at: start + .nanoseconds(step))
        #expect(later == 1)
        meter.served()
        let afterCall = taken(.ping, 10, &meter, at: start + .nanoseconds(step))
        #expect(afterCall == 4)
        // After a long time the allowance is complete but not larger.
        let atLast = taken(.ping, 300, &meter, at: start + .hours(10))
        #expect(atLast == most)
    }

    @Test("Served calls do not pay for as many resets, but for fewer")
    func resetsOfServedCalls() {
        var meter = meter()
        var count = 0
        while count < 300, process(Frame.reset(1).bytes, &meter) {
            meter.served()
            count += 1
        }
        #expect(count == FrameAllowance.maximum)
        meter = self.meter()
        for _ in 0..<1000 {
            let isAllowed = process(Frame.reset(1).bytes, &meter)
            #expect(isAllowed)
            for _ in 0..<16 { meter.served() }
        }
    }

    @Test("Requests and their bodies cost nothing")
    func requests() {
        var meter = meter()
        let body = String(repeating: "x", count: 64)
        let free: [Frame] = [
            .headers(1, HTTP2Fixture.post("/"), end: false), .data(1, body, end: false), .data(1, "", end: true),
        ]
        for frame in free {
            let count = taken(frame, 1000, &meter)
            #expect(count == 1000)
        }
        let pings = taken(.ping, 300, &meter)
        #expect(pings == FrameAllowance.maximum)
    }

    @Test("On a connection of many clients, only frames of the connection cost something")
    func manyClients() {
        var meter = FrameRateLimiter(now: start, carriesManyClients: true)
        _ = process(FrameClient.preface, &meter)
        let free: [Frame] = [
            .data(1, "x", end: false), .reset(1), .windowUpdate(1, 1), .windowUpdate(0, 1),
            .headers(3, HTTP2Fixture.get("/"), endsHead: false), .continuation(3, [("a", "b")], endsHead: true),
        ]
        for frame in free {
            let count = taken(frame, 1000, &meter)
            #expect(count == 1000)
        }
        let pings = taken(.ping, 300, &meter)
        #expect(pings == FrameAllowance.maximum)
    }

    @Test("An incomplete header block or control frame is detected")
    func withinHead() {
        var meter = meter()
        func feed(_ bytes: [UInt8]) { _ = process(bytes, &meter) }
        #expect(!meter.isWithinHeadOrControl)
        let head = Frame.headers(1, HTTP2Fixture.get("/"), end: false, endsHead: false).bytes
        feed(Array(head.prefix(3)))
        #expect(meter.isWithinHeadOrControl)
        feed(Array(head.dropFirst(3)))
        #expect(meter.isWithinHeadOrControl)
        feed(Frame.continuation(1, [("a", "b")], endsHead: true).bytes)
        #expect(!meter.isWithinHeadOrControl)
        feed(Array(Frame.data(1, "abcdef").bytes.prefix(11)))
        #expect(!meter.isWithinHeadOrControl)
    }

    @Test("Parsing stops at the given number of frames", arguments: [1, 2, 9, 10, 1000])
    func parsingStopsAtTheGivenNumberOfFrames(_ size: Int) {
        let frames: [Frame] = [
            .headers(1, HTTP2Fixture.post("/"), end: false), .data(1, String(repeating: "x", count: 64)), .settings,
            .headers(3, HTTP2Fixture.get("/")), .data(1, ""),
        ]
        var rest = ByteBuffer(bytes: frames.flatMap(\.bytes))
        var meter = meter()
        for frame in frames {
            var (left, length) = (1, 0)
            while left > 0 {
                let piece = rest.readableBytesView.prefix(size)
                let count = meter.process(piece, frames: &left, now: start) ?? 0
                rest.moveReaderIndex(forwardBy: count)
                length += count
            }
            #expect(length == frame.bytes.count)
        }
        #expect(rest.readableBytes == 0)
    }
}
