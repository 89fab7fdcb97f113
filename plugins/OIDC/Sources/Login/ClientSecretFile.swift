internal import GatewayCore
internal import GatewaySupport

/// The file with the secret of the client. It is read for each login, so a new secret needs no reload.
enum ClientSecretFile {
    /// The maximum length of a secret in bytes.
    private static let maximumLength = 1024

    /// Reads the secret on the file pool: the text of the file without the line break at its end.
    static func read(_ file: String, context: PluginContext) async throws(ConfigurationError) -> Secret {
        let result: Result<Secret, ConfigurationError>
        do {
            result = try await context.filePool.run {
                do throws(ConfigurationProblem) {
                    return .success(try secret(in: file))
                } catch {
                    return .failure(ConfigurationError([error]))
                }
            }
        } catch {
            throw ConfigurationError(file: file, "was not read: the queue of the file threads is full; try again")
        }
        return try result.get()
    }

    private static func secret(in file: String) throws(ConfigurationProblem) -> Secret {
        var text = try SecretFile.text(at: file)[...]
        while text.last?.isNewline == true { text.removeLast() }
        guard (1...maximumLength).contains(text.utf8.count), text.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
        else {
            throw ConfigurationProblem(
                at: SourceLocation(file: file), path: "",
                "must contain the client's secret alone: one line of 1 to \(maximumLength) characters of ASCII")
        }
        return Secret(text.utf8)
    }
}
