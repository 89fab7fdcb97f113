import Foundation

/// Public test data beside the package, or where `NOTIFY_GATEWAY_CORPORA` says. Tests that read it skip where it is absent.
enum Corpora {
    static let directory: URL = {
        if let path = ProcessInfo.processInfo.environment["NOTIFY_GATEWAY_CORPORA"] {
            return URL(fileURLWithPath: path, isDirectory: true)
        }
        // Tests/GatewayCoreTests/Corpora.swift, and the package's root three levels up. Symbolic links lead to the real one.
        var root = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
        for _ in 0..<3 { root.deleteLastPathComponent() }
        return root.appendingPathComponent("../shared/corpora").standardized
    }()

    static var jsonTestSuite: [URL] { files("JSONTestSuite") }

    static var naughtyStrings: [String]? {
        guard let data = try? Data(contentsOf: directory.appendingPathComponent("blns.json")) else { return nil }
        return try? JSONDecoder().decode([String].self, from: data)
    }

    static var wycheproof: Data? {
        try? Data(contentsOf: directory.appendingPathComponent("wycheproof/hmac_sha256_test.json"))
    }

    private static func files(_ folder: String) -> [URL] {
        let urls = try? FileManager.default.contentsOfDirectory(
            at: directory.appendingPathComponent(folder), includingPropertiesForKeys: nil)
        return (urls ?? []).sorted { $0.lastPathComponent < $1.lastPathComponent }
    }
}
