internal import Foundation
package import GatewayCore
package import GatewaySupport

/// The GeoJSON file of a fence.
package struct FenceFile: Sendable, Hashable {
    /// The name of the fence.
    package let name: FenceName
    /// The path of the file.
    package let path: String

    /// The maximum size of a file in bytes.
    static let maximumSize = 8 << 20
    /// The maximum number of positions in all files together.
    static let maximumPositions = 1_000_000

    /// Reads the files and returns their fences. Blocks.
    ///
    /// - Throws: The problems of all files.
    package static func read(_ files: [FenceFile]) throws(ConfigurationError) -> [FenceName: Fence] {
        var fences: [FenceName: Fence] = [:]
        var problems: [ConfigurationProblem] = []
        var positions = 0
        for file in files {
            do throws(ConfigurationProblem) {
                let area = try file.area()
                positions += area.positions
                guard positions <= maximumPositions else {
                    throw file.problem("exceeds \(maximumPositions) positions together with the fences before it")
                }
                fences[file.name] = Fence(area.polygons)
            } catch { problems.append(error) }
        }
        if !problems.isEmpty { throw ConfigurationError(problems) }
        return fences
    }

    private func area() throws(ConfigurationProblem) -> GeoJSONArea {
        let text: [UInt8]
        do throws(ConfigurationProblem) {
            text = [UInt8](try TextFile.bytes(path))
        } catch {
            throw problem(error.message)
        }
        guard text.count <= Self.maximumSize else { throw problem("is larger than \(Self.maximumSize >> 20) MiB") }
        do throws(GeoJSONArea.Fault) {
            return try GeoJSONArea(text)
        } catch {
            throw problem(
                error.message,
                at: error.offset.map { offset in
                    let before = text.prefix(offset)
                    let line = before.count { $0 == UInt8(ascii: "\n") } + 1
                    let column = before.reversed().prefix { $0 != UInt8(ascii: "\n") }.count + 1
                    return (line, column)
                })
        }
    }

    private func problem(_ message: String, at place: (line: Int, column: Int)? = nil) -> ConfigurationProblem {
        ConfigurationProblem(
            at: SourceLocation(file: path, line: place?.line ?? 0, column: place?.column ?? 0),
            path: "fences.\(name)", message)
    }
}
