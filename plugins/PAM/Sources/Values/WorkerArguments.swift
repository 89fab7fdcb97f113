/// The command line of a worker or of the worker service.
///
/// The command line sets the PAM service and no request changes it: a client of a worker with more privileges must not
/// choose the code that runs with them.
struct WorkerArguments: Equatable, Sendable {
    /// The reason why a command line is invalid, in one line.
    struct UsageError: Error, Equatable {
        let message: String
    }

    /// `--service`: the PAM service. Required.
    var service: String
    /// `--service-directory`: the directory of the service's file, instead of the system's directories.
    var serviceDirectory: String?
    /// `--listen`: the socket of a worker service. Without it the worker serves its descriptor 3.
    var listen: String?
    /// `--allow`: the name or uid of the user who may connect. Required with `--listen`.
    var allow: String?

    init(service: String, serviceDirectory: String? = nil) {
        self.service = service
        self.serviceDirectory = serviceDirectory
    }

    init(_ arguments: [String]) throws(UsageError) {
        var values: [String: String] = [:]
        var rest = arguments[...]
        while let option = rest.popFirst() {
            guard ["--service", "--service-directory", "--listen", "--allow"].contains(option) else {
                throw UsageError(message: "unknown option: \(option)")
            }
            guard let value = rest.popFirst(), !value.isEmpty else {
                throw UsageError(message: "\(option) needs a value")
            }
            guard values.updateValue(value, forKey: option) == nil else {
                throw UsageError(message: "\(option) is given twice")
            }
        }
        guard let service = values["--service"], PAMPlugin.Settings.isServiceName(service) else {
            throw UsageError(message: "--service must name a PAM service")
        }
        guard (values["--listen"] == nil) == (values["--allow"] == nil) else {
            throw UsageError(message: "--listen and --allow require each other")
        }
        self.service = service
        serviceDirectory = values["--service-directory"]
        listen = values["--listen"]
        allow = values["--allow"]
    }

    /// The arguments of the worker for one connection.
    var commandLine: [String] {
        ["--service", service] + (serviceDirectory.map { ["--service-directory", $0] } ?? [])
    }
}
