internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

/// A message that the process responds to.
enum ProcessRequest: Sendable {
    case verification(Request)
    case status(StatusRequest)

    /// The type and the id of the message, by which its reply is recognised.
    var expectation: Expectation {
        switch self {
        case .verification(let request): .verdict(id: request.id)
        case .status(let request): .status(id: request.id)
        }
    }

    /// The reply that the process owes.
    enum Expectation: Sendable {
        case verdict(id: String)
        case status(id: String)

        /// Parses the reply.
        func reply(_ frame: ByteBuffer) throws(ProtocolError) -> ProcessReply {
            switch self {
            case .verdict(let id): .verdict(try AuthenticationReply(frame, on: id))
            case .status(let id): .status(try AccountStatus(frame, on: id))
            }
        }
    }

    /// Returns the frame, with the remaining time until the deadline.
    func frame(timeLeft: TimeAmount) -> ByteBuffer {
        switch self {
        case .verification(let request): request.frame(timeLeft: timeLeft)
        case .status(let request): request.frame(timeLeft: timeLeft)
        }
    }

    /// Returns the reply that is known from the process's hello, without sending the message; nil if it must be sent.
    func replyWithoutSending(to hello: Hello) -> ProcessReply? {
        switch self {
        case .verification(let request): hello.takes.contains(request.kind) ? nil : .verdict(.notMine)
        case .status: hello.reportsStatus ? nil : .unavailable(.failed)
        }
    }
}

/// The result of a message to the process.
enum ProcessReply: Sendable, Hashable {
    /// The process verified a credential.
    case verdict(AuthenticationReply)
    /// The process reported the status of an account.
    case status(AccountStatus)
    /// The process could not be queried.
    case unavailable(OutageReason)
}

/// The ids of messages, which replies must repeat.
enum RequestID {
    /// Returns 32 random hexadecimal digits.
    static func random() -> String { String(hexEncoding: RandomBytes.make(16)) }
}
