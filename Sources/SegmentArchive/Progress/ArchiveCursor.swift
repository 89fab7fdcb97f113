public import GatewayStore
internal import GatewaySupport
package import OutboundHTTP

/// The file with the progress of the archive, beside the journal: `<directory>.archive`, mode 0600.
///
/// It is one JSON object: `format`, `place`, `first` and `next`. It is replaced atomically. Without it, each segment is
/// looked up in the store again. All functions block.
public struct ArchiveCursor: Sendable {
    /// The path of the file.
    public let path: String

    /// The version of the format.
    private static let format = 1
    private static let maximumBytes = 4096

    /// Creates the cursor of a journal's archive. Opens no file.
    ///
    /// - Parameter directory: The directory of the journal.
    public init(journal directory: String) { path = "\(directory).archive" }

    /// The progress.
    package struct Progress: Sendable, Hashable {
        /// The bucket and the prefix to which the numbers belong.
        package let place: String
        /// The number of the first archived line.
        package let first: UInt64
        /// The number after the last archived line.
        package var next: UInt64

        package init(place: String, first: UInt64, next: UInt64) {
            (self.place, self.first, self.next) = (place, first, next)
        }
    }

    /// The content of the file.
    package enum Content: Sendable, Hashable {
        case progress(Progress)
        /// The file does not exist.
        case missing
        /// The file cannot be used, for the given reason.
        case damaged(String)
    }

    /// Reads the file. Throws if the system cannot read it now.
    package func load() throws(DeliveryFailure) -> Content {
        do throws(FileFailure) {
            guard let bytes = try PrivateFiles.read(path, atMost: Self.maximumBytes) else { return .missing }
            guard let value = try? JSONParser().parse(bytes.span), value["format"] == .number("\(Self.format)"),
                case .string(let place)? = value["place"],
                let first = Self.number(value["first"]), let next = Self.number(value["next"]), first <= next
            else { return .damaged("\(path) is not a cursor of this version") }
            return .progress(Progress(place: place, first: first, next: next))
        } catch {
            guard error.code == 0 else { throw DeliveryFailure(error) }
            return .damaged(error.description)
        }
    }

    /// Replaces the file. Once this returns, the progress survives a power failure.
    package func store(_ progress: Progress) throws(DeliveryFailure) {
        let value = JSONValue.object([
            .init("format", .number("\(Self.format)")), .init("place", .string(progress.place)),
            .init("first", .number("\(progress.first)")), .init("next", .number("\(progress.next)")),
        ])
        do throws(FileFailure) {
            try AtomicFile.write(JSONWriter.bytes(of: value) + [0x0A], to: path, draft: path + ".new", .replacing)
            try PrivateFiles.synchronizeDirectory(PrivateFiles.parent(of: path))
        } catch {
            throw DeliveryFailure(error)
        }
    }

    private static func number(_ value: JSONValue?) -> UInt64? {
        if case .number(let text)? = value { UInt64(text) } else { nil }
    }

    /// Declares which lines of the journal are not archived, before the journal is opened and its retention begins.
    /// Blocks.
    public static func require(_ settings: ArchiveSettings?, journal directory: String, by followers: JournalFollowers)
    {
        guard let settings else { return }
        var next: UInt64 = 0
        if case .progress(let progress)? = try? ArchiveCursor(journal: directory).load(),
            progress.place == settings.place
        {
            next = progress.next
        }
        followers.require(from: next, by: JournalFollowers.archive)
    }
}
