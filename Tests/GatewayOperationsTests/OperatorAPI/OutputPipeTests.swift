import GatewaySupport
import Testing

@testable import GatewayOperations

@Suite("Results on their way to a response")
struct OutputPipeTests {
    @Test("The reader receives all results in order, and then the end")
    func order() async throws {
        let pipe = OutputPipe()
        async let written: Void = {
            for number in 0..<1000 { try await pipe.write(.item(.number("\(number)"))) }
            pipe.finish(nil)
        }()
        for number in 0..<1000 { #expect(await pipe.next() == .output(.item(.number("\(number)")))) }
        #expect(await pipe.next() == .end(nil))
        try await written
    }

    @Test("A write waits while the reader does not read, and fails when the pipe is closed")
    func closed() async throws {
        let pipe = OutputPipe()
        let writer = Task { () async throws(ControlError) -> Int in
            var count = 0
            while true {
                do {
                    try await pipe.write(.item(.null))
                } catch {
                    return count
                }
                count += 1
                if count == 15 { Task { pipe.close() } }
            }
        }
        // Sixteen results wait; the write of the last one does not return.
        #expect(try await writer.value <= 15)
        await #expect(throws: ControlError.unavailable("The peer has disconnected.")) {
            try await pipe.write(.item(.null))
        }
    }
}

@Suite("Lines of a response")
struct LineReaderTests {
    @Test("The line reader returns the same lines however the bytes are split")
    func splits() {
        let bytes = Array("one\n\ntwo\r\nthree\nrest".utf8)
        for size in 1...bytes.count {
            var reader = LineReader(maximumLength: 5)
            var lines: [LineReader.Line] = []
            for start in stride(from: 0, to: bytes.count, by: size) {
                reader.append(bytes[start..<min(start + size, bytes.count)])
                while let line = reader.next() { lines.append(line) }
            }
            #expect(lines == ["one", "", "two\r", "three"].map { .complete(Array($0.utf8)) })
        }
    }

    @Test("A line above the limit is too long immediately, with or without its end, however it is split")
    func tooLong() {
        for text in ["123456", "123456\n", "1\n123456"] {
            let bytes = Array(text.utf8)
            for size in 1...bytes.count {
                var reader = LineReader(maximumLength: 5)
                var last: LineReader.Line?
                for start in stride(from: 0, to: bytes.count, by: size) where last != .tooLong {
                    reader.append(bytes[start..<min(start + size, bytes.count)])
                    while let line = reader.next() {
                        last = line
                        if line == .tooLong { break }
                    }
                }
                #expect(last == .tooLong, "\(text) by \(size)")
            }
        }
    }
}
