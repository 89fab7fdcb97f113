import Foundation
import GatewaySupport
import GatewayTesting
import Testing

@Suite("Stamps of files")
struct FileStampTests {
    /// Returns the status change time of a file.
    private static func changed(_ path: String) -> [Int] {
        var status = stat()
        #expect(stat(path, &status) == 0)
        return [Int(status.st_ctim.tv_sec), status.st_ctim.tv_nsec]
    }

    /// Writes the text into the existing file and sets the modification time of 2020.
    private static func overwrite(_ path: String, _ text: String) {
        let descriptor = open(path, O_WRONLY | O_TRUNC)
        #expect(write(descriptor, text, text.utf8.count) == text.utf8.count)
        let times = [timespec(tv_sec: 1_600_000_000, tv_nsec: 1), timespec(tv_sec: 1_600_000_000, tv_nsec: 1)]
        #expect(futimens(descriptor, times) == 0)
        close(descriptor)
    }

    @Test("A file that is rewritten with the same size and modification time has another stamp")
    func sameSizeAndTime() throws {
        let files = try TestFiles()
        let path = try files.write("", to: "users.yaml")
        defer { withExtendedLifetime(files) {} }
        Self.overwrite(path, "alice")
        let (stamp, changed) = (SecretFile.Stamp(path), Self.changed(path))
        #expect(stamp != nil && stamp == SecretFile.Stamp(path))
        // The clock of the file system advances in steps of a few milliseconds.
        while Self.changed(path) == changed { Self.overwrite(path, "mallo") }
        #expect(SecretFile.Stamp(path) != stamp)
    }

    @Test("A file that replaces another one with the same size and modification time has another stamp")
    func replaced() throws {
        let files = try TestFiles()
        let path = try files.write("", to: "users.yaml")
        Self.overwrite(path, "alice")
        let stamp = SecretFile.Stamp(path)
        let new = try files.write("", to: "new.yaml")
        Self.overwrite(new, "mallo")
        #expect(rename(new, path) == 0)
        #expect(SecretFile.Stamp(path) != stamp)
        unlink(path)
        #expect(SecretFile.Stamp(path) == nil)
    }
}
