internal import Foundation
internal import GatewayCore
public import GatewaySupport

/// The file of the key that signs the journal's statements. It lies outside the journal's directory, so that write
/// access to the directory alone does not allow forged statements.
public enum SigningKeyFile {
    /// The error thrown if the key cannot be used.
    public struct Failure: Error, Sendable, CustomStringConvertible {
        /// The file and the problem.
        public let description: String
    }

    /// Reads or creates the key. Blocks; intended for startup and commands.
    ///
    /// - Parameters:
    ///   - path: The file, mode 0600, with 32 random bytes.
    ///   - directory: The journal's directory. The file must not lie in it.
    ///   - mayCreate: Whether a missing key is created.
    public static func open(
        _ path: String, outside directory: String, mayCreate: Bool
    ) throws(Failure) -> Ed25519.PrivateKey {
        guard !isInside(path, directory) else {
            throw Failure(description: "\(path) lies in the journal's directory; move the signing key elsewhere")
        }
        do throws(KeyFile.Failure) {
            if mayCreate {
                do throws(FileFailure) {
                    try PrivateFiles.makeDirectory(PrivateFiles.parent(of: path))
                } catch {
                    throw KeyFile.Failure(description: error.description)
                }
            }
            let seed = try KeyFile.open(path, mayCreate: mayCreate)
            guard let key = Ed25519.PrivateKey(seed: seed) else {
                throw KeyFile.Failure(description: "libcrypto rejected the Ed25519 key")
            }
            return key
        } catch {
            throw Failure(description: error.description)
        }
    }

    /// Returns whether the path lies in or below the directory, after resolving symbolic links.
    public static func isInside(_ path: String, _ directory: String) -> Bool {
        let directory = resolved(directory)
        return resolved(PrivateFiles.parent(of: path)).starts(with: directory)
            || resolved(path).starts(with: directory)
    }

    private static func resolved(_ path: String) -> [String] {
        URL(fileURLWithPath: path).resolvingSymlinksInPath().standardizedFileURL.pathComponents
    }
}
