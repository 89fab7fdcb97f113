public import Foundation

/// The locations of third-party test data. Tests that need missing data are skipped.
public enum TestData {
    /// The root directory of this package.
    public static let package = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The directory of public corpora: `NOTIFY_GATEWAY_CORPORA`, or a directory beside the package; nil if there is
    /// none.
    public static let corpora = folder("NOTIFY_GATEWAY_CORPORA", beside: "corpora")

    /// The directory of recorded requests of real clients: `NOTIFY_GATEWAY_FIXTURES`, or a directory beside the
    /// package; nil if there is none.
    public static let recordedClients = folder("NOTIFY_GATEWAY_FIXTURES", beside: "fixtures/clients")

    /// The files of JSONTestSuite, sorted by name; empty if they are missing.
    public static var jsonTestSuite: [URL] {
        let urls = corpus("JSONTestSuite").flatMap {
            try? FileManager.default.contentsOfDirectory(at: $0, includingPropertiesForKeys: nil)
        }
        return (urls ?? []).sorted { $0.lastPathComponent < $1.lastPathComponent }
    }

    /// Returns the location of a file in the corpora, or nil.
    public static func corpus(_ name: String) -> URL? {
        corpora.map { $0.appendingPathComponent(name) }.flatMap(existing)
    }

    /// The Big List of Naughty Strings (Max Woolf, MIT), which break naive programs; empty if it is missing.
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
