import Testing

@testable import GatewaySupport

@Suite struct ByteWriterTests {
    private func text(expecting length: Int, _ write: (inout ByteWriter) -> Void) -> String {
        String(decoding: [UInt8](expecting: length, write), as: UTF8.self)
    }

    @Test(
        "A writer writes every kind of value for any initial capacity", arguments: [0, 1, 7, 40, 41, 42, 43, 44, 200])
    func pieces(length: Int) {
        let text = text(expecting: length) {
            $0.append("one, ")
            $0.append(text: "zw\u{F6}lf" + ", 🙂, ")
            $0.append([1, 2, 3].map { $0 + UInt8(ascii: "0") })
            $0.append(UInt8(ascii: " "))
            $0.append(decimal: -120)
            $0.append(" ")
            $0.append(hexDigitsOf: 0xFEDC_BA98_7654_3210)
            $0.append("")
            $0.append(text: "")
            $0.append([])
        }
        #expect(text == "one, zwölf, 🙂, 123 -120 fedcba9876543210")
    }

    @Test("A string is written for any initial capacity", arguments: [0, 1, 15, 16, 22, 23, 24, 200])
    func text(length: Int) {
        var runs = 0
        let text = String(expecting: length) {
            runs += 1
            $0.append("one, zw")
            $0.append(text: "\u{F6}lf" + ", 🙂, ")
            $0.append(decimal: 12345)
        }
        #expect(text == "one, zwölf, 🙂, 12345")
        #expect(runs == (length < text.utf8.count ? 2 : 1))
        #expect(String(expecting: length) { _ in } == "")
    }

    @Test(
        "Numbers of any length are written in decimal and hexadecimal",
        arguments: [0, 9, 10, 99, 100, 1_000_000, UInt64(Int64.max), .max])
    func numbers(number: UInt64) {
        #expect(text(expecting: 20) { $0.append(decimal: number) } == String(number))
        let digits = String(number, radix: 16)
        #expect(
            text(expecting: 16) { $0.append(hexDigitsOf: number) } == String(repeating: "0", count: 16 - digits.count)
                + digits)
    }

    @Test("Every hexadecimal digit is written at every position")
    func digits() {
        for place in 0..<16 {
            for digit in 0..<16 as Range<UInt64> {
                let number = digit << UInt64(4 * place)
                let expected = (0..<16).map { $0 == 15 - place ? String(digit, radix: 16) : "0" }.joined()
                #expect(text(expecting: 16) { $0.append(hexDigitsOf: number) } == expected)
            }
        }
    }

    @Test("A full writer writes nothing more and counts the missing bytes")
    func noRoom() {
        var memory: [UInt8] = Array("........".utf8)
        memory.withUnsafeMutableBufferPointer { memory in
            var writer = ByteWriter(UnsafeMutableBufferPointer(rebasing: memory[..<4]))
            writer.append("abc")
            #expect(writer.isComplete)
            writer.append("de")
            #expect(!writer.isComplete)
            writer.append(UInt8(ascii: "f"))
            writer.append(decimal: 10)
            writer.append(hexDigitsOf: 1)
            writer.append(text: ["g", "h"].joined())
            #expect(writer.count == 3 + 2 + 1 + 2 + 16 + 2)
        }
        #expect(String(decoding: memory, as: UTF8.self) == "abc.....")
        var nowhere = ByteWriter(UnsafeMutableBufferPointer(start: nil, count: 0))
        nowhere.append("x")
        #expect(nowhere.count == 1 && !nowhere.isComplete)
    }
}
