internal import Foundation

/// Modules of Linux-PAM that the machine has, by their paths; nil where it lacks one.
public enum PAMModules {
    /// `pam_matrix.so`, of Debian's libpam-wrapper: judges by a file of names and passwords.
    public static let matrix = module("pam_matrix.so", under: "pam_wrapper")
    /// `pam_debug.so`: returns whatever code it is told to.
    public static let debug = module("pam_debug.so", under: "security")
    /// `pam_faillock.so`: locks an account for a while after wrong passwords.
    public static let failLock = module("pam_faillock.so", under: "security")
    /// `pam_faildelay.so`: asks for a pause after a failure.
    public static let failDelay = module("pam_faildelay.so", under: "security")

    private static func module(_ name: String, under directory: String) -> String? {
        let libraries = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/lib"]
        return libraries.map { "\($0)/\(directory)/\(name)" }.first { FileManager.default.fileExists(atPath: $0) }
    }
}
