import Foundation
import GatewayTesting
import NIOCore
import OutboundHTTP
import Testing

@testable import AuditSinks

@Suite("Syslog sinks", .timeLimit(.minutes(2)))
struct SyslogSinkTests {
    private static func sink(_ settings: SyslogSettings) -> AuditSinkSettings {
        AuditSinkSettings(name: "sink", target: .syslog(settings))
    }

    private static func sink(_ port: Int, _ authority: String, name: String? = nil) -> AuditSinkSettings {
        sink(
            SyslogSettings(address: .tls(host: "127.0.0.1", port: port), authority: authority, serverName: name))
    }

    @Test("Records arrive over TLS in frames with their length, in order")
    func tls() async throws {
        let fixture = try SinkFixture(segmentBytes: 4000)
        let authority = try fixture.directory.write(TestCertificate.authority, to: "ca.pem")
        let receiver = try await SyslogReceiver.start(tls: .one)
        await fixture.sinks.apply([Self.sink(receiver.port, authority)])
        try await fixture.record(0..<30)
        await fixture.untilConfirmed()
        await receiver.received.wait { $0.flatMap { SyslogReceiver.messages($0) }.count >= 61 }
        #expect(receiver.numbers == Array(1...61))
        let first = String(decoding: SyslogReceiver.messages(receiver.received.current[0])[1], as: UTF8.self)
        #expect(first.hasPrefix("<85>1 2026-"))
        #expect(first.contains(#"[notify@32473 seq="2" call=""#) && first.contains(#" user="alice""#))
        await fixture.close()
        await receiver.stop()
    }

    @Test("A certificate for another name is not accepted, and nothing is sent")
    func wrongName() async throws {
        let fixture = try SinkFixture()
        let authority = try fixture.directory.write(TestCertificate.authority, to: "ca.pem")
        let receiver = try await SyslogReceiver.start(tls: .elsewhere)
        await fixture.sinks.apply([Self.sink(receiver.port, authority)])
        await fixture.waits.wait { $0.count >= 2 }
        #expect(receiver.received.current.allSatisfy { $0.isEmpty })
        #expect(await fixture.reading()?.recordsBehind == 1)
        // The name of the certificate may be configured.
        await fixture.sinks.apply([Self.sink(receiver.port, authority, name: "elsewhere.test")])
        await fixture.untilConfirmed()
        await receiver.received.wait { $0.contains { SyslogReceiver.messages($0).count == 1 } }
        await fixture.close()
        await receiver.stop()
    }

    @Test("Only a certificate with the configured name is accepted", arguments: ServerNameCase.all)
    func names(_ example: ServerNameCase) async throws {
        let files = try TestFiles()
        let authority = try files.write(ServerNameCase.authority, to: "ca.pem")
        for (name, isValid) in [
            (nil, example.isForAddress), ("localhost", example.isForName), ("192.0.2.1", false),
        ] as [(String?, Bool)] {
            let fixture = try SinkFixture()
            let receiver = try await SyslogReceiver.start(tls: example.certificate)
            await fixture.sinks.apply([Self.sink(receiver.port, authority, name: name)])
            if isValid {
                await fixture.untilConfirmed()
            } else {
                await fixture.waits.wait { $0.count >= 2 }
                #expect(receiver.received.current.allSatisfy { $0.isEmpty }, "\(name ?? "-")")
            }
            await fixture.close()
            await receiver.stop()
        }
    }

    @Test("A receiver that closes the connection in the middle of a batch gets the whole batch again")
    func closedInBatch() async throws {
        let fixture = try SinkFixture()
        let authority = try fixture.directory.write(TestCertificate.authority, to: "ca.pem")
        try await fixture.record(0..<500)
        let receiver = try await SyslogReceiver.start(tls: .one, closingAfter: 20_000)
        await fixture.sinks.apply([Self.sink(receiver.port, authority)])
        await fixture.untilConfirmed()
        await receiver.received.wait { received in
            received.last.map { SyslogReceiver.messages($0).last.map { lineNumbers($0) == [1001] } ?? false } ?? false
        }
        let isComplete = Set(receiver.numbers) == Set(1...1001)
        #expect(isComplete)
        // The next connection repeats what the receiver may not have read, and continues without a gap.
        let numbers = SyslogReceiver.messages(receiver.received.current.last ?? []).flatMap { lineNumbers($0) }
        let first = try #require(numbers.first)
        let isOrdered = numbers == Array(first...1001)
        #expect(isOrdered && first <= 501)
        await fixture.close()
        await receiver.stop()
    }

