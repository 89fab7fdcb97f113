internal import Foundation
internal import GatewayCore
internal import GatewaySupport

extension PAMPlugin {
    /// The settings under `pam:` in the configuration.
    public struct Settings: Sendable {
        /// `service`: the PAM service, the name of a file in `/etc/pam.d`. Required; 1–64 of `A–Z a–z 0–9 _ -`.
        public var service: String
        /// `minimum-uid`: the lowest uid that may log in. Default 1000, at least 1: root never logs in.
        public var minimumUID: UInt32 = 1000
        /// `workers`: the number of concurrent logins, each in its own process. 1 to 64, default twice the cores, at
        /// most 8.
        public var workers = min(2 * ProcessInfo.processInfo.activeProcessorCount, 8)
        /// `deadline`: the longest duration of a login, waiting included. 100 ms to 60 s, default 10 s.
        public var deadline: Duration = .seconds(10)
        /// `queue`: the number of logins that may wait for a worker. 4 to 4096, default 64. One address may use a
        /// quarter.
        public var queue = 64
        /// `service-directory`: the directory of the service's file, instead of the system's directories. Not with
        /// `socket`.
        public var serviceDirectory: String?
        /// `socket`: the Unix socket of a worker service that runs as another user. Without it the gateway starts the
        /// workers itself.
        public var socket: String?

        /// The location of `service` in the configuration, for problems that are found later.
        var place = Location()
        /// The location of `socket` in the configuration.
        var socketPlace = Location()
        /// The program to start as a worker: this program.
        var program = "/proc/self/exe"
        /// The number of logins after which a worker is replaced, because modules leak memory and descriptors.
        var loginsPerWorker = 100
        /// The delay before a new worker after workers that failed.
        var backOff = Backoff()

        /// Creates settings for a service, with the configuration's defaults.
        public init(service: String) { self.service = service }

        /// The location of a value in the configuration.
        struct Location: Sendable {
            var location = SourceLocation(file: "")
            var path = ""
        }
    }
}

extension PAMPlugin.Settings.Location {
    init(of name: String, in reader: ConfigurationReader) {
        location = reader.node(name)?.location ?? reader.location
        path = reader.inner(name)
    }

    func problem(_ message: String, severity: ConfigurationProblem.Severity = .error) -> ConfigurationProblem {
        ConfigurationProblem(at: location, path: path, message, severity: severity)
    }
}
