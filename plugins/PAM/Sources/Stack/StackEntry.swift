/// A module of a stack, or the place at which a substack begins.
struct StackEntry: Sendable {
    /// The stacks of a service. The gateway uses the first two.
    enum Facility: String, Sendable, CaseIterable {
        case auth, account, session, password

        /// Whether the gateway uses the stack.
        var isUsed: Bool { self == .auth || self == .account }
    }

    let place: StackProblem.Place
    /// The number of substacks around the entry.
    let level: Int
    /// The module as the line names it; nil at the beginning of a substack.
    let module: String?
    var arguments: [String] = []
    let control: StackControl
    /// Whether a leading `-` allows that the module is missing.
    var isOptional = false

    /// The module's file name.
    var name: String { module?.split(separator: "/").last.map(String.init) ?? "" }
}
