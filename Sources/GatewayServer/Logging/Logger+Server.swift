internal import GatewayCore
public import Logging

extension Logger {
    /// The gateway's log, on standard error, as the configuration wants it.
    public static func server(_ section: ServerConfiguration.LogSection) -> Logger {
        Logger(label: "notify-gateway") { label in
            StructuredLogHandler(
                logLevel: section.level, label: label, format: section.format, writer: .standardError, clocks: .system)
        }
    }
}
