import BenchmarkSupport
import NIOCore

/// Something that grows in production, and that calls must not become dearer by.
protocol Dimension: Sendable {
    /// What it is, as the table says.
    var name: String { get }
    /// From the smallest to the largest.
    var sizes: [Int] { get }
    /// A size as the table says it.
    func text(of size: Int) -> String
    /// Why it cannot be measured here, or nil.
    func obstacle(in directory: String) -> String?
    /// Makes the gateway's files of that size.
    func prepare(_ setup: inout GatewaySetup, size: Int) async throws
    /// The calls that are measured, by what they are.
    func calls(_ setup: GatewaySetup, size: Int) throws -> [(name: String, requests: [ByteBuffer])]
    /// What fills the running gateway; nil for nothing.
    func filling(_ setup: GatewaySetup, size: Int) throws -> (count: Int, request: @Sendable (Int) -> ByteBuffer)?
}

extension Dimension {
    func text(of size: Int) -> String {
        var digits = ""
        for (place, digit) in String(size).reversed().enumerated() {
            if place > 0, place.isMultiple(of: 3) { digits.append(",") }
            digits.append(digit)
        }
        return String(digits.reversed())
    }
    func obstacle(in directory: String) -> String? { nil }
    func filling(_ setup: GatewaySetup, size: Int) throws -> (count: Int, request: @Sendable (Int) -> ByteBuffer)? {
        nil
    }
}

/// So many of the numbers below `size`, evenly spread.
func spread(_ count: Int, over size: Int) -> [Int] {
    let count = min(count, size)
    return (0..<count).map { $0 * size / count }
}
