internal import Glibc

/// The name of this machine.
package enum HostName {
    /// The name as the kernel has it (gethostname(2)), without a look-up; nil if it has none. Read at each use.
    package static var current: String? {
        var name = [CChar](repeating: 0, count: 256)
        // The last byte stays zero, also for a name that is cut off.
        guard gethostname(&name, name.count - 1) == 0 else { return nil }
        let bytes = name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }
}
