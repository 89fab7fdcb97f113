/// The source of worker connections.
enum WorkerSource: Sendable {
    /// This program, started as a worker process.
    case program(String, arguments: [String])
    /// A worker service that listens on a socket.
    case service(socket: String)

    init(_ settings: PAMPlugin.Settings) {
        if let socket = settings.socket {
            self = .service(socket: socket)
        } else {
            let arguments = WorkerArguments(service: settings.service, serviceDirectory: settings.serviceDirectory)
            self = .program(settings.program, arguments: arguments.commandLine)
        }
    }

    func open() throws(WorkerConnectionError) -> WorkerConnection {
        switch self {
        case .program(let program, let arguments):
            try WorkerConnection(spawning: program, arguments: arguments)
        case .service(let socket):
            try WorkerConnection(connectingTo: socket)
        }
    }
}
