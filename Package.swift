// swift-tools-version: 6.2
import PackageDescription

// Every target is strict in the same way: no module reaches another by accident, no isolation is left, no pointer unseen.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

func product(_ name: String, _ package: String) -> Target.Dependency { .product(name: name, package: package) }

let nioCore = product("NIOCore", "swift-nio")
let nioPosix = product("NIOPosix", "swift-nio")
let nioEmbedded = product("NIOEmbedded", "swift-nio")
let nioTLS = product("NIOTLS", "swift-nio")
let nioSSL = product("NIOSSL", "swift-nio-ssl")
let nioHTTP2 = product("NIOHTTP2", "swift-nio-http2")
let nioHPACK = product("NIOHPACK", "swift-nio-http2")
let nioHTTP1 = product("NIOHTTP1", "swift-nio")
let httpClient = product("AsyncHTTPClient", "async-http-client")
let logging = product("Logging", "swift-log")
let coreMetrics = product("CoreMetrics", "swift-metrics")
let signals = product("UnixSignals", "swift-service-lifecycle")
let lifecycle = product("ServiceLifecycle", "swift-service-lifecycle")
let hummingbird = product("Hummingbird", "hummingbird")
let hummingbirdCore = product("HummingbirdCore", "hummingbird")
let httpTypes = product("HTTPTypes", "swift-http-types")
let nioHTTPTypes = product("NIOHTTPTypes", "swift-nio-extras")
let nioHTTPTypesHTTP1 = product("NIOHTTPTypesHTTP1", "swift-nio-extras")
let mustache = product("Mustache", "swift-mustache")
let yams = product("Yams", "Yams")
let grdb = product("GRDB", "GRDB.swift")
let arguments = product("ArgumentParser", "swift-argument-parser")

