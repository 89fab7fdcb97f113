internal import Glibc

/// A file of the journal that is being written. Used on one thread.
struct JournalSegment {
    let path: String
    private let descriptor: CInt
    private let files: any JournalFileSystem
    /// How many bytes are in it and on disk.
    private(set) var length = 0

    /// Makes the segment that starts with the line of this number, and its name durable.
    init(first: UInt64, in directory: String, files: any JournalFileSystem) throws(FileFailure) {
        path = directory + "/" + JournalSegmentName(first: first).text
        self.files = files
        descriptor = try Self.create(path, files)
        do throws(FileFailure) {
            try files.synchronizeDirectory(directory)
        } catch {
            discard()
            throw error
        }
    }

    /// Appends the bytes and returns once they are on disk. After a failure nothing may be written to the segment again: the
    /// system may have dropped what it could not write, and say so only once.
    mutating func append(_ bytes: [UInt8]) throws(FileFailure) {
        var written = 0
        while written < bytes.count {
            let count = try Self.write(bytes, from: written, to: descriptor, path, files)
            guard count > 0 else { throw FileFailure(unfit: path, "takes no more bytes") }
            written += count
        }
        try files.synchronize(descriptor, path)
        length += bytes.count
    }

    /// Closes the file. One in which nothing was acknowledged is taken away, so that its number is free again.
    func close() {
        if length > 0 { files.close(descriptor) } else { discard() }
    }

    private func discard() {
        files.close(descriptor)
        // Where this fails the next segment cannot be made either, and that is reported.
        try? files.remove(path)
    }

    private static func create(_ path: String, _ files: any JournalFileSystem) throws(FileFailure) -> CInt {
        do throws(FileFailure) {
            return try files.create(path)
        } catch  where error.code == EEXIST {
            // No line of this number was ever acknowledged, so this is what an attempt left that could not even be undone.
            try files.remove(path)
            return try files.create(path)
        }
    }

    // `withUnsafeBytes` passes no typed error on.
    private static func write(
        _ bytes: [UInt8], from start: Int, to descriptor: CInt, _ path: String, _ files: any JournalFileSystem
    ) throws(FileFailure) -> Int {
        let result: Result<Int, FileFailure> = bytes.withUnsafeBytes { buffer in
            let rest = UnsafeRawBufferPointer(rebasing: buffer[start...])
            return Result { () throws(FileFailure) -> Int in try files.write(rest, to: descriptor, path) }
        }
        return try result.get()
    }
}

/// The name of a segment: `journal-`, the number of its first line in 20 digits, `.jsonl`.
struct JournalSegmentName: Sendable, Hashable, Comparable {
    let first: UInt64

    init(first: UInt64) { self.first = first }

    /// The name of a file that is a segment, else nil.
    init?(_ name: String) {
        guard name.hasPrefix("journal-"), name.hasSuffix(".jsonl"), name.utf8.count == 8 + 20 + 6,
            let first = UInt64(name.dropFirst(8).dropLast(6))
        else { return nil }
        self.first = first
    }

    var text: String { "journal-\(Self.digits(of: first)).jsonl" }

    static func < (left: JournalSegmentName, right: JournalSegmentName) -> Bool { left.first < right.first }

    /// The number in 20 digits.
    static func digits(of number: UInt64) -> String {
        let digits = String(number)
        return String(repeating: "0", count: 20 - digits.utf8.count) + digits
    }
}
