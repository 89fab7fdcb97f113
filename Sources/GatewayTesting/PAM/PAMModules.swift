internal import Foundation

/// The paths of Linux-PAM modules on this machine; nil for a missing one.
public enum PAMModules {
    /// `pam_matrix.so` of Debian's libpam-wrapper: verifies against a file of names and passwords.
    public static let matrix = module("pam_matrix.so", under: "pam_wrapper")
    /// `pam_debug.so`: returns the configured codes.
    public static let debug = module("pam_debug.so", under: "security")
    /// `pam_faillock.so`: locks an account temporarily after wrong passwords.
    public static let failLock = module("pam_faillock.so", under: "security")
    /// `pam_faildelay.so`: requests a delay after a failure.
    public static let failDelay = module("pam_faildelay.so", under: "security")

    private static func module(_ name: String, under directory: String) -> String? {
        let libraries = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/lib"]
        return libraries.map { "\($0)/\(directory)/\(name)" }.first { FileManager.default.fileExists(atPath: $0) }
    }
}
