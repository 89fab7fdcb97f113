internal import GatewayCore
internal import NIOCore

/// How a dialogue begins: the gateway says which versions it speaks, and the process chooses.
struct Hello: Sendable, Hashable {
    /// The versions that this gateway speaks.
    static let versions = [1]

    /// What the process calls itself; for the log only.
    let name: String
    /// The kinds of credential that the process takes.
    let takes: Set<CredentialKind>

    /// The gateway's frame.
    static var frame: ByteBuffer {
        Frame.around(
            JSONWriter.bytes(
                of: .object([
                    .init("type", .string("hello")), .init("versions", .array(versions.map { .number("\($0)") })),
                    .init("gateway", .string("notify-gateway")),
                ])))
    }

    /// The process's answer. Kinds that are not known here are those of a later time, and are passed over.
    init(_ frame: ByteBuffer) throws(ProtocolFault) {
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
