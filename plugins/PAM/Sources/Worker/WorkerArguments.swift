/// What a worker is told on its command line.
///
/// The stack is chosen here and never by a request: whoever speaks to a worker with more rights than its own must not choose
/// the code that runs with them.
struct WorkerArguments: Equatable, Sendable {
    /// What cannot be understood, in a line.
    struct Mistake: Error, Equatable {
        let message: String
    }

    /// `--service`: the PAM service. Required.
    var service: String
    /// `--service-directory`: where its file is, instead of the system's directories.
    var serviceDirectory: String?
    /// `--listen`: the socket of a worker service; without it the worker speaks on its descriptor 3.
    var listen: String?
    /// `--allow`: the user, by name or number, who may connect. Required with `--listen`.
    var allow: String?

    init(service: String, serviceDirectory: String? = nil) {
        self.service = service
        self.serviceDirectory = serviceDirectory
    }

    init(_ arguments: [String]) throws(Mistake) {
        var values: [String: String] = [:]
        var rest = arguments[...]
        while let option = rest.popFirst() {
            guard ["--service", "--service-directory", "--listen", "--allow"].contains(option) else {
                throw Mistake(message: "unknown option: \(option)")
            }
            guard let value = rest.popFirst(), !value.isEmpty else { throw Mistake(message: "\(option) has no value") }
            guard values.updateValue(value, forKey: option) == nil else {
                throw Mistake(message: "\(option) stands twice")
            }
        }
        guard let service = values["--service"], PAMPlugin.Settings.isServiceName(service) else {
            throw Mistake(message: "--service must name a PAM service")
        }
        guard (values["--listen"] == nil) == (values["--allow"] == nil) else {
            throw Mistake(message: "--listen and --allow go together")
        }
        self.service = service
        serviceDirectory = values["--service-directory"]
        listen = values["--listen"]
        allow = values["--allow"]
    }

    /// The arguments of a worker for one connection.
    var commandLine: [String] {
        ["--service", service] + (serviceDirectory.map { ["--service-directory", $0] } ?? [])
    }
}
