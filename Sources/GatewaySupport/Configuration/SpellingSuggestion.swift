/// A search for the known word that a misspelled word most resembles.
enum SpellingSuggestion {
    /// Returns the nearest word, if its edit distance is at most two and at most a third of the word's length.
    static func nearest(to word: String, among words: some Sequence<String>) -> String? {
        words.map { (word: $0, distance: distance(word, $0)) }
            .filter { $0.distance <= min(2, max(1, word.count / 3)) }
            .min { ($0.distance, $0.word) < ($1.distance, $1.word) }?.word
    }

    /// Returns the number of insertions, deletions, replacements and swaps of neighbours (optimal string alignment
    /// distance).
    static func distance(_ left: String, _ right: String) -> Int {
        let (left, right) = (Array(left.utf8), Array(right.utf8))
        // Names in a configuration are short; a longer text is not a misspelling of one.
        guard left.count <= 64, right.count <= 64 else { return .max }
        var before: [Int] = []
        var last = Array(0...right.count)
        for (row, letter) in left.enumerated() {
            var current = [row + 1]
            for (column, other) in right.enumerated() {
                var best = min(last[column + 1] + 1, current[column] + 1, last[column] + (letter == other ? 0 : 1))
                if row > 0, column > 0, letter == right[column - 1], left[row - 1] == other {
                    best = min(best, before[column - 1] + 1)
                }
                current.append(best)
            }
            (before, last) = (last, current)
        }
        return last[right.count]
    }
}
