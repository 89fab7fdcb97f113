/// A fault in the files of a service's stack, or a recommendation about them.
struct StackProblem: Sendable, Equatable, CustomStringConvertible {
    /// A line of a file; of a continued line, the first one.
    struct Place: Sendable, Hashable {
        let file: String
        let line: Int
    }

    var place: Place?
    let message: String
    /// Whether logins are unavailable while the fault lasts.
    var isError = true

    var description: String { place.map { "\($0.file):\($0.line): \(message)" } ?? message }
}
