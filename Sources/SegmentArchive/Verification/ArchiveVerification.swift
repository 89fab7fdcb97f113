internal import Dispatch
package import GatewayStore
internal import GatewaySupport
internal import Logging
package import OutboundHTTP
internal import Synchronization

/// Verifies a journal from its archive: the archived segments from the first one on, and then the segments that only the
/// gateway's own directory has.
///
/// One segment is in memory at a time.
package struct ArchiveVerification: Sendable {
    private let store: ObjectStore
    private let thread: DeliveryThread
    private let directory: String

    /// The result of a verification.
    package struct Result: Sendable {
        /// The result for the chain of all lines.
        package let report: JournalVerification.Report
        /// The number of archived segments.
        package let archived: Int
        /// The number of segments that only the journal's directory has.
        package let local: Int
        /// The problems of the archive beside that of the report, each a sentence without a full stop.
        package let problems: [String]
    }

    /// Creates a verification. Opens no connection.
    package init(_ settings: ArchiveSettings, directory: String) {
        thread = DeliveryThread()
        store = ObjectStore(settings, thread: thread, clocks: .system)
        self.directory = directory
    }

    /// Verifies the archive.
    ///
    /// - Parameters:
    ///   - verification: The keys, the copies of checkpoints, and whether a gateway writes the journal.
    ///   - progress: Receives the bytes read so far and the total.
    package func run(
        _ verification: JournalVerification, progress: @escaping @Sendable (UInt64, UInt64) -> Void
    ) async throws(DeliveryFailure) -> Result {
        let result: Swift.Result<Result, DeliveryFailure>
        do throws(DeliveryFailure) { result = .success(try await verify(verification, progress)) } catch {
            result = .failure(error)
        }
        await store.close()
        thread.stop()
        return try result.get()
    }

    private func verify(
        _ verification: JournalVerification, _ progress: @escaping @Sendable (UInt64, UInt64) -> Void
    ) async throws(DeliveryFailure) -> Result {
        // The cursor is read first, so that what it states is in the listing.
        let cursor = try ArchiveCursor(journal: directory).load()
        let archived = try await ArchivedJournal(store)
        let local = DirectorySegments(directory: directory, allowsMissingDirectory: true)
        let source = ArchivedSegments(archived, store: store, directory: directory, local: local)
        var verification = verification
        verification.source = source
        let sourced = verification
        // The verification blocks, and waits for requests that need the threads of Swift's tasks.
        let queue = DispatchQueue(label: "notify-gateway.archive-verification")
        let report: Swift.Result<JournalVerification.Report, JournalVerification.Failure> =
            await withCheckedContinuation { continuation in
                queue.async {
                    continuation.resume(
                        returning: Swift.Result { () throws(JournalVerification.Failure) in
                            try sourced.run(progress: progress)
                        })
                }
            }
        switch report {
        case .failure(let failure): throw DeliveryFailure(failure.description)
        case .success(let report):
            let names: [JournalSegmentName]
            do throws(FileFailure) { names = try local.names() } catch { throw DeliveryFailure(error) }
            let stated = archived.segments.last?.name.first ?? 0
            return Result(
                report: report, archived: archived.segments.count, local: names.count { $0.first > stated },
                problems: source.differences + missing(archived, names, cursor)
                    + archived.conflicts.map { "\($0) was archived beside an object with other content" })
        }
    }

    /// Returns the objects that the archive must have and lacks.
    private func missing(
        _ archived: ArchivedJournal, _ local: [JournalSegmentName], _ cursor: ArchiveCursor.Content
    ) -> [String] {
        let names = archived.segments.map(\.name)
        var problems: [String] = []
        var (first, next) = (names.first?.first ?? .max, names.last.map { $0.first + 1 } ?? 0)
        if case .progress(let progress) = cursor, progress.place == store.settings.place {
            if progress.first < first {
                let through = names.first.map { "through line \($0.first - 1)" } ?? "to the end"
                problems.append(
                    "the archive began with line \(progress.first), and its objects from there \(through) are missing")
            }
            (first, next) = (min(first, progress.first), max(next, progress.next))
        }
        let present = Set(names)
        for name in local where name.first >= first && name.first < next && !present.contains(name) {
            problems.append("\(name.text) is missing in the archive")
        }
        return problems
    }
}

/// The union of the archived segments and those of a directory. An archived one takes precedence, and is compared with
/// the file of the same name.
private final class ArchivedSegments: SegmentSource {
    private let store: ObjectStore
    private let directory: String
    private let local: DirectorySegments
    private let sizes: [JournalSegmentName: UInt64]
    private let found = Mutex<[String]>([])

    init(_ archived: ArchivedJournal, store: ObjectStore, directory: String, local: DirectorySegments) {
        self.store = store
        self.directory = directory
        self.local = local
        sizes = Dictionary(archived.segments.map { ($0.name, $0.size) }) { first, _ in first }
    }

    /// The objects that differ from the file of the same name.
    var differences: [String] { found.withLock(\.self) }

    func names() throws(FileFailure) -> [JournalSegmentName] { Set(try local.names() + sizes.keys).sorted() }

    func foreignNames() throws(FileFailure) -> [String] { try local.foreignNames() }

    func size(of segment: JournalSegmentName) throws(FileFailure) -> UInt64? {
        if let size = sizes[segment] { return size }
        return try local.size(of: segment)
    }

    func bytes(of segment: JournalSegmentName) throws(FileFailure) -> [UInt8]? {
        if sizes[segment] == nil {
            if let bytes = try local.bytes(of: segment) { return bytes }
            // It was archived and then removed by retention after the listing.
            return try archivedBytes(of: segment)
        }
        guard let bytes = try archivedBytes(of: segment) else {
            throw FileFailure(unfit: store.settings.key(segment.text), "was deleted after it was listed")
        }
        if let other = try SegmentFile.digest(ofFileAt: "\(directory)/\(segment.text)"),
            bytes.withUnsafeBytes(SHA256.Digest.init(of:)) != other
        {
            found.withLock { $0.append("\(segment.text) in the archive differs from the file of the same name") }
        }
        return bytes
    }

    /// Waits for the request on a thread that is not one of Swift's tasks.
    private func archivedBytes(of segment: JournalSegmentName) throws(FileFailure) -> [UInt8]? {
        let (key, size) = (store.settings.key(segment.text), sizes[segment] ?? 0)
        let done = DispatchSemaphore(value: 0)
        let result = Mutex<Swift.Result<[UInt8]?, DeliveryFailure>>(.failure(.stopped))
        // Not a child of the waiting code, which runs on a thread of its own.
        Task.detached { [store] in
            do throws(DeliveryFailure) {
                let bytes = try await store.bytes(of: key, expecting: size)
                result.withLock { $0 = .success(bytes) }
            } catch {
                result.withLock { $0 = .failure(error) }
            }
            done.signal()
        }
        done.wait()
        switch result.withLock(\.self) {
        case .success(let bytes): return bytes
        case .failure(let failure):
            throw FileFailure(unfit: "\(key) of the archive", "cannot be read: \(failure.reason)")
        }
    }
}
