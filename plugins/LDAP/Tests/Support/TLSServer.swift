import Foundation
import GatewayTesting

/// `openssl s_server` with one version of TLS on a port of 127.0.0.1, for one connection.
final class TLSServer {
    let port: Int
    /// The file with the authority that signed the certificate.
    let authorities: String
    private let files: TestFiles
    private let process = Process()
    private let input = Pipe()

    /// Starts the server and waits until it listens.
    init(version: String) throws {
        files = try TestFiles()
        authorities = try files.write(TestCertificate.authority, to: "ca.pem")
        let certificate = try files.write(TestCertificate.one.certificate, to: "certificate.pem")
        let key = try files.write(TestCertificate.one.key, to: "key.pem")
        try files.write("", to: "log")
        process.executableURL = URL(filePath: "/usr/bin/openssl")
        process.arguments = [
            "s_server", "-accept", "127.0.0.1:0", "-naccept", "1", "-\(version)", "-cipher", "ALL:@SECLEVEL=0", "-cert",
            certificate,
            "-key", key, "-msg", "-msgfile", "\(files.path)/log",
        ]
        // The server exits at the end of its input.
        process.standardInput = input
        process.standardError = FileHandle.nullDevice
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        // Prints `ACCEPT 127.0.0.1:40000`.
        var text = ""
        while text.firstMatch(of: /ACCEPT [^\n]*:(\d+)\n/) == nil {
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else { throw SystemTools.Failure(description: "openssl did not start: \(text)") }
            text += String(decoding: data, as: UTF8.self)
        }
        port = text.firstMatch(of: /ACCEPT [^\n]*:(\d+)\n/).flatMap { Int($0.1) } ?? 0
    }

    deinit { if process.isRunning { process.terminate() } }

    /// Waits for the end of the only connection, and returns the messages of its handshake.
    func log() throws -> String {
        process.waitUntilExit()
        return try files.text(of: "log")
    }
}
