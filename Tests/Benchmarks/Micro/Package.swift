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

// A separate package, because only it needs the framework. Built with -enable-testing, because phases are internal.
let package = Package(
    name: "notify-gateway-microbenchmarks",
    dependencies: [
        .package(name: "notify-gateway", path: "../../.."),
        // Without traits the framework uses the system's allocator. `CAllocations` counts allocations.
        .package(url: "https://github.com/ordo-one/benchmark", from: "1.38.1", traits: []),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    ],
    targets: [
        .target(name: "CAllocations"),
        .executableTarget(
            name: "RequestPipeline",
            dependencies: [
                "CAllocations",
                .product(name: "Benchmark", package: "benchmark"),
                gateway("GatewaySupport"), gateway("GatewayCore"), gateway("Gateway"), gateway("GatewayHTTP"),
                gateway("GatewayStore"), gateway("GatewayTesting"), gateway("HMACToken"), gateway("OIDC"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Benchmarks/RequestPipeline",
            swiftSettings: strict,
            plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")]),
    ]
)
