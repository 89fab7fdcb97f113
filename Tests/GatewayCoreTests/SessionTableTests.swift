import GatewayCore
import GatewaySupport
import Testing

@Suite("Sessions and revocations in memory")
struct SessionTableTests {
    private static let alice = UserName(canonical: "alice")!  // The text conforms to the grammar of user names.
    private static let bob = UserName(canonical: "bob")!  // The text conforms to the grammar of user names.
    private static let noon = WallTime(seconds: 1_795_000_000)

    private static func session(_ number: UInt64, _ user: UserName = alice, at time: WallTime = noon) -> Session {
        Session(
            id: SessionID(random: (7, number)), user: user, login: LoginName(user.text), authenticator: "test",
            device: nil, began: time, ends: WallTime(seconds: time.seconds + 1000), renewed: time)
    }

    private static func token(_ session: SessionID?, issued: WallTime = noon, id: String = "t") -> TokenReference {
        TokenReference(id: id, session: session, issued: issued, expires: WallTime(seconds: issued.seconds + 60))
    }

    @Test("A token is valid for its own user while its session exists")
    func tokens() {
        var table = SessionTable()
        let session = Self.session(1)
        #expect(table.isRevoked(Self.token(session.id), of: Self.alice))
        table.replace(session.id, by: session)
        #expect(!table.isRevoked(Self.token(session.id), of: Self.alice))
        #expect(table.isRevoked(Self.token(session.id), of: Self.bob))
        let byBob = table.delete(session.id, of: Self.bob)
        #expect(!byBob)
        let byAlice = table.delete(session.id, of: Self.alice)
        #expect(byAlice)
        #expect(table.isRevoked(Self.token(session.id), of: Self.alice))
    }

