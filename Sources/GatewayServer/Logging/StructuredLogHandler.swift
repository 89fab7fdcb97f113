internal import Foundation
internal import GatewayConfiguration
internal import GatewayCore
internal import GatewaySupport
internal import Logging

/// A log handler that writes each event as one line, a JSON object or text. Values are escaped and truncated to 256
/// bytes.
struct StructuredLogHandler: LogHandler {
    /// The level of this handler alone; nil to use the writer's.
    private var ownLevel: Logger.Level?
    var logLevel: Logger.Level {
        get { ownLevel ?? writer.level }
        set { ownLevel = newValue }
    }
    var metadata: Logger.Metadata = [:]
    let label: String
    let format: ServerConfiguration.LogSection.Format
    let writer: LogWriter
    let clocks: Clocks

    private static let longestValue = 256

    /// Creates a handler.
    ///
    /// - Parameter logLevel: The minimum level; nil for the writer's current level.
    init(
        logLevel: Logger.Level? = nil, label: String, format: ServerConfiguration.LogSection.Format, writer: LogWriter,
        clocks: Clocks
    ) {
        ownLevel = logLevel
        self.label = label
        self.format = format
        self.writer = writer
        self.clocks = clocks
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
        var line: [UInt8] = []
        switch format {
        case .json:
            var members: [JSONValue.Member] = [
                .init("at", .string(clocks.wall().description)),
                .init("level", .string(event.level.rawValue)),
                .init("message", .string(Self.truncated(event.message.description))),
                .init("source", .string(label)),
            ]
            members += all.map { .init($0.key, .string(Self.truncated($0.value.description))) }
            line = JSONWriter.bytes(of: .object(members))
        case .text:
            line += "\(clocks.wall()) \(event.level) \(Self.truncated(event.message.description))".utf8
            for (key, value) in all {
                line += " \(key)=".utf8
                JSONWriter.write(string: Self.truncated(value.description), to: &line)
            }
        }
        line.append(UInt8(ascii: "\n"))
        writer.write(line)
    }

    private static func truncated(_ text: String) -> String {
        guard text.utf8.count > longestValue else { return text }
        var end = text.utf8.index(text.startIndex, offsetBy: longestValue)
        // The text is not cut inside a Unicode scalar.
        while end > text.startIndex, String.Index(end, within: text.unicodeScalars) == nil {
            end = text.utf8.index(before: end)
        }
        return String(text[..<end]) + "…"
    }
}
