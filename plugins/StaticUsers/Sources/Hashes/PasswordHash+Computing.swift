internal import CLibcrypt
internal import GatewayCore
public import GatewaySupport

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

// Every function below uses milliseconds to seconds of processor time. Do not call them on an event loop.

extension PasswordHash {
    /// The result of comparing a password with a hash.
    enum Match: Sendable {
        case same
        case different
        /// crypt(3) ran out of memory.
        case undecided
    }

    /// Compares a password with the hash. Blocks.
    func match(_ password: Secret) -> Match {
        switch Self.crypt(password, setting: text) {
        case .success(let output): ConstantTime.equal(output, Array(text.utf8)) ? .same : .different
        // crypt(3) rejects passwords of more than 511 bytes, so no hash belongs to one.
        case .failure(let fault): fault.code == ERANGE ? .different : .undecided
        }
    }

    /// Computes the hash once, so that a hash that libcrypt rejects is reported at load and not at a login. Blocks.
    func checkSupport() throws(Fault) {
        switch Self.crypt(Secret("a password".utf8), setting: text) {
        case .success(let output):
            let text = Array(text.utf8)
            guard output.count == text.count, output.prefix(settingLength) == text.prefix(settingLength) else {
                throw Fault(description: "is a hash that no password can match; set a new password")
            }
        case .failure(let fault):
            throw Fault(description: "is a hash that crypt(3) rejects: \(String(cString: strerror(fault.code)))")
        }
    }

    /// Hashes a password with yescrypt, the library's default cost and a new salt. Blocks for about 20 ms.
    ///
    /// - Throws: `Fault` if the password is empty, contains a NUL, or is longer than 511 bytes, the limit of
    ///   crypt(3).
    public static func make(password: Secret) throws(Fault) -> String {
        guard password.count > 0, password.withUnsafeBytes({ !$0.contains(0) }) else {
            throw Fault(description: "the password is empty or contains a NUL byte")
        }
        var setting = [CChar](repeating: 0, count: Int(CRYPT_GENSALT_OUTPUT_SIZE))
        let fault = notify_gateway_new_setting(&setting)
        guard fault == 0 else { throw Fault(description: "cannot make a salt: \(String(cString: strerror(fault)))") }
        let text = setting.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        switch crypt(password, setting: String(decoding: text, as: UTF8.self)) {
        case .success(let output):
            return String(decoding: output, as: UTF8.self)
        case .failure(let fault) where fault.code == ERANGE:
            throw Fault(description: "the password is longer than 511 bytes, the limit of crypt(3)")
        case .failure(let fault):
            throw Fault(description: "crypt(3) failed: \(String(cString: strerror(fault.code)))")
        }
    }

    private struct CryptError: Error {
        let code: Int32
    }

    private static func crypt(_ password: Secret, setting: String) -> Result<[UInt8], CryptError> {
        var output = [UInt8](repeating: 0, count: Int(CRYPT_OUTPUT_SIZE))
        let fault = password.withUnsafeBytes { password in
            output.withUnsafeMutableBytes { output in
                let output = output.baseAddress?.assumingMemoryBound(to: CChar.self)
                return notify_gateway_crypt(password.baseAddress, password.count, setting, output)
            }
        }
        guard fault == 0 else { return .failure(CryptError(code: fault)) }
        return .success(Array(output.prefix { $0 != 0 }))
    }
}
