internal import CLibpq

/// A result of libpq, freed with the value.
struct LibpqResult: ~Copyable {
    let pointer: OpaquePointer

    init(_ pointer: OpaquePointer) { self.pointer = pointer }

    deinit { PQclear(pointer) }

    var status: ExecStatusType { PQresultStatus(pointer) }

    /// The number of rows that the statement changed; 0 for a statement that changes none.
    var changedRows: Int { PQcmdTuples(pointer).flatMap { Int(String(cString: $0)) } ?? 0 }

    /// The number of columns.
    var columnCount: Int { Int(PQnfields(pointer)) }

    /// The names of the columns.
    var columns: [String] {
        (0..<PQnfields(pointer)).map { PQfname(pointer, $0).map { String(cString: $0) } ?? "" }
    }

    /// The failure that the result describes. Only of results whose status is an error.
    ///
    /// - Parameter isConnectionLost: Whether libpq has lost the connection.
    func error(isConnectionLost: Bool) -> PostgreSQLError {
        func field(_ code: CInt) -> String? {
            PQresultErrorField(pointer, code).map { String(cString: $0) }
        }
        guard let sqlState = field(notify_gateway_diag_sqlstate) else {
            let reason = PQresultErrorMessage(pointer).map { String(cString: $0) } ?? ""
            return PostgreSQLError(
                isConnectionLost ? .unavailable : .other, reason.isEmpty ? "no reason given" : reason)
        }
        var message = field(notify_gateway_diag_primary) ?? "no reason given"
        switch sqlState.prefix(2) {
        case "22":
            // "invalid input syntax for type integer: "value"".
            if let quote = message.firstIndex(of: "\"") { message = message[..<quote] + "…" }
        case "23":
            // The detail quotes the row; the primary message names the constraint, if there is one.
            if let constraint = field(notify_gateway_diag_constraint), !message.contains(constraint) {
                message += ", constraint \(constraint)"
            }
        case "08", "25", "28", "3D", "40", "53", "55", "57", "58":
            if let detail = field(notify_gateway_diag_detail) { message += ": \(detail)" }
        // Details of other classes may quote values.
        default: break
        }
        let severity = field(notify_gateway_diag_severity) ?? "ERROR"
        return PostgreSQLError(sqlState: sqlState, severity: severity, message: message)
    }

    /// The value of a column in a row, decoded by the column's type.
    ///
    /// Only for columns that the result has: below ``columnCount``.
    func value(row: CInt, column: CInt) throws(PostgreSQLError) -> PostgreSQLValue {
        if PQgetisnull(pointer, row, column) == 1 { return .null }
        guard PQfformat(pointer, column) == 1, let start = PQgetvalue(pointer, row, column) else {
            throw invalid(column, "is not in binary format")
        }
        let bytes = UnsafeRawBufferPointer(start: start, count: max(0, Int(PQgetlength(pointer, row, column))))
        switch PQftype(pointer, column) {
        case TypeIdentifier.int8: return .integer(try integer(Int64.self, bytes, column))
        case TypeIdentifier.int4: return .integer(Int64(try integer(Int32.self, bytes, column)))
        case TypeIdentifier.int2: return .integer(Int64(try integer(Int16.self, bytes, column)))
        case TypeIdentifier.oid: return .integer(Int64(try integer(UInt32.self, bytes, column)))
        case TypeIdentifier.bool: return .integer(try integer(UInt8.self, bytes, column) == 0 ? 0 : 1)
        case TypeIdentifier.bytea: return .bytes([UInt8](bytes))
        case TypeIdentifier.text, TypeIdentifier.varchar, TypeIdentifier.bpchar, TypeIdentifier.name,
            TypeIdentifier.unknown:
            guard let text = String(validating: bytes, as: UTF8.self) else { throw invalid(column, "is not UTF-8") }
            return .text(text)
        case let type: throw invalid(column, "has the type with the identifier \(type), which the client does not read")
        }
    }

    /// Reads a number in network byte order, which must fill the value.
    private func integer<Number: FixedWidthInteger>(
        _: Number.Type, _ bytes: UnsafeRawBufferPointer, _ column: CInt
    ) throws(PostgreSQLError) -> Number {
        guard bytes.count == MemoryLayout<Number>.size else { throw invalid(column, "has \(bytes.count) bytes") }
        return Number(bigEndian: bytes.loadUnaligned(as: Number.self))
    }

    private func invalid(_ column: CInt, _ reason: String) -> PostgreSQLError {
        let name = PQfname(pointer, column).map { String(cString: $0) } ?? "\(column)"
        return PostgreSQLError(.other, "the column \(name) of a result \(reason)")
    }
}

/// Object identifiers of types, from PostgreSQL's pg_type.dat.
enum TypeIdentifier {
    /// The server infers the type.
    static let inferred: Oid = 0
    static let bool: Oid = 16
    static let bytea: Oid = 17
    static let name: Oid = 19
    static let int8: Oid = 20
    static let int2: Oid = 21
    static let int4: Oid = 23
    static let text: Oid = 25
    static let oid: Oid = 26
    static let unknown: Oid = 705
    static let bpchar: Oid = 1042
    static let varchar: Oid = 1043
}
