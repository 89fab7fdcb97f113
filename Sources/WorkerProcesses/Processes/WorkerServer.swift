internal import CWorkers
internal import Foundation

/// The other end of a `WorkerConnection`: the program as a worker process.
package enum WorkerServer {
    /// Whether the gateway or a worker service started this process, with a socket as its descriptor 3.
    package static var hasConnection: Bool {
        var type: CInt = 0
        var length = socklen_t(MemoryLayout<CInt>.size)
        return getsockopt(NOTIFY_GATEWAY_WORKER_SOCKET, SOL_SOCKET, SO_TYPE, &type, &length) == 0
            && type == CInt(SOCK_SEQPACKET.rawValue)
    }

    /// Forks a guardian from this process, which must have one thread. The worker gets a umask that opens no files to
    /// others. Returns in the worker only; false if no worker could be started.
    package static func isolate() -> Bool {
        guard notify_gateway_guard_worker(NOTIFY_GATEWAY_WORKER_SOCKET) == 0 else { return false }
        // Processes that libraries start must neither keep the connection open nor write to it.
        _ = fcntl(NOTIFY_GATEWAY_WORKER_SOCKET, F_SETFD, FD_CLOEXEC)
        umask(0o077)
        return true
    }

    /// Serves requests one after another and returns the exit status: 0 if the other end closed the connection, 1 if it
    /// violated the protocol.
    ///
    /// - Parameter decode: decodes a request. The packet is wiped before `respond` is called.
    /// - Parameter respond: returns the packet of the response.
    package static func serve<Request>(
        maximumLength: Int, decode: (UnsafeRawBufferPointer) -> Request?, respond: (Request) -> [UInt8]
    ) -> CInt {
        let socket = NOTIFY_GATEWAY_WORKER_SOCKET
        let buffer = WipedBuffer(count: maximumLength)
        while true {
            let count = recv(socket, buffer.bytes.baseAddress, buffer.bytes.count, CInt(MSG_TRUNC))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return count == 0 ? 0 : 1 }
            guard count <= buffer.bytes.count,
                let request = decode(UnsafeRawBufferPointer(rebasing: buffer.bytes[..<count]))
            else { return 1 }
            buffer.wipe()
            let response = respond(request)
            guard send(socket, response, response.count, CInt(MSG_NOSIGNAL)) == response.count else { return 1 }
        }
    }
}