    @Test("A connection that ends while nothing is recorded is replaced, and its last records come again")
    func brokenWhileIdle() async throws {
        let fixture = try SinkFixture(pollsByClock: true)
        let authority = try fixture.directory.write(TestCertificate.authority, to: "ca.pem")
        let receiver = try await SyslogReceiver.start(tls: .one)
        await fixture.sinks.apply([Self.sink(receiver.port, authority)])
        try await fixture.record(0..<3)
        await fixture.untilConfirmed()
        await receiver.received.wait { $0.flatMap { SyslogReceiver.messages($0) }.count >= 7 }
        await receiver.closeConnections()
        await receiver.received.wait { $0.count >= 2 && SyslogReceiver.messages($0[1]).count >= 7 }
        #expect(SyslogReceiver.messages(receiver.received.current[1]).flatMap { lineNumbers($0) } == Array(1...7))
        await fixture.close()
        await receiver.stop()
    }

    @Test("The end of a sink interrupts a delivery to a receiver that reads nothing")
    func closedDuringDelivery() async throws {
        let directory = try TestFiles()
        let path = "\(directory.path)/log"
        let listener = try ListeningSocket(path)
        let destination = SyslogSocketDestination(
            path: path, isStream: true, message: SyslogMessage(facility: .authpriv), thread: DeliveryThread())
        let line = Array((#"{"seq":1,"at":"2026-11-21T07:00:00.000000Z","kind":"intent"}"# + "\n").utf8)
        let batch = SinkBatch(lines: (0..<20_000).flatMap { _ in line }, count: 20_000)
        let delivery = Task { try await destination.deliver(batch) }
        let connection = try await listener.acceptAndReadOneByte()
        await destination.close()
        await #expect(throws: DeliveryFailure.self) { try await delivery.value }
        close(connection)
    }

    @Test("A stream socket that is missing for an hour gets all records afterwards")
    func downForAnHour() async throws {
        let fixture = try SinkFixture()
        let path = "\(fixture.directory.path)/log"
        await fixture.sinks.apply([Self.sink(SyslogSettings(address: .stream(path: path)))])
        try await fixture.record(0..<10)
        await fixture.waits.wait { $0.reduce(.zero, +) >= .seconds(3600) }
        let reading = try #require(await fixture.reading())
        #expect(reading.recordsBehind == 21 && reading.secondsBehind >= 3600 && reading.failures >= 10)
        // Twelve waits an hour, because they grow to five minutes.
        #expect(fixture.waits.current.filter { $0 < .seconds(300) }.count == 9)
        let receiver = try await SyslogReceiver.start(at: SocketAddress(unixDomainSocketPath: path))
        await fixture.untilConfirmed()
        #expect(receiver.numbers == Array(1...21))
        #expect(await fixture.reading()?.secondsBehind == 0)
        await fixture.close()
        await receiver.stop()
    }

    @Test("A datagram socket gets one message in each datagram")
    func datagrams() async throws {
        let fixture = try SinkFixture()
        let path = "\(fixture.directory.path)/log"
        let socket = try DatagramSocket(path)
        await fixture.sinks.apply([Self.sink(SyslogSettings(address: .datagram(path: path), facility: .local0))])
        try await fixture.record(0..<50)
        // The queue of a datagram socket has room for some datagrams only, so the sink waits for the receiver.
        let datagrams = await socket.receive(101)
        #expect(datagrams.flatMap { lineNumbers($0) } == Array(1...101))
        #expect(datagrams.allSatisfy { $0.starts(with: Array("<133>1 2026-".utf8)) })
        await fixture.untilConfirmed()
        await fixture.close()
    }
}
