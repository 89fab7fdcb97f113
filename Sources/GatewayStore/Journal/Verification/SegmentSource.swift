internal import GatewayCore
package import GatewaySupport
internal import Glibc

/// The segments that a verification reads: the files of a journal, or copies of them elsewhere.
///
/// All functions block. They are called by one thread at a time.
package protocol SegmentSource: Sendable {
    /// Returns the names of all segments in ascending order.
    func names() throws(FileFailure) -> [JournalSegmentName]
    /// Returns the names of files that begin like that of a segment and are not one.
    func foreignNames() throws(FileFailure) -> [String]
    /// Returns the size of a segment in bytes; nil if it does not exist any more.
    func size(of segment: JournalSegmentName) throws(FileFailure) -> UInt64?
    /// Returns all bytes of a segment; nil if it does not exist any more.
    func bytes(of segment: JournalSegmentName) throws(FileFailure) -> [UInt8]?
}

/// The segments in the directory of a journal.
package struct DirectorySegments: SegmentSource {
    private let directory: String
    private let allowsMissingDirectory: Bool
    private let files = SystemFileSystem()

    /// Creates a source. Opens nothing.
    ///
    /// - Parameter allowsMissingDirectory: Whether a directory that does not exist counts as one without segments.
    package init(directory: String, allowsMissingDirectory: Bool) {
        self.directory = directory
        self.allowsMissingDirectory = allowsMissingDirectory
    }

    package func names() throws(FileFailure) -> [JournalSegmentName] {
        JournalSegmentName.segments(among: try fileNames())
    }

    package func foreignNames() throws(FileFailure) -> [String] { JournalSegmentName.foreign(among: try fileNames()) }

    private func fileNames() throws(FileFailure) -> [String] {
        do throws(FileFailure) {
            return try files.fileNames(in: directory)
        } catch {
            if error.code == ENOENT, allowsMissingDirectory { return [] }
            throw error
        }
    }

    package func size(of segment: JournalSegmentName) throws(FileFailure) -> UInt64? {
        do throws(FileFailure) {
            return try files.size(path(segment))
        } catch  where error.isMissing {
            return nil
        }
    }

    package func bytes(of segment: JournalSegmentName) throws(FileFailure) -> [UInt8]? {
        do throws(FileFailure) {
            return try files.read(path(segment))
        } catch  where error.isMissing {
            return nil
        }
    }

    private func path(_ segment: JournalSegmentName) -> String { "\(directory)/\(segment.text)" }
}
