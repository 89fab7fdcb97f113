internal import CLDAP
internal import Foundation
internal import WorkerProcesses

/// The entry point of the program as a worker process.
public enum LDAPWorker {
    /// Serves requests until the gateway closes the connection; never returns. Call it before anything else in the
    /// process.
    ///
    /// Exit status: 0 if the gateway closed the connection; 1 if it violated the worker protocol; 2 for a start by
    /// anybody else.
    public static func run() -> Never {
        guard WorkerServer.hasConnection else {
            FileHandle.standardError.write(
                Data("notify-gateway ldap-worker: only the gateway can start a worker\n".utf8))
            exit(2)
        }
        guard WorkerServer.isolate() else { exit(1) }
        // libldap writes a farewell also to a connection that the server has closed.
        signal(SIGPIPE, SIG_IGN)
        notify_gateway_limit_memory(256 << 20)
        notify_gateway_ldap_ignore_system_settings()
        let session = DirectorySession()
        exit(
            WorkerServer.serve(maximumLength: DirectoryRequest.maximumLength, decode: DirectoryRequest.read) {
                request, nonce in
                session.respond(to: request).packet(nonce)
            })
    }
}
