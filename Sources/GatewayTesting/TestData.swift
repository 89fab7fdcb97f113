public import Foundation

/// Where the test data of others lie. A clone that has none skips what needs them.
public enum TestData {
    /// The root of this package.
    public static let package = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// Public corpora: `NOTIFY_GATEWAY_CORPORA`, else a folder beside the package; nil where there is none.
    public static let corpora = folder("NOTIFY_GATEWAY_CORPORA", beside: "corpora")

    /// Requests that real clients were recorded to send: `NOTIFY_GATEWAY_FIXTURES`, else a folder beside the package; nil where
    /// there is none.
    public static let recordedClients = folder("NOTIFY_GATEWAY_FIXTURES", beside: "fixtures/clients")

    /// The cases of JSONTestSuite, by name; empty where they are not there.
    public static var jsonTestSuite: [URL] {
        let urls = corpus("JSONTestSuite").flatMap {
            try? FileManager.default.contentsOfDirectory(at: $0, includingPropertiesForKeys: nil)
        }
        return (urls ?? []).sorted { $0.lastPathComponent < $1.lastPathComponent }
    }

    /// A file of the corpora, or nil.
    public static func corpus(_ name: String) -> URL? {
        corpora.map { $0.appendingPathComponent(name) }.flatMap(existing)
    }

    /// The Big List of Naughty Strings (Max Woolf, MIT), which break naive programs; empty where it is not there.
    public static let naughtyStrings: [String] = {
        guard let file = corpus("blns.json"), let data = try? Data(contentsOf: file) else { return [] }
        return (try? JSONDecoder().decode([String].self, from: data)) ?? []
    }()

    private static func folder(_ variable: String, beside path: String) -> URL? {
        let named = ProcessInfo.processInfo.environment[variable].map { URL(fileURLWithPath: $0) }
        return existing(named ?? package.deletingLastPathComponent().appendingPathComponent("shared/\(path)"))
    }

    private static func existing(_ url: URL) -> URL? {
        FileManager.default.fileExists(atPath: url.path) ? url : nil
    }
}
