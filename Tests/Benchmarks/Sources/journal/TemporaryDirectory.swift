import Foundation

/// A directory for the time of one measurement.
final class TemporaryDirectory {
    let path: String

    init(in parent: String) throws {
        path = "\(parent)/gateway-journal-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
