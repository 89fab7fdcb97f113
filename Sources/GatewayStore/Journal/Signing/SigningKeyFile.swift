internal import Foundation
public import GatewayCore

/// The file of the key that signs what the journal states of itself. It lies outside the journal's directory: who can change
/// the one and not the other cannot forge a statement.
public enum SigningKeyFile {
    /// The key cannot be used.
    public struct Failure: Error, Sendable, CustomStringConvertible {
        /// What is wrong, and with which file.
        public let description: String
    }

    /// The key in the file. Blocks; for starts and commands.
    ///
    /// - Parameters:
    ///   - path: The file, mode 0600: 32 random bytes.
    ///   - directory: The journal's directory, in which it must not lie.
    ///   - mayCreate: Whether a missing key is made.
    public static func open(
        _ path: String, outside directory: String, mayCreate: Bool
    ) throws(Failure) -> Ed25519.PrivateKey {
        guard !isInside(path, directory) else {
            throw Failure(description: "\(path) lies in the journal's directory, which it is to vouch for")
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
                throw KeyFile.Failure(description: "libcrypto takes no Ed25519 key")
            }
            return key
        } catch {
            throw Failure(description: error.description)
        }
    }

    /// Whether the path lies in the directory, or below it, whatever links lead there.
    public static func isInside(_ path: String, _ directory: String) -> Bool {
        let directory = resolved(directory)
        return resolved(PrivateFiles.parent(of: path)).starts(with: directory)
            || resolved(path).starts(with: directory)
    }

    private static func resolved(_ path: String) -> [String] {
        URL(fileURLWithPath: path).resolvingSymlinksInPath().standardizedFileURL.pathComponents
    }
}
