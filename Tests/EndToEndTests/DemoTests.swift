import Foundation
import Testing

@Suite("The demo")
struct DemoTests {
    @Test(
        "The text that the demo prints can be pasted into a shell, and the demo deletes its files at exit",
        arguments: [
            ["--profile", "classic"], ["--profile", "core"], ["--profile", "net6"], ["--upstream", "hub"],
        ])
    func pasted(options: [String]) async throws {
        let process = Process()
        process.executableURL = URL(filePath: Program.path)
        process.arguments = ["demo", "--listen", "localhost:0"] + options
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        let ended = AsyncStream<Int32>.makeStream()
        process.terminationHandler = {
            ended.continuation.yield($0.terminationStatus)
            ended.continuation.finish()
        }
        try process.run()
        defer { process.terminate() }
        let guide = try await Self.guide(from: output.fileHandleForReading)
        let directory = try #require(guide.firstMatch(of: /Everything is in (\S+) until/)?.1)
        // A terminal of 80 columns would break a longer line.
        let widths = guide.replacing(directory, with: "/tmp/notify-gateway-demo-01234567").split(separator: "\n").map(
            \.count)
        #expect(widths.allSatisfy { $0 <= 79 }, "\(guide)")

        // Each part works on its own, from another directory, and without the program in PATH.
        let bare = ["-i", "-C", "/", "PATH=/usr/bin:/bin", "sh", "-c"]
        let outcomes = try await guide.split(separator: "\n\n").asyncMap { part in
            try await Program.execute("/usr/bin/env", bare + [String(part)])
        }
        #expect(outcomes.allSatisfy { $0.status == 0 && $0.errors == "" }, "\(outcomes)")
        let outputs = outcomes.map(\.output).filter { !$0.isEmpty }
        let isHub = options.contains("hub")
        try #require(outputs.count == (isHub ? 6 : 5), "\(outputs)")
        #expect(outputs.prefix(2) == ["registered: 200\n", "sent: 200\n"])
        #expect(outputs[2].contains(#"From alice: He said \\\"hi\\\" & left"#))
        #expect(outputs[3].contains(#/\nalice +1 /#))
        #expect(!isHub || outputs[4].contains(#""Payload":"For your eyes only","Read":false}"#), "\(outputs[4])")

        #expect(guide.contains(/in a browser: http:\/\/127.0.0.1:[0-9]+\n# Log in as alice/))
        #expect(FileManager.default.fileExists(atPath: String(directory)))
        process.interrupt()
        for await status in ended.stream { #expect(status == 0) }
        #expect(!FileManager.default.fileExists(atPath: String(directory)))
    }

    /// Returns the text that the demo prints when it is ready.
    private static func guide(from handle: FileHandle) async throws -> String {
        // The read blocks, so it runs on its own thread.
        try await withCheckedThrowingContinuation { continuation in
            let thread = Thread {
                var text = ""
                while !text.contains("/health/ready") {
                    let data = handle.availableData
                    if data.isEmpty { break }
                    text += String(decoding: data, as: UTF8.self)
                }
                continuation.resume(returning: text)
            }
            thread.start()
        }
    }
}

extension Collection {
    fileprivate func asyncMap<Result>(_ transform: (Element) async throws -> Result) async rethrows -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await transform(element)) }
        return results
    }
}
