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
func nio(_ name: String) -> Target.Dependency { .product(name: name, package: "swift-nio") }

// A package of its own, because everything in it is compiled with the instrumentation of libFuzzer.
let package = Package(
    name: "notify-gateway-fuzzing",
    dependencies: [
        .package(name: "notify-gateway", path: "../.."),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", exact: "1.46.0"),
    ],
    targets: [
        .executableTarget(
            name: "fuzz",
            dependencies: [
                gateway("GatewaySupport"), gateway("GatewayCore"), gateway("Gateway"), gateway("GatewayHTTP"),
                gateway("GatewayStore"), gateway("GatewayConfiguration"), gateway("GatewayOperations"),
                gateway("HMACToken"),
                nio("NIOCore"), nio("NIOEmbedded"), nio("NIOHTTP1"),
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
            ],
            swiftSettings: strict)
    ]
)
