import Foundation
import Testing

@testable import GatewayServer

@Suite("Mapped executables")
struct MappedExecutablesTests {
    @Test("Released code pages leave the resident memory and are loaded again on access")
    func release() throws {
        try touchCode()
        let before = try codeHeld()
        MappedExecutables.release()
        let after = try codeHeld()
        #expect(after < before / 2)
    }

    /// Reads a byte of each page of the program's own code.
    private func touchCode() throws {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        for line in try lines(of: "maps") where line.contains(" r-xp ") && line.hasSuffix(own) {
            let bounds = line.prefix { $0 != " " }.split(separator: "-").compactMap { UInt($0, radix: 16) }
            let start = try #require(bounds.first.flatMap { UnsafeRawPointer(bitPattern: $0) })
            let pages = stride(from: 0, to: Int(bounds[1] - bounds[0]), by: 4096)
            #expect(pages.reduce(0) { $0 &+ Int(start.load(fromByteOffset: $1, as: UInt8.self)) } > 0)
        }
    }

    /// Returns the resident memory of mapped code in KiB (proc(5), `smaps`).
    private func codeHeld() throws -> Int {
        var isCode = false
        return try lines(of: "smaps").reduce(0) { sum, line in
            // A line `Name: value` belongs to the preceding mapping.
            if !line.prefix(while: { $0 != " " }).hasSuffix(":") {
                isCode = line.contains(" r-xp ") && line.contains("/")
            }
            guard isCode, line.hasPrefix("Rss:") else { return sum }
            return sum + (line.split(separator: " ").compactMap { Int($0) }.first ?? 0)
        }
    }

    private func lines(of name: String) throws -> [Substring] {
        let bytes = try FileHandle(forReadingFrom: URL(filePath: "/proc/self/\(name)")).readToEnd() ?? Data()
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    }
}
