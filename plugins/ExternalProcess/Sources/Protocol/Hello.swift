internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

/// The first message on a connection. The gateway offers its versions, and the process selects one.
struct Hello: Sendable, Hashable {
    /// The versions that this gateway supports. Version 2 adds queries of the status of accounts.
    static let versions = [1, 2]

    /// The version that the process selected.
    let version: Int
    /// The name that the process states, for the log only.
    let name: String
    /// The kinds of credential that the process accepts.
    let takes: Set<CredentialKind>

    /// Whether the process responds to queries of the status of accounts.
    var reportsStatus: Bool { version >= 2 }

    /// The gateway's hello as a frame.
    static var frame: ByteBuffer {
        Frame.encode(
            JSONWriter.bytes(
                of: .object([
                    .init("type", .string("hello")), .init("versions", .array(versions.map { .number("\($0)") })),
                    .init("gateway", .string("notify-gateway")),
                ])))
    }

    /// Parses the process's hello. Ignores unknown kinds, which a later protocol may define.
    init(_ frame: ByteBuffer) throws(ProtocolError) {
        let object = try Frame.decodeObject(frame)
        guard object["type"]?.string == "hello", let name = object["name"]?.string,
            (1...64).contains(name.utf8.count), case .array(let kinds) = object["takes"]
        else { throw .notHello }
        guard let selected = object["version"]?.integer, let version = Self.versions.first(where: { $0 == selected })
        else { throw .unsupportedVersion }
        let words = kinds.compactMap(\.string)
        guard words.count == kinds.count else { throw .notHello }
        self.version = version
        self.name = name
        takes = Set(words.compactMap(CredentialKind.init(rawValue:))).intersection(DelegationSettings.delegableKinds)
    }
}
