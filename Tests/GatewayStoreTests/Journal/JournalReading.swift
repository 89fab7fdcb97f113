import Foundation
import GatewayCore
import Testing

@testable import GatewayStore
@testable import GatewaySupport

/// A line of the journal, parsed without the product's code.
struct ReadLine {
    let text: String
    let members: [String: Any]

    var seq: Int { members["seq"] as? Int ?? -1 }
    var kind: String { members["kind"] as? String ?? "" }
    var result: String? { members["result"] as? String }
    var call: String? { members["call"] as? String }
    var recipient: String? { members["recipient"] as? String }
}

/// An error in a journal.
struct JournalFault: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// Reads a journal's segments and verifies the chain according to the format's description alone.
enum JournalReading {
    static func segments(in directory: TemporaryDirectory) throws -> [String] {
        try directory.names().filter { $0.hasPrefix("journal-") && $0.hasSuffix(".jsonl") }
    }

    /// Returns all valid lines in order. Throws at the first that breaks the chain.
    static func verified(_ directory: TemporaryDirectory) throws -> [ReadLine] {
        let segments = try segments(in: directory)
        var lines: [ReadLine] = []
        var previous = String(repeating: "0", count: 64)
        for (place, name) in segments.enumerated() {
            let end = place + 1 < segments.count ? Int(segments[place + 1].dropFirst(8).dropLast(6)) ?? 0 : .max
            var bytes = try directory.bytes(name)
            // Preallocated line feeds follow the last line's own.
            let content = bytes.lastIndex { $0 != 0x0A }.map { min($0 + 2, bytes.count) } ?? 0
            bytes.removeSubrange(content...)
            var parts = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
            let unfinished = parts.removeLast()
            guard unfinished.isEmpty || end != .max else { throw JournalFault("\(name) ends within a line") }
            guard Int(name.dropFirst(8).dropLast(6)) == lines.count + 1 else {
                throw JournalFault("\(name) out of order")
            }
            for part in parts where lines.count + 1 < end {
                let line = try line(Array(part))
                guard line.seq == lines.count + 1 else { throw JournalFault("\(line.seq) follows \(lines.count)") }
                guard line.members["prev"] as? String == previous else { throw JournalFault("\(line.seq): prev") }
                previous = line.members["hash"] as? String ?? ""
                lines.append(line)
            }
            guard end == .max || lines.count + 1 == end else { throw JournalFault("\(name) ends early") }
        }
        return lines
    }

    static func line(_ bytes: [UInt8]) throws -> ReadLine {
        let text = String(decoding: bytes, as: UTF8.self)
        guard Array(text.utf8) == bytes else { throw JournalFault("not UTF-8: \(text)") }
        let json = try JSONSerialization.jsonObject(with: Data(bytes))
        guard let members = json as? [String: Any] else { throw JournalFault("no object: \(text)") }
        guard let tail = text.range(of: ",\"hash\":\"", options: .backwards) else { throw JournalFault("no hash") }
        let digest = SHA256.digest(Array(text[..<tail.lowerBound].utf8)) ?? []
        let hex = digest.map { String(format: "%02x", $0) }.joined()
        guard members["hash"] as? String == hex, text.hasSuffix("\"\(hex)\"}") else {
            throw JournalFault("the hash is not the line's: \(text)")
        }
        return ReadLine(text: text, members: members)
    }
}
