import Foundation
import Testing

/// A temporary directory that is removed with the object.
final class TemporaryDirectory: Sendable {
    let path: String

    init() {
        // In memory where possible: tests synchronize thousands of times, and a disk would show nothing more.
        let memory = "/dev/shm"
        let place =
            FileManager.default.isWritableFile(atPath: memory) ? memory : FileManager.default.temporaryDirectory.path
        path = "\(place)/gateway-store-\(UUID().uuidString)"
    }

    func callAsFunction(_ name: String) -> String { path + "/" + name }

    /// Returns the permission bits of a file in the directory.
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