    @Test("A session that is being ended is revoked, and valid again if no call could write the end")
    func ending() {
        var table = SessionTable()
        let id = Self.session(1).id
        let ofNone = table.beginDeleting(id, of: Self.alice)
        table.replace(Self.session(1).id, by: Self.session(1))
        let byBob = table.beginDeleting(id, of: Self.bob)
        #expect(!ofNone && !byBob)
        for writes in [[false, false], [false, true], [true, false]] {
            if table.session(id) == nil { table.replace(Self.session(1).id, by: Self.session(1)) }
            for _ in writes {
                let hasBegun = table.beginDeleting(id, of: Self.alice)
                #expect(hasBegun)
            }
            table.beginRevoking(token: "t", of: Self.alice)
            table.beginRevoking(token: "t", of: Self.alice)
            let tokens = [Self.token(id, id: "of a session"), Self.token(nil)]
            for (number, isWritten) in writes.enumerated() {
                #expect(tokens.allSatisfy { table.isRevoked($0, of: Self.alice) })
                table.finishDeleting(id, of: Self.alice, isWritten: isWritten)
                table.finishRevoking(
                    token: "t", of: Self.alice, until: isWritten ? WallTime(seconds: 1_795_000_060) : nil)
                if number == 0 { #expect(tokens.allSatisfy { table.isRevoked($0, of: Self.alice) }) }
            }
            let isEnded = writes.contains(true)
            #expect(tokens.allSatisfy { table.isRevoked($0, of: Self.alice) == isEnded }, "\(writes)")
            #expect((table.session(id) == nil) == isEnded)
            table.removeExpired(at: WallTime(seconds: 1_795_000_060))
            #expect(!table.isRevoked(Self.token(nil), of: Self.alice))
        }
    }

    @Test("A token is revoked for its own user only")
    func oneToken() {
        var table = SessionTable()
        table.revoke(token: "t", of: Self.alice, until: WallTime(seconds: 1_795_000_060))
        #expect(table.isRevoked(Self.token(nil), of: Self.alice))
        #expect(!table.isRevoked(Self.token(nil, id: "u"), of: Self.alice))
        #expect(!table.isRevoked(Self.token(nil), of: Self.bob))
        table.removeExpired(at: WallTime(seconds: 1_795_000_060))
        #expect(!table.isRevoked(Self.token(nil), of: Self.alice))
    }

    @Test("A revoked user loses all sessions and earlier tokens, and later tokens are valid")
    func user() {
        var table = SessionTable()
        table.replace(Self.session(1).id, by: Self.session(1))
        table.replace(Self.session(2, Self.bob).id, by: Self.session(2, Self.bob))
        let before = table.epoch
        table.revoke(Self.alice, at: Self.noon)
        #expect(table.session(Self.session(1).id) == nil)
        #expect(table.session(Self.session(2).id) != nil)
        #expect(table.isRevoked(Self.token(nil), of: Self.alice))
        #expect(!table.isRevoked(Self.token(nil, issued: WallTime(seconds: 1_795_000_001)), of: Self.alice))
        #expect(!table.isRevoked(Self.token(nil), of: Self.bob))
        #expect(table.wasRevoked(Self.alice, since: before))
        #expect(!table.wasRevoked(Self.alice, since: table.epoch))
        #expect(!table.wasRevoked(Self.bob, since: before))
        // A clock that is set back does not make older tokens valid again.
        table.revoke(Self.alice, at: WallTime(seconds: 1_794_000_000))
        #expect(table.isRevoked(Self.token(nil), of: Self.alice))
        table.removeExpired(at: WallTime(seconds: 1_795_000_000 + SessionTable.revocationLifetime))
        #expect(!table.isRevoked(Self.token(nil), of: Self.alice))
    }

    @Test("A further session replaces expired ones, and those renewed longest ago beyond the limit")
    func most() {
        let sessions = (1...20).map { Self.session(UInt64($0), at: WallTime(seconds: 1_795_000_000 + Int64($0))) }
        var renewed = sessions
        renewed[0].renewed = WallTime(seconds: 1_795_000_100)
        let next = Self.session(21, at: WallTime(seconds: 1_795_000_200))
        func replaced(by session: Session, among sessions: [Session], limit: Int = 20) -> [SessionID] {
            session.replaced(among: sessions, limit: limit).map(\.id)
        }
        #expect(replaced(by: next, among: Array(sessions.prefix(19))).isEmpty)
        #expect(replaced(by: next, among: sessions.reversed()) == [sessions[0].id])
        #expect(replaced(by: next, among: renewed) == [sessions[1].id])
        #expect(replaced(by: next, among: sessions, limit: 18) == [2, 1, 0].map { sessions[$0].id })
        #expect(Set(replaced(by: next, among: sessions, limit: 1)) == Set(sessions.map(\.id)))
        // Expired sessions do not count.
        let late = Self.session(22, at: WallTime(seconds: 1_795_001_010))
        #expect(replaced(by: late, among: sessions) == sessions.prefix(10).map(\.id))
        // Sessions renewed at the same time have the order of their ids, so that all stores agree.
        let equal = (1...3).map { Self.session($0) }
        #expect(replaced(by: next, among: equal, limit: 3) == [equal.map(\.id).min { $0.text < $1.text }])
    }

    @Test("A session id is 22 characters of base64url")
    func ids() {
        let id = SessionID(random: (0x0123_4567_89AB_CDEF, .max))
        #expect(id.text.utf8.count == 22)
        #expect(SessionID(id.text) == id)
        for wrong in ["", "x", id.text + "A", String(id.text.dropLast()) + "=", String(repeating: "/", count: 22)] {
            #expect(SessionID(wrong) == nil, "\(wrong)")
        }
    }

    @Test("A device label is short and has no control characters")
    func labels() {
        #expect(DeviceLabel("Alice's phone 📱")?.text == "Alice's phone 📱")
        for wrong in ["", String(repeating: "x", count: 65), "a\nb", "\u{0}", "\u{1b}[31m", "\u{85}"] {
            #expect(DeviceLabel(wrong) == nil)
        }
    }
}
