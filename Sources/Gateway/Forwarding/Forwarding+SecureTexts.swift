internal import GatewayCore

extension Forwarding {
    /// Stores the text of a secure send, so that whoever gets the push can read it.
    ///
    /// - Returns: The result of the send if the text could not be stored; nothing may be pushed then.
    @inline(never)
    func store(_ text: SecureTextReservation) async -> ForwardResult? {
        do throws(SecureTextsUnavailable) {
            try await text.store()
            return nil
        } catch {
            var failure = ForwardResult(result: .textsUnavailable)
            failure.detail = "secure notifications: \(error.detail)"
            return failure
        }
    }
}
