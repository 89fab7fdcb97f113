internal import GatewayCore
public import Logging

extension Logger {
    /// The gateway's log, on standard error, as the configuration wants it. Its level follows that of the last such call, and of a
    /// configuration that is read while the gateway runs.
    public static func server(_ section: ServerConfiguration.LogSection) -> Logger {
        LogWriter.standardError.level = section.level
        return Logger(label: "notify-gateway") { label in
            StructuredLogHandler(label: label, format: section.format, writer: .standardError, clocks: .system)
        }
    }
}
