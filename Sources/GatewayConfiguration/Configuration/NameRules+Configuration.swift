internal import GatewayCore
internal import GatewaySupport

extension NameRules {
    /// Returns the user that a text of the configuration means, by the name of the account or by the canonical name. Nil
    /// for texts with `:` or `*`, which have or seem to have another meaning and which escaping would turn into a name.
    func configuredUser(_ text: String) -> UserName? {
        text.contains("*") || text.contains(":") ? nil : user(PresentedName(text))
    }

    /// Returns how to write the user whose name `configuredUser(_:)` does not accept, as the end of a message; empty if
    /// there is none, and for texts that mean a group, an audience or a pattern.
    func advice(on text: String) -> String {
        guard text.contains(":"), !text.contains("*"), !text.hasPrefix("group:"), AudienceName.named(in: text) == nil,
            let user = user(PresentedName(text))
        else { return "" }
        return "; for the user of that name write \"\(user)\""
    }

    /// Returns which user a text means, for a name that the canonical name does not show; nil for every other.
    func meaning(of text: String, _ user: UserName) -> String? {
        let login = login(of: user).text
        return login == user.text ? nil : "\"\(text)\" means the user \(user), whose account is \"\(login)\""
    }
}
