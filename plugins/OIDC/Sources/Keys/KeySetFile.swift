internal import GatewayCore
internal import GatewaySupport

/// A file with the provider's key set.
enum KeySetFile {
    /// Reads the file on the file pool. A file that other users may write is rejected: its keys decide who may log in.
    static func load(_ file: String, context: PluginContext) async throws(ConfigurationError) -> KeySet {
        let result: Result<KeySet, ConfigurationError>
        do {
            result = try await context.filePool.run {
                do throws(ConfigurationError) { return .success(try read(file)) } catch { return .failure(error) }
            }
        } catch {
            throw ConfigurationError(file: file, "was not read: the queue of the file threads is full; try again")
        }
        return try result.get()
    }

    private static func read(_ file: String) throws(ConfigurationError) -> KeySet {
        let text: String
        do { text = try SecretFile.text(at: file, isPublic: true) } catch { throw ConfigurationError([error]) }
        let keys: KeySet
        do { keys = try KeySet(Array(text.utf8)) } catch { throw ConfigurationError(file: file, error.description) }
        guard !keys.keys.isEmpty else {
            let reasons = keys.skipped.map { "; \($0)" }.joined()
            throw ConfigurationError(file: file, "has no key that can verify tokens\(reasons)")
        }
        return keys
    }
}
