/// An operation of the running gateway that operators request over the control socket.
///
/// A new operation is a type in this folder and a line in `ControlOperations.all`. It sends each result through the
/// context. Returning ends the response with `done`, throwing with the error.
package protocol ControlOperation: Sendable {
    /// The words of the command, such as `bans lift`.
    static var name: String { get }
    /// The names of the accepted arguments. A request with another argument is rejected before `run`.
    static var arguments: Set<String> { get }
    /// Whether the operation runs until its peer disconnects or the gateway stops. Only such a task is cancelled.
    /// Defaults to false.
    static var isStream: Bool { get }

    /// Carries out the operation, on any executor.
    ///
    /// An operation that changes something calls `context.record` first, then makes the change, then sends the result.
    /// If the peer disconnects in between, the change remains. Unless it is a stream, it is never cancelled and must
    /// return by itself.
    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError)
}

extension ControlOperation {
    /// The default: no arguments.
    static var arguments: Set<String> { [] }
    /// The default: the operation returns by itself.
    static var isStream: Bool { false }
}
