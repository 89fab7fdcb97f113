import BenchmarkSupport
import NIOCore

/// A quantity that grows in production and must not raise the cost of calls.
protocol Dimension: Sendable {
    /// The name in the table.
    var name: String { get }
    /// The sizes from the smallest to the largest.
    var sizes: [Int] { get }
    /// Returns the text of a size in the table.
    func text(of size: Int) -> String
    /// The reason why this machine cannot measure it, or nil.
    func obstacle(in directory: String) -> String?
    /// Creates the gateway's files for a size.
    func prepare(_ setup: inout GatewaySetup, size: Int) async throws
    /// Returns the measured calls with their names.
    func calls(_ setup: GatewaySetup, size: Int) throws -> [(name: String, requests: [ByteBuffer])]
    /// Returns the calls that fill the running gateway, or nil if none are needed.
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

/// Returns a number of evenly spread values below `size`.
func spread(_ count: Int, over size: Int) -> [Int] {
    let count = min(count, size)
    return (0..<count).map { $0 * size / count }
}
