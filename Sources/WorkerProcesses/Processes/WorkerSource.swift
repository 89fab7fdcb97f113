/// The source of worker connections.
package enum WorkerSource: Sendable {
    /// A program, started as a worker process with this command line.
    case program(String, arguments: [String])
    /// A worker service that listens on a socket.
    case service(socket: String)

    /// Starts a worker, or connects to the worker service. Blocks.
    func open() throws(WorkerConnectionError) -> WorkerConnection {
        switch self {
        case .program(let program, let arguments):
            try WorkerConnection(spawning: program, arguments: arguments)
        case .service(let socket):
            try WorkerConnection(connectingTo: socket)
        }
    }
}
