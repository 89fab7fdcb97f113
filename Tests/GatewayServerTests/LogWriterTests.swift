import Foundation
import Testing

@testable import GatewayServer

@Suite("Log writer", .timeLimit(.minutes(1)))
struct LogWriterTests {
    @Test("A reader of the log that has stopped does not keep the process from exiting")
    func stuckReader() throws {
        let pipe = Pipe()
        let writer = LogWriter(descriptor: pipe.fileHandleForWriting.fileDescriptor)
        let line = Array(repeating: UInt8(ascii: "x"), count: 1023) + [UInt8(ascii: "\n")]
        // More than a pipe holds (pipe(7): 64 KiB).
        for _ in 0..<512 { writer.write(line) }
        writer.flush(within: .milliseconds(10))

        // The reader continues and gets every line.
        var received = 0
        while received < 512 * line.count {
            let bytes = try #require(try pipe.fileHandleForReading.read(upToCount: 65_536))
            received += bytes.count
        }
        writer.flush()
        #expect(received == 512 * line.count)
    }
}
