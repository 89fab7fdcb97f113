import Foundation
import Testing

@testable import GatewayServer

@Suite("The program's pages")
struct MappedProgramsTests {
    @Test("Released pages of code are no longer held, and those that are needed are there")
    func release() throws {
        let before = try heldOfFiles()
        MappedPrograms.release()
        let after = try heldOfFiles()
        #expect(after < before / 2)
    }

    /// What the process holds of files, in KiB (proc(5), `RssFile`).
    private func heldOfFiles() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("RssFile:") })
        return try #require(line.split(separator: " ").compactMap { Int($0) }.first)
    }
}
