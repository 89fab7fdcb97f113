internal import Foundation
internal import Glibc
internal import Synchronization

/// A directory server of one test: OpenLDAP's slapd as the current user, with a configuration, data and a socket in its
/// own directory. The system's slapd is not touched.
public final class Slapd: Sendable {
    /// Whether slapd and its tools are installed.
    public static let isInstalled = ["/usr/sbin/slapd", "/usr/sbin/slapadd", "/usr/bin/ldapmodify"].allSatisfy {
        FileManager.default.isExecutableFile(atPath: $0)
    }
    /// The root of the directory.
    public static let base = "dc=example,dc=com"
    /// The entry below which users are.
    public static let people = "ou=people,\(base)"
    /// The entry below which groups are.
    public static let groups = "ou=groups,\(base)"
    /// The DN of the account that may search. Its password is `servicePassword`.
    public static let service = "cn=gateway,\(base)"
    /// The password of the account that may search.
    public static let servicePassword = "service secret"

    private let files: TestFiles
    private let ports: [ReservedPort]
    private let process = Mutex<Process?>(nil)

    /// The path of the server's Unix socket.
    public var socketPath: String { "\(files.path)/s" }
    /// The URL of the server's Unix socket.
    public var socketURL: String { "ldapi://" + socketPath.replacing("/", with: "%2F") }
    /// The port of the server on 127.0.0.1, without TLS at first.
    public var port: Int { ports[0].number }
    /// The port of the server on 127.0.0.1 with TLS.
    public var tlsPort: Int { ports[1].number }

    /// Creates a directory with these entries (LDIF) beside the roots of people and groups, and starts the server.
    ///
    /// - Parameter certificate: the server's certificate; without one, the server has no TLS.
    public init(_ entries: String = "", certificate: TestCertificate? = nil) throws {
        files = try TestFiles()
        ports = try [ReservedPort(), ReservedPort()]
        try FileManager.default.createDirectory(atPath: "\(files.path)/data", withIntermediateDirectories: false)
        var configuration = Self.configuration(files.path)
        if let certificate {
            try files.write(certificate.certificate, to: "certificate.pem")
            try files.write(certificate.key, to: "key.pem")
            configuration =
                "TLSCertificateFile \(files.path)/certificate.pem\nTLSCertificateKeyFile \(files.path)/key.pem\n"
                + configuration
        }
        let file = try files.write(configuration, to: "slapd.conf")
        try files.write(Self.roots + entries, to: "data.ldif")
        // Database 2: the first one is the monitor.
        _ = try Self.output("/usr/sbin/slapadd", ["-q", "-n", "2", "-f", file, "-l", "\(files.path)/data.ldif"])
        try start(withTLS: certificate != nil)
    }

    deinit { kill() }

    /// Starts the server and waits until it listens.
    public func start(withTLS: Bool = false) throws {
        var urls = ["ldap://127.0.0.1:\(port)"]
        if withTLS { urls.append("ldaps://127.0.0.1:\(tlsPort)") }
        // The last one to listen.
        urls.append(socketURL)
        let process = Process()
        process.executableURL = URL(filePath: "/usr/sbin/slapd")
        process.arguments = ["-d", "256", "-f", "\(files.path)/slapd.conf", "-h", urls.joined(separator: " ")]
        let errors = Pipe()
        process.standardError = errors
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        var log = ""
        while !log.contains("slapd starting") {
            let data = errors.fileHandleForReading.availableData
            guard !data.isEmpty else { throw SystemTools.Failure(description: "slapd did not start: \(log)") }
            log += String(decoding: data, as: UTF8.self)
        }
        // A server whose pipe is full would wait.
        errors.fileHandleForReading.readabilityHandler = { handle in
            if handle.availableData.isEmpty { handle.readabilityHandler = nil }
        }
        observations.withLock { $0 = 0 }
        self.process.withLock { $0 = process }
        try waitUntilListening()
    }

