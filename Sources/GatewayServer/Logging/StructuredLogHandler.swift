internal import Foundation
internal import GatewayCore
internal import Logging

/// Log lines as JSON objects or for people, one a line whatever is in them: values are escaped and cut at 256 bytes.
struct StructuredLogHandler: LogHandler {
    /// The level of this handler alone; nil where it is the writer's.
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

    /// - Parameter logLevel: the least level; nil for the writer's, whatever that is at the time.
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
                .init("message", .string(Self.cut(event.message.description))),
                .init("source", .string(label)),
            ]
            members += all.map { .init($0.key, .string(Self.cut($0.value.description))) }
            line = JSONWriter.bytes(of: .object(members))
        case .text:
            line += "\(clocks.wall()) \(event.level) \(Self.cut(event.message.description))".utf8
            for (key, value) in all {
                line += " \(key)=".utf8
                JSONWriter.write(string: Self.cut(value.description), to: &line)
            }
        }
        line.append(UInt8(ascii: "\n"))
        writer.write(line)
    }

    private static func cut(_ text: String) -> String {
        guard text.utf8.count > longestValue else { return text }
        var end = text.utf8.index(text.startIndex, offsetBy: longestValue)
        // Not in the middle of a scalar.
        while end > text.startIndex, String.Index(end, within: text.unicodeScalars) == nil {
            end = text.utf8.index(before: end)
        }
        return String(text[..<end]) + "…"
    }
}
