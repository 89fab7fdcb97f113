import Foundation

/// A temporary directory for one measurement.
package final class TemporaryDirectory {
    /// The path.
    package let path: String

    /// Creates an empty directory that only its owner may access.
    package init(in parent: String) throws {
        path = "\(parent)/gateway-benchmark-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Creates a new subdirectory.
    package func subdirectory(_ name: String) throws -> String {
        let inner = "\(path)/\(name)"
        try FileManager.default.createDirectory(
            atPath: inner, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        return inner
    }
}
