import Foundation
import Testing

/// A directory of the test's own, gone when the test is.
final class TemporaryDirectory: Sendable {
    let path: String

    init() {
        // In memory where there is such a place: tests synchronise thousands of times, and a disk would show nothing more.
        let memory = "/dev/shm"
        let place =
            FileManager.default.isWritableFile(atPath: memory) ? memory : FileManager.default.temporaryDirectory.path
        path = "\(place)/gateway-store-\(UUID().uuidString)"
    }

    func callAsFunction(_ name: String) -> String { path + "/" + name }

    /// The permission bits of a file in it.
    func mode(_ name: String = "") throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: name.isEmpty ? path : self(name))
        return try #require(attributes[.posixPermissions] as? Int)
    }

    func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }

    func bytes(_ name: String) throws -> [UInt8] { try Array(Data(contentsOf: URL(fileURLWithPath: self(name)))) }

    func write(_ bytes: [UInt8], to name: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: self(name)))
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
