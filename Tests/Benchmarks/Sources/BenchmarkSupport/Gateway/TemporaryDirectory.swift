import Foundation

/// A directory for the time of one measurement.
package final class TemporaryDirectory {
    /// Where it is.
    package let path: String

    /// Makes an empty one that only its owner may enter.
    package init(in parent: String) throws {
        path = "\(parent)/gateway-benchmark-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// A new directory within it.
    package func subdirectory(_ name: String) throws -> String {
        let inner = "\(path)/\(name)"
        try FileManager.default.createDirectory(
            atPath: inner, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        return inner
    }
}
