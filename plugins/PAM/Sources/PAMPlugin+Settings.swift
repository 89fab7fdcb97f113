internal import Foundation
internal import GatewayCore

extension PAMPlugin {
    /// What stands behind `pam:` in the configuration.
    public struct Settings: Sendable {
        /// `service`: the PAM service, the name of a file in `/etc/pam.d`. Required; 1–64 of `A–Z a–z 0–9 _ -`.
        public var service: String
        /// `minimum-uid`: accounts with a smaller uid never log in. Default 1000, at least 1: root never logs in.
        public var minimumUID: UInt32 = 1000
        /// `workers`: how many logins are judged at once, each in a process of its own. 1 to 64, default twice the cores, at
        /// most 8.
        public var workers = min(2 * ProcessInfo.processInfo.activeProcessorCount, 8)
        /// `deadline`: how long a login may take, waiting included. 100 ms to 60 s, default 10 s.
        public var deadline: Duration = .seconds(10)
        /// `queue`: how many logins may wait for a worker. 4 to 4096, default 64. One address gets a quarter of it.
        public var queue = 64
        /// `service-directory`: where the service's file is, instead of the system's directories. Not with `socket`.
        public var serviceDirectory: String?
        /// `socket`: the Unix socket of a worker service that runs as another user. Without it the gateway starts workers
        /// itself.
        public var socket: String?

        /// Where the service was configured, for problems that show later.
        var place = Place()
        /// Where the socket was configured.
        var socketPlace = Place()
        /// The program that is started as a worker: this one.
        var program = "/proc/self/exe"
        /// After how many logins a worker is replaced, since modules leak.
        var loginsPerWorker = 100
        /// How long worker after worker that fails is waited for.
        var backOff = BackOff()

        /// Settings for a service, with the defaults of the configuration.
        public init(service: String) { self.service = service }

        /// Where a value stands in the configuration.
        struct Place: Sendable {
            var location = SourceLocation(file: "")
            var path = ""
        }
    }
}

extension PAMPlugin.Settings.Place {
    init(of name: String, in reader: ConfigurationReader) {
        location = reader.node(name)?.location ?? reader.location
        path = reader.inner(name)
    }

    func problem(_ message: String, severity: ConfigurationProblem.Severity = .error) -> ConfigurationProblem {
        ConfigurationProblem(at: location, path: path, message, severity: severity)
    }
}
