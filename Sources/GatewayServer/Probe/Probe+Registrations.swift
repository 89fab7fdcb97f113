internal import Gateway
internal import GatewayCore

extension Probe {
    /// V9, V11: whose registration is whose, tried with two users of the probe's own.
    mutating func ownership() async throws(ProbeError) {
        guard let id = try await session.reserve(session.handle, as: session.own).id else {
            throw ProbeError("no id for a handle")
        }
        let registered = try await session.register(id, session.handle, as: session.own)
        guard Self.isSuccess(registered) else { throw ProbeError("a device cannot register: \(registered)") }
        let revealed = try await session.reserve(session.handle, as: session.other)
        found(.v11, revealed.id == id, "another user asked with the handle: \(Self.word(revealed.id == id))")
        let deleted = try await session.delete(id, as: session.other)
        if Self.isSuccess(deleted) {
            return found(.v9, true, "another user deleted it: \(deleted)")
        }
        let overwritten = try await session.register(id, ProbeSession.handle(), as: session.other)
        let after = try await session.reserve(session.handle, as: session.own)
        found(.v9, Self.isSuccess(overwritten) && after.id != id, "another user overwrote it: \(overwritten)")
    }

    /// V5 to V8: what a registration of the probe's own may be tagged with.
    mutating func tags(under id: RegistrationID) async throws(ProbeError) {
        let handle = ProbeSession.handle()
        let tags: [(ProbeVulnerability, String)] = [
            (.v5, "from:\(session.own)"), (.v6, "username:\(session.other)"), (.v7, "x,username:\(session.other)"),
            (.v8, "$UserId:{\(session.other)}"),
        ]
        for (vulnerability, tag) in tags {
            let status = try await session.register(id, handle, tags: [tag], as: session.own)
            found(vulnerability, Self.isSuccess(status), "registered with \(tag): \(status)")
        }
    }

    /// V17: what is said of a registration that is not there.
    mutating func deletedTwice() async throws(ProbeError) {
        guard let id = try await session.reserve(nil, as: session.own).id else { return }
        guard Self.isSuccess(try await session.register(id, ProbeSession.handle(), as: session.own)) else { return }
        let first = try await session.delete(id, as: session.own)
        guard Self.isSuccess(first) else { throw ProbeError("a registration cannot be deleted: \(first)") }
        let second = try await session.delete(id, as: session.own)
        found(.v17, second >= 500, "deleted a second time: \(second)")
    }

    /// V25: bodies that two readers could read differently.
    mutating func bodies() async throws(ProbeError) {
        guard let id = try await session.reserve(nil, as: session.own).id else { return }
        let handle = ProbeSession.handle()
        let word = session.target.profile.platformWords[.apns]?.text ?? "apns"
        let status = try await session.register(
            id, handle, as: session.own,
            body: #"{"Platform":"\#(word)","platform":"\#(word)","Handle":"\#(handle)","Tags":[]}"#)
        found(.v25, Self.isSuccess(status), "registered with a member twice: \(status)")
    }

    static func isSuccess(_ status: Int) -> Bool { (200..<300).contains(status) }

    private static func word(_ isSame: Bool) -> String { isSame ? "got the id" : "got another id, or none" }
}
