/// The protocol between commands and the running gateway on the control socket. Each connection carries lines of JSON:
/// one request, then any number of items, then exactly one end.
///
/// ```
/// → {"control":1,"operation":"bans lift","arguments":{"user":"alice"}}
/// ← {"item":{"lifted":2}}
/// ← {"end":"done"}
/// ```
///
/// A response without an end was interrupted, and the operation may or may not have been carried out. Bytes after the
/// request are not read.
public enum ControlProtocol {
    /// The only version. A gateway rejects requests of another version.
    public static let version: Int64 = 1
    /// The maximum length of a request in bytes, without its line feed.
    static let longestRequest = 16 << 10
    /// The maximum length of a response line in bytes, without its line feed.
    static let longestAnswer = 1 << 20
}
