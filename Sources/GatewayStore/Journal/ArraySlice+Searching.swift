internal import Glibc

extension ArraySlice<UInt8> {
    /// Returns the index after the first `,"name":`; nil if the member is missing.
    func endOfMemberName(_ name: StaticString) -> Int? {
        withUnsafeBytes { bytes in
            let length = name.utf8CodeUnitCount
            let needed = length + 4
            guard let start = bytes.baseAddress else { return nil }
            var offset = 0
            while bytes.count - offset >= needed {
                let room = bytes.count - offset - needed + 1
                guard let comma = memchr(start + offset, Int32(UInt8(ascii: ",")), room) else { return nil }
                let found = UnsafeRawPointer(comma) - start
                if bytes[found + 1] == UInt8(ascii: "\""), memcmp(start + found + 2, name.utf8Start, length) == 0,
                    bytes[found + length + 2] == UInt8(ascii: "\""), bytes[found + length + 3] == UInt8(ascii: ":")
                {
                    return startIndex + found + needed
                }
                offset = found + 1
            }
            return nil
        }
    }

    /// Returns the index of the first occurrence of the pattern. Uses memchr(3) and memcmp(3), so it is fast in debug
    /// builds too.
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
