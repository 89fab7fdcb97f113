internal import GatewayCore
internal import GatewaySupport

/// The expansion of `${NAME}` and `${file:PATH}` in string values. It runs once, after parsing, so expanded text is
/// never parsed as YAML.
struct VariableExpansion {
    let environment: [String: String]
    let directory: String
    let problems: ConfigurationProblems

    /// Returns the node with the variables in all of its string values expanded.
    func expand(_ node: ConfigurationNode, path: String) -> ConfigurationNode {
        switch node.shape {
        case .scalar(let text, let isPlain):
            guard text.contains("${") else { return node }
            return ConfigurationNode(.scalar(expand(text, node.location, path), isPlain: isPlain), at: node.location)
        case .sequence(let values):
            let expanded = values.enumerated().map { expand($1, path: "\(path)[\($0)]") }
            return ConfigurationNode(.sequence(expanded), at: node.location)
        case .mapping(let entries):
            let expanded = entries.map { entry in
                let inner = path.isEmpty ? entry.name : "\(path).\(entry.name)"
                return ConfigurationNode.Entry(
                    name: entry.name, location: entry.location, value: expand(entry.value, path: inner))
            }
            return ConfigurationNode(.mapping(expanded), at: node.location)
        }
    }

    private func expand(_ text: String, _ location: SourceLocation, _ path: String) -> String {
        var result = ""
        var values: [String] = []
        var rest = text[...]
        while let start = rest.firstRange(of: "${") {
            result += rest[..<start.lowerBound]
            guard let end = rest[start.upperBound...].firstIndex(of: "}") else {
                report(location, path, "\"${\" has no \"}\"")
                return text
            }
            let word = String(rest[start.upperBound..<end])
            let value = value(of: word, location, path) ?? ""
            values.append(value)
            result += value
            rest = rest[rest.index(after: end)...]
        }
        result += rest
        problems.conceal(values, in: result, at: location)
        return result
    }

    private func value(of word: String, _ location: SourceLocation, _ path: String) -> String? {
        if let file = word.droppingPrefix("file:") {
            let absolute = file.hasPrefix("/") || directory.isEmpty ? file : "\(directory)/\(file)"
            do {
                let text = try SecretFile.text(at: absolute)
                // Editors end a file with a line feed that is not part of the secret.
                return text.hasSuffix("\n") ? String(text.dropLast()) : text
            } catch {
                report(location, path, "\(file) \(error.message)")
                return nil
            }
        }
        guard let value = environment[word] else {
            report(location, path, "the environment variable \(word) is not set")
            return nil
        }
        return value
    }

    private func report(_ location: SourceLocation, _ path: String, _ message: String) {
        problems.add(ConfigurationProblem(at: location, path: path, message))
    }
}
