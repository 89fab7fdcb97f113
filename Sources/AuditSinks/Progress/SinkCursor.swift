public import GatewayStore
internal import GatewaySupport
internal import OutboundHTTP

/// The file with the position of one sink, beside the journal: `<directory>.sink-<name>`, mode 0600.
///
/// It is one JSON object: `format`, and the members of ``JournalPosition``. It is replaced atomically. All functions
/// block.
public struct SinkCursor: Sendable {
    /// The path of the file.
    public let path: String

    /// The version of the format.
    private static let format = 1
    private static let maximumBytes = 1024

    /// Creates the cursor of a sink. Opens no file.
    ///
    /// - Parameter directory: The directory of the journal.
    public init(sink name: String, journal directory: String) { path = "\(directory).sink-\(name)" }

    /// The content of the file.
    enum Content: Sendable, Hashable {
        /// The position after the last confirmed line.
        case position(JournalPosition)
        /// The file does not exist.
        case missing
        /// The file cannot be used, for the given reason.
        case damaged(String)
    }

    /// Reads the file. Throws if the system cannot read it now.
    func load() throws(DeliveryFailure) -> Content {
        do throws(FileFailure) {
            guard let bytes = try PrivateFiles.read(path, atMost: Self.maximumBytes) else { return .missing }
            guard let value = try? JSONParser().parse(bytes.span), value["format"] == .number("\(Self.format)"),
                let next = Self.number(value["next"]).flatMap(UInt64.init),
                let segment = Self.number(value["segment"]).flatMap(UInt64.init),
                let offset = Self.number(value["offset"]).flatMap(Int.init), offset >= 0
            else { return .damaged("\(path) is not a cursor of this version") }
            return .position(JournalPosition(next: next, segment: segment, offset: offset))
        } catch {
            guard error.code == 0 else { throw DeliveryFailure(error) }
            return .damaged(error.description)
        }
    }

    /// Replaces the file. Once this returns, the position survives a power failure.
    func store(_ position: JournalPosition) throws(DeliveryFailure) {
        let text =
            "{\"format\":\(Self.format),\"next\":\(position.next),\"segment\":\(position.segment),"
            + "\"offset\":\(position.offset)}\n"
        do throws(FileFailure) {
            try AtomicFile.write(Array(text.utf8), to: path, draft: path + ".new", .replacing)
            try PrivateFiles.synchronizeDirectory(PrivateFiles.parent(of: path))
        } catch {
            throw DeliveryFailure(error)
        }
    }

    private static func number(_ value: JSONValue?) -> String? {
        if case .number(let text)? = value { text } else { nil }
    }

    /// Declares which lines of the journal the sinks have not confirmed, before the journal is opened and its retention
    /// begins. Blocks.
    public static func require(
        _ sinks: [AuditSinkSettings], journal directory: String, by followers: JournalFollowers
    ) {
        for sink in sinks {
            switch try? SinkCursor(sink: sink.name, journal: directory).load() {
            case .position(let position)?: followers.require(from: position.next, by: sink.name)
            case .damaged?, nil: followers.require(from: 0, by: sink.name)
            case .missing?: if sink.start == .oldest { followers.require(from: 0, by: sink.name) }
            }
        }
    }
}
