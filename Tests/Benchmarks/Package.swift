// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

// Apart from the gateway's package: what is measured here is built in release, by who asks for it.
let package = Package(
    name: "notify-gateway-benchmarks",
    dependencies: [
        .package(name: "notify-gateway", path: "../.."),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    ],
    targets: [
        .executableTarget(
            name: "login-timing",
            dependencies: [
                .product(name: "GatewayCore", package: "notify-gateway"),
                .product(name: "StaticUsers", package: "notify-gateway"),
                .product(name: "HMACToken", package: "notify-gateway"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "journal",
            dependencies: [
                .product(name: "GatewayCore", package: "notify-gateway"),
                .product(name: "Gateway", package: "notify-gateway"),
                .product(name: "GatewayHTTP", package: "notify-gateway"),
                .product(name: "GatewayStore", package: "notify-gateway"),
                .product(name: "GatewayTesting", package: "notify-gateway"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: strict),
    ]
)
