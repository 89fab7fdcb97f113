import NIOCore
import Testing

@testable import GatewayHTTP

@Suite struct CircuitBreakerTests {
    private static let now = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    @Test("The circuit opens after three consecutive failures") func theCircuitOpensAfterThreeConsecutiveFailures() {
        var circuit = CircuitBreaker()
        for _ in 0..<10 {
            circuit.failed(now: Self.now)
            circuit.failed(now: Self.now)
            #expect(circuit.isClosed && circuit.retry == nil)
            circuit.succeeded()
        }
        for _ in 0..<3 { circuit.failed(now: Self.now) }
        #expect(!circuit.isClosed)
        #expect(circuit.retry == Self.now + .seconds(1))
    }

    @Test("Each failed trial doubles the open time up to thirty seconds")
    func eachFailedTrialDoublesTheOpenTimeUpToThirtySeconds() {
        var circuit = CircuitBreaker()
        for _ in 0..<3 { circuit.failed(now: Self.now) }
        var waits: [Int64] = []
        for _ in 0..<7 {
            circuit.beginHalfOpen()
            #expect(!circuit.isClosed && circuit.retry == nil)
            circuit.failed(now: Self.now)
            if let retry = circuit.retry { waits.append((retry - Self.now).nanoseconds / 1_000_000_000) }
        }
        #expect(waits == [2, 4, 8, 16, 30, 30, 30])
        circuit.beginHalfOpen()
        circuit.succeeded()
        #expect(circuit.isClosed)
        for _ in 0..<3 { circuit.failed(now: Self.now) }
        #expect(circuit.retry == Self.now + .seconds(1))
    }

    @Test("A failure while the circuit is open changes nothing") func aFailureWhileTheCircuitIsOpenChangesNothing() {
        var circuit = CircuitBreaker()
        for _ in 0..<3 { circuit.failed(now: Self.now) }
        circuit.failed(now: Self.now + .seconds(5))
        #expect(circuit.retry == Self.now + .seconds(1))
    }
}
