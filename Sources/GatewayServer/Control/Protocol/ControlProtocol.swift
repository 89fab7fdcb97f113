/// How commands and the running gateway talk over the control socket: lines of JSON, one request a connection, then items in
/// any number, then exactly one end.
///
/// ```
/// → {"control":1,"operation":"bans lift","arguments":{"user":"alice"}}
/// ← {"item":{"lifted":2}}
/// ← {"end":"done"}
/// ```
///
/// An answer without its end was broken off: what was asked for may have happened or not. What a peer sends after its request is
/// not read.
public enum ControlProtocol {
    /// The only version so far. A gateway refuses a request of another.
    public static let version: Int64 = 1
    /// The longest request in bytes, without its line feed.
    static let longestRequest = 16 << 10
    /// The longest line of an answer in bytes, without its line feed.
    static let longestAnswer = 1 << 20
}
