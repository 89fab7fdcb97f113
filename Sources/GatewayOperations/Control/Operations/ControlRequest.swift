public import GatewaySupport

/// A request of an operator: the name of an operation and its arguments.
public struct ControlRequest: Sendable, Hashable {
    /// The words of the command, such as `bans lift`.
    public var operation: String
    /// The names and values of the arguments. The operation validates them.
    public var arguments: [JSONValue.Member]

    /// Creates a request.
    public init(_ operation: String, _ arguments: [JSONValue.Member] = []) {
        self.operation = operation
        self.arguments = arguments
    }
}

/// The requested part of a list.
package struct ControlPage: Sendable, Hashable {
    /// The maximum number of items.
    package var limit: Int
    /// The position after which the page starts, as the operation named it in the previous page; nil for the first page.
    package var after: String?

    /// Creates a page.
    package init(limit: Int, after: String? = nil) {
        self.limit = limit
        self.after = after
    }
}

/// A part of an operation's result.
package enum ControlOutput: Sendable, Hashable {
    /// One result. An operation has any number of them.
    case item(JSONValue)
    /// The totals of a long operation, after its last item.
    case totals(JSONValue)
    /// The position after which the next page starts. Sent only if a page was requested and more items exist.
    case next(String)
}
