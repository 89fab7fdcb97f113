internal import Glibc

extension ArraySlice<UInt8> {
    /// The index at which the pattern begins for the first time. Quick in debug builds too, since the system's calls do the work.
    func firstPlace(of pattern: [UInt8]) -> Int? {
        guard let first = pattern.first else { return nil }
        return withUnsafeBytes { bytes in
            pattern.withUnsafeBytes { pattern in
                guard let start = bytes.baseAddress, let wanted = pattern.baseAddress else { return nil }
                var offset = 0
                while bytes.count - offset >= pattern.count {
                    let room = bytes.count - offset - pattern.count + 1
                    guard let found = memchr(start + offset, Int32(first), room) else { return nil }
                    offset = UnsafeRawPointer(found) - start
                    if memcmp(start + offset, wanted, pattern.count) == 0 { return startIndex + offset }
                    offset += 1
                }
                return nil
            }
        }
    }
}