// The layers, lowest first. A target may name only what stands above it in this list (plug-ins:
// GatewayCore and GatewaySupport, WorkerProcesses for those with worker processes, and OutboundHTTP and OutboundTLS for
// those that query a service over HTTP).
let package = Package(
    name: "notify-gateway",
    products: [
        .executable(name: "notify-gateway", targets: ["notify-gateway"]),
        // For the benchmarks and the fuzzers, which are packages of their own.
        .library(name: "GatewaySupport", targets: ["GatewaySupport"]),
        .library(name: "GatewayCore", targets: ["GatewayCore"]),
        .library(name: "Gateway", targets: ["Gateway"]),
        .library(name: "GatewayHTTP", targets: ["GatewayHTTP"]),
        .library(name: "GatewayStore", targets: ["GatewayStore"]),
        .library(name: "GatewayConfiguration", targets: ["GatewayConfiguration"]),
        .library(name: "GatewayOperations", targets: ["GatewayOperations"]),
        .library(name: "GatewayTesting", targets: ["GatewayTesting"]),
        .library(name: "StaticUsers", targets: ["StaticUsers"]),
        .library(name: "HMACToken", targets: ["HMACToken"]),
        .library(name: "OIDC", targets: ["OIDC"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
        .package(url: "https://github.com/apple/swift-nio-http2", exact: "1.46.0"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", exact: "2.13.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1"),
        .package(url: "https://github.com/hummingbird-project/swift-mustache", exact: "2.1.1"),
        .package(url: "https://github.com/swift-server/async-http-client", exact: "1.37.0"),
        .package(url: "https://github.com/apple/swift-nio-extras.git", exact: "1.35.2"),
        .package(url: "https://github.com/apple/swift-http-types.git", exact: "1.8.0"),
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
        .package(url: "https://github.com/jpsim/Yams", exact: "6.2.2"),
    ],
    targets: [
        .systemLibrary(name: "CMalloc"),
        .systemLibrary(name: "CStatx"),
        .systemLibrary(name: "CProgramVersion"),
        .systemLibrary(name: "CLibcrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .target(
            name: "GatewaySupport", dependencies: ["CLibcrypto", "CProgramVersion", nioPosix, yams],
            exclude: ["README.md"], swiftSettings: strict),
        .target(
            name: "Charts", dependencies: ["GatewaySupport"], exclude: ["README.md"],
            resources: [.embedInCode("Resources/charts.css")], swiftSettings: strict),
        .target(
            name: "GatewayCore", dependencies: ["GatewaySupport", logging], exclude: ["README.md"],
            swiftSettings: strict),
        .systemLibrary(name: "CWorkers"),
        .target(
            name: "WorkerProcesses", dependencies: ["CWorkers", "GatewayCore", "GatewaySupport", logging],
            exclude: ["README.md"], swiftSettings: strict),
        .target(
            name: "Gateway", dependencies: ["GatewayCore", "GatewaySupport", logging, nioCore], exclude: ["README.md"],
            swiftSettings: strict),
        .systemLibrary(name: "CLibpq", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .target(
            name: "PostgreSQLClient", dependencies: ["CLibpq", "GatewaySupport"], exclude: ["README.md"],
            swiftSettings: strict),
        .target(
            name: "GatewayStore",
            dependencies: [
                "CStatx", "GatewayCore", "GatewaySupport", "PostgreSQLClient", logging, nioCore, nioPosix, grdb,
            ],
            exclude: ["README.md"], swiftSettings: strict),
        .target(
            name: "OutboundTLS", dependencies: ["GatewaySupport", nioCore, nioTLS, nioSSL], exclude: ["README.md"],
            swiftSettings: strict),
        .target(
            name: "OutboundHTTP",
            dependencies: ["GatewaySupport", "OutboundTLS", nioCore, nioPosix, nioHTTP1, nioSSL, httpClient],
            exclude: ["README.md"], swiftSettings: strict),
        .target(
            name: "TraceExport",
            dependencies: ["GatewayCore", "GatewaySupport", "OutboundHTTP", logging, nioCore, nioHTTP1, httpClient],
            exclude: ["README.md"], swiftSettings: strict),
        .target(
            name: "AuditSinks",
            dependencies: [
                "GatewaySupport", "GatewayStore", "OutboundHTTP", "OutboundTLS", logging, nioCore, nioPosix, nioHTTP1,
                nioSSL, httpClient,
            ],
            exclude: ["README.md"], swiftSettings: strict),
        .target(
            name: "SegmentArchive",
            dependencies: ["GatewaySupport", "GatewayStore", "OutboundHTTP", logging, nioCore, nioHTTP1, httpClient],
            exclude: ["README.md"], swiftSettings: strict),
        .target(
            name: "GatewayHTTP",
            dependencies: [
                "CLibcrypto", "CMalloc", "Gateway", "GatewayCore", "GatewaySupport", "OutboundTLS", logging, nioCore,
                nioPosix, nioTLS, nioSSL, nioHTTP2, nioHPACK,
            ],
            exclude: ["README.md"], swiftSettings: strict),
        .target(
            name: "NotifyBackend",
            dependencies: ["GatewaySupport", logging, nioCore, lifecycle, hummingbird, hummingbirdCore],
            exclude: ["README.md"], swiftSettings: strict),
        .target(
            name: "GatewayConfiguration",
            dependencies: [
                "AuditSinks", "Gateway", "GatewayCore", "GatewayHTTP", "GatewayStore", "GatewaySupport", "OutboundHTTP",
                "PostgreSQLClient", "SegmentArchive", "TraceExport", logging, nioCore, nioPosix,
            ],
            exclude: ["README.md"], swiftSettings: strict),
        .target(
            name: "GatewayOperations",
            dependencies: [
                "AuditSinks", "Gateway", "GatewayConfiguration", "GatewayCore", "GatewayHTTP", "GatewayStore",
                "GatewaySupport", "NotifyBackend", "OutboundTLS", "SegmentArchive", logging, nioCore, nioPosix,
                nioHTTP1, nioHTTPTypes, nioHTTPTypesHTTP1, httpTypes, httpClient, hummingbird, hummingbirdCore,
                lifecycle,
            ],
            exclude: ["README.md"], swiftSettings: strict),
        .target(
            name: "GatewayConsole",
            dependencies: [
                "Charts", "Gateway", "GatewayConfiguration", "GatewayCore", "GatewayHTTP", "GatewayOperations",
                "GatewayStore", "GatewaySupport", logging, nioCore, nioPosix, nioSSL, httpTypes, hummingbird,
                hummingbirdCore, mustache,
            ],
            exclude: ["README.md"], resources: [.embedInCode("Resources")],
            swiftSettings: strict),
        .target(
            name: "GatewayServer",
            dependencies: [
                "AuditSinks", "Gateway", "GatewayConfiguration", "GatewayConsole", "GatewayCore", "GatewayHTTP",
                "GatewayOperations", "GatewayStore", "GatewaySupport", "NotifyBackend", "OutboundHTTP",
                "SegmentArchive",
                "TraceExport", logging,
                coreMetrics, nioCore, nioPosix, lifecycle, signals,
                hummingbird,
                hummingbirdCore,
            ],
            exclude: ["README.md"], swiftSettings: strict),
        .target(
            name: "GatewayTesting",
            dependencies: [
                "CLibcrypto", "Gateway", "GatewayCore", "GatewayHTTP", "GatewaySupport", "PostgreSQLClient", logging,
                nioCore, nioPosix, nioEmbedded, nioSSL,
            ],
            exclude: ["README.md"], swiftSettings: strict),
        .executableTarget(
            name: "notify-gateway",
            dependencies: [
                "GatewayConfiguration", "GatewayCore", "GatewayOperations", "GatewayServer", "GatewayStore",
                "GatewaySupport", "NotifyBackend", "OutboundHTTP", "SegmentArchive", "StaticUsers", "HMACToken", "PAM",
                "LDAP", "ExternalProcess",
                "ForwardAuth", "ClientCertificate", "OIDC", "WorkerProcesses", arguments, logging,
            ],
            swiftSettings: strict),

        // Plug-ins: a folder each under plugins/.
        .systemLibrary(
            name: "CLibcrypt", path: "plugins/StaticUsers/CLibcrypt", pkgConfig: "libcrypt",
            providers: [.apt(["libcrypt-dev"])]),
        .target(
            name: "StaticUsers", dependencies: ["GatewayCore", "GatewaySupport", "CLibcrypt", logging],
            path: "plugins/StaticUsers/Sources", swiftSettings: strict),
        .testTarget(
            name: "StaticUsersTests",
            dependencies: ["StaticUsers", "GatewayCore", "GatewaySupport", "GatewayTesting", nioPosix],
            path: "plugins/StaticUsers/Tests", swiftSettings: strict),
        .target(
            name: "HMACToken", dependencies: ["GatewayCore", "GatewaySupport", "CLibcrypto", logging],
            path: "plugins/HMACToken/Sources", swiftSettings: strict),
        .testTarget(
            name: "HMACTokenTests", dependencies: ["HMACToken", "GatewayCore", "GatewaySupport", "GatewayTesting"],
            path: "plugins/HMACToken/Tests", swiftSettings: strict),

        .systemLibrary(
            name: "CPAM", path: "plugins/PAM/CPAM", pkgConfig: "pam", providers: [.apt(["libpam0g-dev"])]),
        .target(
            name: "PAM",
            dependencies: ["GatewayCore", "GatewaySupport", "WorkerProcesses", "CWorkers", "CPAM", logging],
            path: "plugins/PAM/Sources", swiftSettings: strict),
        .testTarget(
            name: "PAMTests",
            dependencies: [
                "PAM", "CPAM", "GatewayCore", "GatewaySupport", "WorkerProcesses", "GatewayTesting", "notify-gateway",
            ],
            path: "plugins/PAM/Tests", swiftSettings: strict),

        .systemLibrary(
            name: "CLDAP", path: "plugins/LDAP/CLDAP", pkgConfig: "ldap", providers: [.apt(["libldap-dev"])]),
        .target(
            name: "LDAP", dependencies: ["GatewayCore", "GatewaySupport", "WorkerProcesses", "CLDAP", logging],
            path: "plugins/LDAP/Sources", swiftSettings: strict),
        .testTarget(
            name: "LDAPTests",
            dependencies: [
                "LDAP", "CLDAP", "GatewayCore", "GatewaySupport", "WorkerProcesses", "GatewayTesting", "notify-gateway",
            ],
            path: "plugins/LDAP/Tests", swiftSettings: strict),

        .target(
            name: "ExternalProcess", dependencies: ["GatewayCore", "GatewaySupport", logging, nioCore, nioPosix],
            path: "plugins/ExternalProcess/Sources", swiftSettings: strict),
        .testTarget(
            name: "ExternalProcessTests",
            dependencies: [
                "ExternalProcess", "GatewayCore", "GatewaySupport", "GatewayTesting", logging, nioCore, nioPosix,
                nioEmbedded,
            ],
            path: "plugins/ExternalProcess/Tests", swiftSettings: strict),
        .target(
            name: "ForwardAuth",
            dependencies: [
                "GatewayCore", "GatewaySupport", "OutboundHTTP", "OutboundTLS", logging, nioCore, nioPosix, nioHTTP1,
                nioSSL, httpClient,
            ],
            path: "plugins/ForwardAuth/Sources", swiftSettings: strict),
        .testTarget(
            name: "ForwardAuthTests",
            dependencies: [
                "ForwardAuth", "GatewayCore", "GatewaySupport", "GatewayTesting", "OutboundTLS", nioCore, nioPosix,
                nioHTTP1, nioSSL, httpClient,
            ],
            path: "plugins/ForwardAuth/Tests", swiftSettings: strict),

        .target(
            name: "ClientCertificate", dependencies: ["GatewayCore", "GatewaySupport"],
            path: "plugins/ClientCertificate/Sources", swiftSettings: strict),
        .testTarget(
            name: "ClientCertificateTests",
            dependencies: ["ClientCertificate", "GatewayCore", "GatewaySupport", "GatewayTesting"],
            path: "plugins/ClientCertificate/Tests", swiftSettings: strict),

        .target(
            name: "OIDC",
            dependencies: [
                "GatewayCore", "GatewaySupport", "OutboundHTTP", "OutboundTLS", "CLibcrypto", logging, nioCore,
                nioPosix, nioHTTP1, nioSSL, httpClient,
            ],
            path: "plugins/OIDC/Sources", swiftSettings: strict),
        .testTarget(
            name: "OIDCTests",
            dependencies: [
                "OIDC", "GatewayCore", "GatewaySupport", "GatewayTesting", "CLibcrypto", nioCore, nioPosix, nioSSL,
            ],
            path: "plugins/OIDC/Tests", swiftSettings: strict),

        .testTarget(
            name: "GatewaySupportTests", dependencies: ["GatewaySupport", "GatewayTesting"], swiftSettings: strict),
        .testTarget(
            name: "ChartsTests", dependencies: ["Charts", "GatewaySupport", "GatewayTesting"], swiftSettings: strict),
        .testTarget(name: "WorkerProcessesTests", dependencies: ["WorkerProcesses"], swiftSettings: strict),
        .testTarget(
            name: "GatewayCoreTests", dependencies: ["GatewayCore", "GatewaySupport", "GatewayTesting"],
            swiftSettings: strict),
        .testTarget(
            name: "GatewayTests",
            dependencies: ["Gateway", "GatewayCore", "GatewaySupport", "GatewayTesting", logging, nioCore],
            swiftSettings: strict),
        .testTarget(
            name: "PostgreSQLClientTests", dependencies: ["PostgreSQLClient", "GatewaySupport", "GatewayTesting"],
            swiftSettings: strict),
        .testTarget(
            name: "GatewayStoreTests",
            dependencies: [
                "GatewayStore", "GatewayCore", "GatewaySupport", "GatewayTesting", "PostgreSQLClient", logging, nioCore,
                nioPosix, grdb,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "OutboundHTTPTests",
            dependencies: [
                "GatewaySupport", "GatewayTesting", "OutboundHTTP", "OutboundTLS", nioCore, nioEmbedded, nioHTTP1,
                nioPosix, httpClient,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "AuditSinksTests",
            dependencies: [
                "AuditSinks", "GatewayCore", "GatewayStore", "GatewaySupport", "GatewayTesting", "OutboundHTTP",
                "PostgreSQLClient",
                logging,
                nioCore, nioPosix, nioSSL,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "SegmentArchiveTests",
            dependencies: [
                "SegmentArchive", "GatewayCore", "GatewayStore", "GatewaySupport", "GatewayTesting", "OutboundHTTP",
                logging, nioCore, nioPosix, nioSSL,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "TraceExportTests",
            dependencies: [
                "TraceExport", "Gateway", "GatewayCore", "GatewaySupport", "GatewayTesting", "OutboundHTTP", logging,
                nioCore, nioPosix, nioSSL,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "GatewayHTTPTests",
            dependencies: [
                "GatewayHTTP", "Gateway", "GatewayCore", "GatewaySupport", "GatewayTesting", nioCore, nioEmbedded,
                nioPosix, nioSSL, nioTLS, nioHTTP1, nioHTTP2, nioHPACK,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "NotifyBackendTests",
            dependencies: [
                "Gateway", "GatewayCore", "GatewayStore", "GatewaySupport", "GatewayTesting", "NotifyBackend", logging,
                lifecycle, nioCore, nioPosix,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "GatewayConfigurationTests",
            dependencies: [
                "AuditSinks", "GatewayStore", "OutboundHTTP", "PostgreSQLClient", "SegmentArchive", "TraceExport",
                "GatewayConfiguration", "Gateway", "GatewayCore", "GatewayHTTP", "GatewaySupport", "GatewayTesting",
                "StaticUsers", "HMACToken", "PAM", "LDAP", "ExternalProcess", "ForwardAuth", "ClientCertificate",
                "OIDC", logging, nioCore, nioPosix,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "GatewayOperationsTests",
            dependencies: [
                "GatewayOperations", "GatewayConfiguration", "Gateway", "GatewayCore", "GatewayHTTP", "GatewayStore",
                "GatewaySupport", "GatewayTesting", "StaticUsers", logging, nioCore, nioPosix, nioEmbedded, nioHTTP1,
                nioHTTPTypes, nioSSL, httpTypes,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "GatewayConsoleTests",
            dependencies: [
                "GatewayConsole", "Gateway", "GatewayConfiguration", "GatewayCore", "GatewayOperations", "GatewayStore",
                "GatewaySupport", "GatewayTesting", logging, httpTypes, nioCore, nioEmbedded, hummingbird,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "GatewayServerTests",
            dependencies: [
                "GatewayServer", "Gateway", "GatewayConfiguration", "GatewayCore", "GatewayHTTP", "GatewayOperations",
                "GatewayStore", "GatewaySupport", "GatewayTesting", "PostgreSQLClient", "StaticUsers", logging,
                coreMetrics, lifecycle,
                nioCore, nioPosix,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "GatewayServer", "Gateway", "GatewayConfiguration", "GatewayCore", "GatewayHTTP", "GatewayOperations",
                "GatewayStore", "GatewaySupport", "GatewayTesting", "NotifyBackend", "StaticUsers", "HMACToken", "PAM",
                "ExternalProcess", "ForwardAuth", "LDAP", "ClientCertificate", "notify-gateway", nioCore, nioPosix,
                nioSSL,
                logging, coreMetrics,
            ],
            swiftSettings: strict),
    ]
)
