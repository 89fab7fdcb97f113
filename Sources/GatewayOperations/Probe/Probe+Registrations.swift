internal import Gateway
internal import GatewayCore

extension Probe {
    /// Tests V9 and V11: ownership of registrations, with two users of the probe.
    mutating func testOwnership() async throws(ProbeError) {
        guard let id = try await session.reserve(session.handle, as: session.own).id else {
            throw ProbeError("the backend assigned no id for a handle")
        }
        let registered = try await session.register(id, session.handle, as: session.own)
        guard Self.isSuccess(registered) else { throw ProbeError("a device cannot be registered: \(registered)") }
        let revealed = try await session.reserve(session.handle, as: session.other)
        recordFinding(
            .v11, revealed.id == id, "another user requested the id of the handle: \(Self.word(revealed.id == id))")
        let deleted = try await session.delete(id, as: session.other)
        if Self.isSuccess(deleted) {
            return recordFinding(.v9, true, "deletion by another user: \(deleted)")
        }
        let overwritten = try await session.register(id, ProbeSession.handle(), as: session.other)
        let after = try await session.reserve(session.handle, as: session.own)
        recordFinding(.v9, Self.isSuccess(overwritten) && after.id != id, "update by another user: \(overwritten)")
    }

    /// Tests V5 to V8: the tags of a registration of the probe.
    mutating func testTags(under id: RegistrationID) async throws(ProbeError) {
        let handle = ProbeSession.handle()
        let tags: [(ProbeVulnerability, String)] = [
            (.v5, "from:\(session.own)"), (.v6, "username:\(session.other)"), (.v7, "x,username:\(session.other)"),
            (.v8, "$UserId:{\(session.other)}"),
        ]
        for (vulnerability, tag) in tags {
            let status = try await session.register(id, handle, tags: [tag], as: session.own)
            recordFinding(vulnerability, Self.isSuccess(status), "register with \(tag): \(status)")
        }
    }

    /// Tests V17: the deletion of a registration that no longer exists.
    mutating func testRepeatedDeletion() async throws(ProbeError) {
        guard let id = try await session.reserve(nil, as: session.own).id else { return }
        guard Self.isSuccess(try await session.register(id, ProbeSession.handle(), as: session.own)) else { return }
        let first = try await session.delete(id, as: session.own)
        guard Self.isSuccess(first) else { throw ProbeError("a registration cannot be deleted: \(first)") }
        let second = try await session.delete(id, as: session.own)
        recordFinding(.v17, second >= 500, "second deletion: \(second)")
    }

    /// Tests V25: bodies that two parsers could interpret differently.
    mutating func testDuplicateMembers() async throws(ProbeError) {
        guard let id = try await session.reserve(nil, as: session.own).id else { return }
        let handle = ProbeSession.handle()
        let word = session.target.profile.platformNames[.apns]?.text ?? "apns"
        let status = try await session.register(
            id, handle, as: session.own,
            body: #"{"Platform":"\#(word)","platform":"\#(word)","Handle":"\#(handle)","Tags":[]}"#)
        recordFinding(.v25, Self.isSuccess(status), "register with a duplicate member: \(status)")
    }

    /// Whether the status is 2xx.
    static func isSuccess(_ status: Int) -> Bool { (200..<300).contains(status) }

    private static func word(_ isSame: Bool) -> String { isSame ? "same id" : "another id, or none" }
}
