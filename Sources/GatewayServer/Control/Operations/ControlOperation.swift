internal import GatewayCore

/// Something that an operator can ask of the running gateway over the control socket.
///
/// A new one is a type in this folder and a line in `ControlOperations.all`. What it answers goes out item by item through the
/// context; returning is the end `done`, throwing any other end.
protocol ControlOperation: Sendable {
    /// The words of the command, such as `bans lift`.
    static var name: String { get }
    /// The names of the arguments that it takes; a request with another is refused before it is run.
    static var arguments: Set<String> { get }
    /// Whether it goes on until its peer leaves or the gateway stops: only then is its task cancelled. False unless said.
    static var isStream: Bool { get }

    /// Carries it out, on any executor.
    ///
    /// What changes something calls `context.record` first, changes it in the next step, and answers after that: who hung up in
    /// between has changed it all the same. It is never cancelled, and has to end by itself.
    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError)
}

extension ControlOperation {
    /// None.
    static var arguments: Set<String> { [] }
    /// It ends by itself.
    static var isStream: Bool { false }
}
