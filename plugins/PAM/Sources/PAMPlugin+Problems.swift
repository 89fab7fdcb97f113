internal import CPAM
internal import Foundation
internal import GatewayCore
internal import GatewaySupport

extension PAMPlugin.Settings {
    /// Whether the text is a valid service name: it becomes a file name and a worker's argument.
    static func isServiceName(_ text: String) -> Bool {
        guard (1...64).contains(text.utf8.count), !text.hasPrefix("-") else { return false }
        return text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
    }

    /// Returns every problem of the stack, or of the socket if one is configured.
    func problems() -> [ConfigurationProblem] {
        guard Self.isServiceName(service) else { return [place.problem("\"\(service)\" is not a service name")] }
        if let socket { return problems(of: socket) }
        let stack = ServiceStack(service: service, directory: serviceDirectory)
        var problems = stack.problems().map { place.problem($0) }
        problems += stack.warnings().map { place.problem($0, severity: .warning) }
        if geteuid() != 0 {
            problems.append(
                place.problem(
                    "runs without root privileges, with which most modules, pam_unix among them, verify only the "
                        + "gateway's own user; see \"socket\"", severity: .warning))
        }
        return problems
    }

    private func problems(of socket: String) -> [ConfigurationProblem] {
        var status = stat()
        guard stat(socket, &status) == 0 else {
            let reason = String(cString: strerror(errno))
            return [
                socketPlace.problem(
                    "\(socket): \(reason); logins are unavailable until the worker service starts", severity: .warning)
            ]
        }
        guard status.st_mode & S_IFMT == S_IFSOCK else { return [socketPlace.problem("\(socket) is not a socket")] }
        return []
    }
}
