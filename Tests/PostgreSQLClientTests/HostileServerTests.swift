import GatewayTesting
import PostgreSQLClient
import Testing

/// Responses that no honest server sends end in an error of the client, never in a trap or beyond the deadline.
@Suite struct HostileServerTests {
    private typealias Server = HostileServer

    @Test func `An honest response is read`() throws {
        let response = Server.execution(Server.columns([20]) + Server.row([[0, 0, 0, 0, 0, 0, 0, 5]]))
        let server = try HostileServer([Server.prepared, response])
        let connection = try PostgreSQLConnection.connect(server.settings, within: .seconds(5))
        #expect(try connection.rows("SELECT 5") == [[.integer(5)]])
    }

    @Test(arguments: [
        execution(columns([20]) + row([[1, 2, 3]])), execution(columns([20]) + row([[]])),
        execution(columns([20]) + row([Array(repeating: 0, count: 9)])),
        execution(columns([16]) + row([[1, 1]])), execution(columns([23]) + row([[1]])),
        execution(columns([25]) + row([[0xFF, 0xFE]])), execution(columns([20], format: 0) + row([[0x35]])),
        execution(columns([20]) + row([])), execution(columns([20]) + row([[0], [0]])),
        execution(row([[0, 0, 0, 0, 0, 0, 0, 5]])),
        execution(columns([20]) + message("D", [0, 1, 0x7F, 0xFF, 0xFF, 0xFF])),
        execution(columns([20]) + message("D", [0])), execution(message("T", [0xFF, 0xFF])),
        execution(message("?", [])),
        message("2", []) + message("H", [1, 0, 0]), message("2", []) + message("G", [1, 0, 0]),
        message("2", []) + message("W", [1, 0, 0]), message("E", []), message("E", Array("SERROR\0".utf8)),
        message("2", []) + columns([20]), [UInt8(ascii: "D"), 0, 0, 0, 0], [UInt8(ascii: "D"), 0xFF, 0xFF, 0xFF, 0xFF],
        [],
    ])
    func `A response that breaks the protocol is an error`(response: [UInt8]) throws {
        let server = try HostileServer([Server.prepared, response])
        let connection = try PostgreSQLConnection.connect(server.settings, within: .seconds(5))
        #expect(try failure { try connection.rows("SELECT 5") } != nil)
    }

    @Test func `A second description with other columns is an error`() throws {
        let number: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 5]
        let messages =
            Server.columns([20]) + Server.row([number]) + Server.columns([20, 20]) + Server.row([number, number])
        let server = try HostileServer([Server.prepared, Server.execution(messages)])
        let connection = try PostgreSQLConnection.connect(server.settings, within: .seconds(5))
        #expect(try failure { try connection.rows("SELECT 5") } != nil)
    }

    @Test func `A server that closes the session early is unavailable`() throws {
        for responses in [[], [Server.prepared], [[]]] as [[[UInt8]]] {
            let server = try HostileServer(responses)
            let connection = try PostgreSQLConnection.connect(server.settings, within: .seconds(5))
            connection.statementDeadline = .milliseconds(200)
            #expect(try failure { try connection.rows("SELECT 5") }?.kind == .unavailable)
            #expect(!connection.isUsable)
        }
    }

    private static func execution(_ messages: [UInt8]) -> [UInt8] { HostileServer.execution(messages) }
    private static func columns(_ types: [UInt8], format: UInt8 = 1) -> [UInt8] {
        HostileServer.columns(types, format: format)
    }
    private static func row(_ values: [[UInt8]]) -> [UInt8] { HostileServer.row(values) }
    private static func message(_ type: Character, _ body: [UInt8]) -> [UInt8] { HostileServer.message(type, body) }
}
