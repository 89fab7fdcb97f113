public import GatewayConfiguration
internal import GatewaySupport
public import Logging

extension Logger {
    /// Returns the logger of the gateway, which writes to standard error. Its level is that of the last such call or
    /// the last loaded configuration.
    public static func server(_ section: ServerConfiguration.LogSection) -> Logger {
        LogWriter.standardError.level = section.level
        return Logger(label: "notify-gateway") { label in
            StructuredLogHandler(label: label, format: section.format, writer: .standardError, clocks: .system)
        }
    }
}
