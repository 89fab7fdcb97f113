// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

func gateway(_ name: String) -> Target.Dependency { .product(name: name, package: "notify-gateway") }

let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")

// A separate package: its programs are built in release, and only on demand.
let package = Package(
    name: "notify-gateway-benchmarks",
    dependencies: [
        .package(name: "notify-gateway", path: "../.."),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
    ],
    targets: [
        // A gateway process, a fixed backend, and clients.
        .target(
            name: "BenchmarkSupport",
            dependencies: [
                gateway("GatewaySupport"), gateway("GatewayCore"), gateway("HMACToken"), nioCore, nioPosix,
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "audit-index",
            dependencies: [
                gateway("GatewaySupport"), gateway("GatewayCore"), gateway("GatewayStore"), logging, arguments,
            ],
            swiftSettings: strict),
        .executableTarget(name: "forward", dependencies: [nioCore, nioPosix, arguments], swiftSettings: strict),
        .executableTarget(
            name: "overload", dependencies: ["BenchmarkSupport", nioCore, nioPosix, arguments], swiftSettings: strict),
        .executableTarget(
            name: "scaling",
            dependencies: [
                "BenchmarkSupport", gateway("GatewaySupport"), gateway("GatewayCore"), gateway("GatewayStore"), nioCore,
                nioPosix, logging, arguments,
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "idle", dependencies: ["BenchmarkSupport", nioCore, nioPosix, arguments], swiftSettings: strict),
        .executableTarget(
            name: "login-timing",
            dependencies: [
                gateway("GatewaySupport"), gateway("GatewayCore"), gateway("StaticUsers"), gateway("HMACToken"),
                nioPosix,
                logging, arguments,
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "journal",
            dependencies: [
                "BenchmarkSupport", gateway("GatewaySupport"), gateway("GatewayCore"), gateway("Gateway"),
                gateway("GatewayHTTP"), gateway("GatewayStore"), gateway("GatewayTesting"), nioCore, nioPosix, logging,
                arguments,
            ],
            swiftSettings: strict),
    ]
)
