internal import Foundation
internal import GatewayCore
internal import GatewaySupport

/// Foundation accepts every text that the JSON parser accepts, and a value that the writer writes reads as the same value.
enum JSONTarget: FuzzTarget {
    static func run(_ input: [UInt8]) {
        guard let value = try? JSONParser().parse(input.span) else { return }
        let written = JSONWriter.bytes(of: value)
        guard let again = try? JSONParser().parse(written.span), again == value else {
            propertyFails("\(String(decoding: written, as: UTF8.self)) reads differently")
        }
        guard (try? JSONSerialization.jsonObject(with: Data(written), options: .fragmentsAllowed)) != nil else {
            // Foundation refuses numbers that no double can hold; the parser keeps numbers as text.
            if holdsLargeNumber(value) { return }
            propertyFails("Foundation does not read \(String(decoding: written, as: UTF8.self))")
        }
    }

    private static func holdsLargeNumber(_ value: JSONValue) -> Bool {
        switch value {
        case .number(let text): Double(text)?.isFinite != true || text.utf8.count > 15
        case .array(let values): values.contains(where: holdsLargeNumber)
        case .object(let members): members.contains { holdsLargeNumber($0.value) }
        case .null, .bool, .string: false
        }
    }
}
