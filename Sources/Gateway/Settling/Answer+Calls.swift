internal import GatewayCore

// The answers that unmodified clients take for success (contract: clients).

extension Answer {
    /// No body: what every call but the first answers.
    static func empty(_ status: Int) -> Answer { Answer(status: status) }

    /// Exactly `"<id>"`: clients drop the first and the last character of whatever comes.
    static func registrationID(_ id: RegistrationID) -> Answer {
        Answer(status: 200, contentType: "application/json", body: Array("\"\(id.text)\"".utf8))
    }

    /// How many members of an audience were reached; a failure where none was.
    ///
    /// - Parameter detail: what failed first, for the log; nil where all were skipped.
    static func audience(_ counts: AudienceCounts, detail: String?) -> Answer {
        guard counts.accepted > 0 else {
            return ProblemDocument.answer(
                Refusal(
                    .backendFailed, detail ?? "all members were skipped",
                    hint: "The message reached no member of the audience.", extra: .audience(counts.members)))
        }
        return Answer(
            status: 200, contentType: "application/json", fields: [.noStore],
            body: JSONWriter.bytes(of: .object(counts.members)))
    }
}

extension Answer.Field {
    /// Nobody on the way may keep the answer.
    static let noStore = Answer.Field("Cache-Control", "no-store")
}
