import Foundation
import GatewayCore
import GatewaySupport
import Testing

@testable import GatewayConfiguration

@Suite("Directory check")
struct DirectoryCheckTests {
    @Test("A directory that can be created is no problem, and one below a file is reported")
    func nearestAncestor() throws {
        let root = NSTemporaryDirectory() + "notify-gateway-directories-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: root) }
        try Data("x".utf8).write(to: URL(filePath: "\(root)/file"))
        let check = DirectoryCheck(file: "gateway.yaml")
        #expect(check.problem(with: root, under: "journal.directory") == nil)
        #expect(check.problem(with: "\(root)/not/there/yet", under: "journal.directory") == nil)
        #expect(
            check.problem(with: "\(root)/file/journal", under: "journal.directory")?.description
                == "gateway.yaml: journal.directory: \(root)/file is not a directory")
    }

    @Test(
        "A directory that is not writable is reported",
        .enabled(if: geteuid() != 0, "root can write everywhere"))
    func notWritable() {
        #expect(DirectoryCheck(file: "f").problem(with: "/proc/journal", under: "journal.directory") != nil)
    }
}
