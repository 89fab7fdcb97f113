import Foundation
import GatewaySupport

@testable import GatewayStore

/// Lines as an attacker with write access to the disk, but without the signing key, can make them.
enum ForgedLine {
    /// Returns the content chained at its place, with a valid hash. Throws if it is not a line.
    static func hashed(_ line: [UInt8], number: String, previous: [UInt8]) throws -> [UInt8] {
        let text = String(decoding: line, as: UTF8.self)
        // Not required: those who change lines at random try others too.
        guard let body = text.range(of: ",\"at\":"), let end = text.range(of: ",\"prev\":\"", options: .backwards),
            body.lowerBound < end.lowerBound
        else { throw JournalFault("not a line") }
        var forged = Array("{\"seq\":\(number)\(text[body.lowerBound..<end.lowerBound]),\"prev\":\"".utf8)
        forged += previous + Array("\"".utf8)
        guard let digest = SHA256.digest(forged) else { throw JournalFault("libcrypto fails") }
        return forged + Array(",\"hash\":\"\(String(hexEncoding: digest))\"}".utf8)
    }

    /// The hash that the line states.
    static func hash(of line: [UInt8]) -> [UInt8] { Array(line.dropLast(2).suffix(64)) }

    /// Returns the line with another sender.
    static func altered(_ line: [UInt8]) -> [UInt8] {
        Array(String(decoding: line, as: UTF8.self).replacing("\"alice\"", with: "\"mallory\"").utf8)
    }
}
