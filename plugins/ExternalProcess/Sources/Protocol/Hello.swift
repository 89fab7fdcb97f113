internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

/// The first message on a connection. The gateway offers its versions, and the process selects one.
struct Hello: Sendable, Hashable {
    /// The versions that this gateway supports.
    static let versions = [1]

    /// The process's name for itself, for the log only.
    let name: String
    /// The kinds of credential that the process accepts.
    let takes: Set<CredentialKind>

    /// The gateway's hello as a frame.
    static var frame: ByteBuffer {
        Frame.around(
            JSONWriter.bytes(
                of: .object([
                    .init("type", .string("hello")), .init("versions", .array(versions.map { .number("\($0)") })),
                    .init("gateway", .string("notify-gateway")),
                ])))
    }

    /// Parses the process's hello. Ignores unknown kinds, which a later protocol may define.
    init(_ frame: ByteBuffer) throws(ProtocolError) {
        let object = try Frame.object(frame)
        guard object["type"]?.string == "hello", let name = object["name"]?.string,
            (1...64).contains(name.utf8.count), case .array(let kinds) = object["takes"]
        else { throw .notHello }
        guard let version = object["version"]?.integer, Self.versions.contains(where: { $0 == version }) else {
            throw .version
        }
        let words = kinds.compactMap(\.string)
        guard words.count == kinds.count else { throw .notHello }
        self.name = name
        takes = Set(words.compactMap(CredentialKind.init(rawValue:)))
    }
}
