import GatewayTesting
import PostgreSQLClient
import Testing

@Suite(.enabled(if: hasServer)) struct NotificationTests {
    @Test func `Notifications arrive in order, also those that come during statements`() throws {
        let (listener, sender) = (try connect(), try connect())
        let channel = "A \"strange\" channel"
        try listener.listen(channel)
        for payload in ["first", "", "third ä"] {
            try sender.execute("SELECT pg_notify(?, ?)", [.text(channel), .text(payload)])
        }
        try listener.execute("SELECT 1")
        var payloads: [String] = []
        while payloads.count < 3, let next = try listener.waitForNotification(until: instant(afterMilliseconds: 20_000))
        {
            #expect(next.channel == channel)
            payloads.append(next.payload)
        }
        #expect(payloads == ["first", "", "third ä"])
        #expect(try listener.waitForNotification(until: instant(afterMilliseconds: 10)) == nil)
        #expect(try listener.waitForNotification(until: instant(afterMilliseconds: -10)) == nil)
    }

    @Test func `Another thread ends the wait`() async throws {
        let connection = try connect()
        // The tests share a database, so no other one uses this channel.
        try connection.listen("woken by a thread")
        let wakeUp = connection.wakeUp
        let start = ContinuousClock.now
        Task.detached { wakeUp.wake() }
        #expect(try connection.waitForNotification(until: instant(afterMilliseconds: 30_000)) == nil)
        // A call before the wait counts too.
        wakeUp.wake()
        wakeUp.wake()
        #expect(try connection.waitForNotification(until: instant(afterMilliseconds: 30_000)) == nil)
        #expect(ContinuousClock.now - start < .seconds(20))
        // The calls are used up.
        #expect(try connection.waitForNotification(until: instant(afterMilliseconds: 10)) == nil)
    }

    @Test func `A listener is told when its server ends the session`() throws {
        let (listener, other) = (try connect(), try connect())
        try listener.listen("c")
        let pid = try listener.rows("SELECT pg_backend_pid()")[0]
        try other.execute("SELECT pg_terminate_backend(?::int4)", pid)
        let error = try failure { try listener.waitForNotification(until: instant(afterMilliseconds: 20_000)) }
        #expect(error?.kind == .unavailable && !listener.isUsable)
    }

    @Test func `Notifications that nobody reads are bounded`() throws {
        let (listener, sender) = (try connect(), try connect())
        try listener.listen("c")
        try sender.execute("SELECT count(pg_notify('c', i::text)) FROM generate_series(1, 10001) AS i")
        let error = try failure { while true { try listener.execute("SELECT 1") } }
        #expect(error?.kind == .unavailable && !listener.isUsable)
    }
}