    /// Repeats a connection until the server accepts it, for at most ten seconds: the server logs its start before it
    /// listens.
    private func waitUntilListening() throws {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: socketPath.utf8.prefix($0.count - 1)) }
        let end = ContinuousClock.now + .seconds(10)
        while ContinuousClock.now < end {
            let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            defer { close(descriptor) }
            let status = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            if status == 0 { return }
            usleep(2000)
        }
        throw SystemTools.Failure(description: "slapd does not listen")
    }

    /// Sends a signal to the server, such as SIGSTOP.
    public func signal(_ number: Int32) {
        process.withLock { process in if let process { Glibc.kill(process.processIdentifier, number) } }
    }

    /// Kills the server and waits until it has exited.
    public func kill() {
        signal(SIGKILL)
        process.withLock { process in
            process?.waitUntilExit()
            process = nil
        }
    }

    /// Applies LDIF changes as an administrator.
    public func modify(_ changes: String) throws {
        try SystemTools.run(
            "/usr/bin/ldapmodify",
            ["-x", "-H", socketURL, "-D", "cn=admin,\(Self.base)", "-w", "secret"],
            input: changes)
    }

    /// Returns the number of operations of a kind, such as `Bind` or `Search`, that the server began, without those of
    /// this function.
    public func operations(_ kind: String) throws -> Int {
        let text = try Self.output(
            "/usr/bin/ldapsearch",
            [
                "-x", "-LLL", "-H", socketURL, "-b", "cn=\(kind),cn=Operations,cn=Monitor", "-s", "base",
                "monitorOpInitiated",
            ])
        let count = text.firstMatch(of: /monitorOpInitiated: (\d+)/).flatMap { Int($0.1) } ?? 0
        return observations.withLock { observed in
            observed += 1
            return count - observed
        }
    }

    // Each call of `operations` makes one bind and one search.
    private let observations = Mutex(0)

    private static func output(_ program: String, _ arguments: [String]) throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        let reason = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw SystemTools.Failure(description: "\(program): \(reason)") }
        return text
    }
}

extension Slapd {
    /// Returns the entry of a user (LDIF). The password is `right`.
    ///
    /// - Parameter lines: further attributes.
    public static func user(_ name: String, _ lines: String = "") -> String {
        """
        dn: uid=\(name),\(people)
        objectClass: inetOrgPerson
        objectClass: testAccount
        objectClass: shadowAccount
        uid: \(name)
        cn: \(name)
        sn: \(name)
        mail: \(name)@example.com
        userPassword: right
        \(lines.isEmpty ? "" : lines + "\n")

        """
    }

    /// Returns the entry of a group of users (LDIF).
    public static func group(_ name: String, of members: [String], below base: String = groups) -> String {
        let members = members.map { "member: uid=\($0),\(people)\n" }.joined()
        return "dn: cn=\(name),\(base)\nobjectClass: groupOfNames\ncn: \(name)\n\(members)\n"
    }

    private static let roots = """
        dn: \(base)
        objectClass: dcObject
        objectClass: organization
        o: example
        dc: example

        dn: \(people)
        objectClass: organizationalUnit
        ou: people

        dn: \(groups)
        objectClass: organizationalUnit
        ou: groups

        dn: \(service)
        objectClass: organizationalRole
        objectClass: simpleSecurityObject
        cn: gateway
        userPassword: \(servicePassword)


        """

    // The attributes by which Active Directory and 389 Directory Server disable accounts are not part of OpenLDAP.
    private static func configuration(_ path: String) -> String {
        """
        include /etc/ldap/schema/core.schema
        include /etc/ldap/schema/cosine.schema
        include /etc/ldap/schema/nis.schema
        include /etc/ldap/schema/inetorgperson.schema
        modulepath /usr/lib/ldap
        moduleload back_mdb
        moduleload memberof
        moduleload ppolicy
        attributetype ( 1.2.840.113556.1.4.8 NAME 'userAccountControl' EQUALITY integerMatch
          SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )
        attributetype ( 1.2.840.113556.1.4.159 NAME 'accountExpires' EQUALITY integerMatch
          SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )
        attributetype ( 2.16.840.1.113730.3.1.610 NAME 'nsAccountLock' EQUALITY caseIgnoreMatch
          SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 SINGLE-VALUE )
        objectclass ( 1.3.6.1.4.1.4203.666.11.1 NAME 'testAccount' AUXILIARY
          MAY ( userAccountControl $ accountExpires $ nsAccountLock ) )
        sizelimit unlimited
        database monitor
        access to * by * read
        database mdb
        suffix "\(base)"
        rootdn "cn=admin,\(base)"
        rootpw secret
        directory \(path)/data
        maxsize 268435456
        dbnosync
        index objectClass,uid,mail,member eq
        access to attrs=userPassword by anonymous auth by * none
        access to * by dn.base="\(service)" read by * none
        overlay memberof
        overlay ppolicy

        """
    }
}
