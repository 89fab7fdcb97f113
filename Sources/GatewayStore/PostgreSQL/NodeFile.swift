internal import GatewaySupport

/// The file beside the ledger's path by which an installation knows itself in a shared store: its random name, and the
/// fence number of its last run.
///
/// A store whose fence number is smaller than the file's is an older copy of the store that the installation used.
struct NodeFile: Sendable, Hashable {
    /// The random name: 16 hexadecimal digits.
    let instance: String
    /// The fence number of the last run; 0 before the first one.
    let fence: Int64

    /// Returns the path of the file.
    static func path(ofLedger file: String) -> String { file + ".node" }

    /// Reads the file; returns a new name without one. Blocks.
    init(file path: String) throws(FileFailure) {
        guard let bytes = try PrivateFiles.read(path, atMost: 64) else {
            self.init(instance: String(hexEncoding: RandomBytes.make(8)), fence: 0)
            return
        }
        let words = String(decoding: bytes, as: UTF8.self).split { $0 == " " || $0 == "\n" }
        guard words.count == 2, words[0].utf8.count == 16, let fence = Int64(words[1]),
            StoreNode.fences.contains(fence)
        else {
            throw FileFailure(unfit: path, "does not contain the name of a node and a number")
        }
        self.init(instance: String(words[0]), fence: fence)
    }

    private init(instance: String, fence: Int64) {
        self.instance = instance
        self.fence = fence
    }

    /// Returns the content after a run with this fence number.
    func with(fence: Int64) -> NodeFile { NodeFile(instance: instance, fence: fence) }

    /// Replaces the file durably. Blocks.
    func write(_ path: String) throws(FileFailure) {
        let draft = path + ".draft"
        try PrivateFiles.remove(draft)
        try PrivateFiles.write(Array("\(instance) \(fence)\n".utf8), toNew: draft)
        try PrivateFiles.rename(draft, to: path)
    }
}
