import Foundation
import Testing

@Suite("The demo")
struct DemoTests {
    @Test(
        "The printed commands of the demo work in a shell, and the demo deletes its files at exit",
        arguments: [
            ["--profile", "classic"], ["--profile", "core"], ["--profile", "net6"], ["--upstream", "hub"],
        ])
    func pastedLines(options: [String]) async throws {
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
        let lines = guide.split(separator: "\n").filter { $0.contains("curl") && !$0.hasPrefix("Journal:") }
        let isHub = options.contains("hub")
        #expect(lines.count == (isHub ? 4 : 3))
        var outcomes = try await lines.asyncMap { try await Program.execute("/bin/bash", ["-c", String($0)]) }
        if isHub {
            let fetched = try #require(outcomes.popLast()?.output)
            #expect(fetched.contains(#""Payload":"For your eyes only","Read":false}"#), "\(fetched)")
        }
        #expect(outcomes.map(\.output).dropLast() == ["registered: 200\n", "sent: 200\n"])
        #expect(outcomes.last?.output.contains(#"From alice: He said \\\"hi\\\" & left"#) == true)

        #expect(guide.contains(/in a browser: http:\/\/127.0.0.1:[0-9]+ \(log in as alice/))
        #expect(guide.contains("notify-gateway audit who-notified bob --config "))
        let directory = try #require(guide.firstMatch(of: /Everything is in (\S+) until/)?.1)
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
