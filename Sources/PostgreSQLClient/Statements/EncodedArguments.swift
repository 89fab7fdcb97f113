internal import CLibpq

/// The arguments of one statement in libpq's binary format.
struct EncodedArguments {
    /// The identifiers of the types; 0 for NULL.
    private(set) var types: [Oid] = []
    private var lengths: [CInt] = []
    /// The places of the values in ``bytes``; nil for NULL.
    private var offsets: [Int?] = []
    private var bytes: [UInt8] = []
    /// The protocol counts arguments with 16 bits.
    private static let mostArguments = 65_535
    /// The server rejects larger messages.
    private static let mostBytes = 1 << 30

    /// Encodes the values.
    ///
    /// - Throws: for a text with a NUL character, and for more than a statement can have.
    init(_ values: [PostgreSQLValue]) throws(PostgreSQLError) {
        guard values.count <= Self.mostArguments else {
            throw PostgreSQLError(.other, "a statement has \(values.count) arguments")
        }
        types.reserveCapacity(values.count)
        lengths.reserveCapacity(values.count)
        offsets.reserveCapacity(values.count)
        for (index, value) in values.enumerated() {
            let start = bytes.count
            switch value {
            case .null: types.append(TypeIdentifier.inferred)
            case .integer(let number):
                types.append(TypeIdentifier.int8)
                withUnsafeBytes(of: number.bigEndian) { bytes += $0 }
            case .text(let text):
                types.append(TypeIdentifier.text)
                bytes += text.utf8
                guard !bytes[start...].contains(0) else {
                    throw PostgreSQLError(.other, "the argument \(index + 1) of a statement contains a NUL character")
                }
            case .bytes(let content):
                types.append(TypeIdentifier.bytea)
                bytes += content
            }
            guard bytes.count <= Self.mostBytes else {
                throw PostgreSQLError(.other, "the arguments of a statement are longer than 1 GiB")
            }
            offsets.append(value == .null ? nil : start)
            lengths.append(CInt(bytes.count - start))
        }
        // An empty value at the end has a place too: a null pointer would mean NULL.
        bytes.append(0)
    }

    /// The number of arguments.
    var count: Int { types.count }

    /// Calls the closure with pointers to the values, their lengths and their formats, valid only during the call.
    func withPointers<Result>(
        _ body: ([UnsafePointer<CChar>?], [CInt], [CInt]) -> Result
    ) -> Result {
        bytes.withUnsafeBytes { buffer in
            let values = offsets.map { offset in
                offset.flatMap { buffer.baseAddress?.advanced(by: $0).assumingMemoryBound(to: CChar.self) }
            }
            return body(values, lengths, [CInt](repeating: 1, count: count))
        }
    }
}
