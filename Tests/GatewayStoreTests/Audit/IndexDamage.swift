import Foundation
import GatewayTesting
import Glibc

/// Damage to a file, as a failing disk, a power failure or a wrong command causes it.
struct IndexDamage {
    var random: SplitMix

    init(seed: UInt64) { random = SplitMix(seed: seed) }

    private static let page = 4096

    /// Damages the bytes in one of several ways.
    mutating func apply(to bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        let pages = max(1, bytes.count / Self.page)
        let first = Int.random(in: 0..<pages, using: &random) * Self.page
        let end = min(bytes.count, first + Self.page)
        switch Int.random(in: 0..<7, using: &random) {
        case 0:
            for place in first..<end { bytes[place] = 0 }
        case 1:
            // Half of a page is from another time.
            let other = Int.random(in: 0..<pages, using: &random) * Self.page
            for place in 0..<(Self.page / 2) where first + place < end && other + place < bytes.count {
                bytes[first + place] = bytes[other + place]
            }
        case 2:
            bytes.removeLast(Int.random(in: 1...bytes.count, using: &random))
        case 3:
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
        case 4:
            for place in first..<end { bytes[place] = UInt8.random(in: 0...255, using: &random) }
        case 5:
            // One value in a page changes.
            let start = Int.random(in: first..<end, using: &random)
            for place in start..<min(end, start + 16) { bytes[place] = UInt8.random(in: 0...255, using: &random) }
        default:
            let other = Int.random(in: 0..<pages, using: &random) * Self.page
            for place in 0..<Self.page where first + place < end && other + place < bytes.count {
                bytes.swapAt(first + place, other + place)
            }
        }
        return bytes
    }

    /// Overwrites the content of the existing file and keeps its inode, as disk damage does.
    static func overwrite(_ path: String, with bytes: [UInt8]) throws {
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        defer { try? handle.close() }
        try handle.truncate(atOffset: 0)
        try handle.write(contentsOf: Data(bytes))
    }
}
