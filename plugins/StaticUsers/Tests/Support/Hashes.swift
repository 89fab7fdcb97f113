/// Hashes of `correct horse`, each at the lowest cost of its scheme.
enum Hashes {
    static let sha512 =
        "$6$rounds=1000$saltforalice$L20ys1fp63feVV3.Z1YeWhkaZZkpwjs8eLjbXa2h.azcKScwrWdVbSXd3O676s9DF43ydQHAJRuY.bcaR3txP/"
    static let otherSHA512 =
        "$6$rounds=1000$saltforbob$BmHuRtdCSGy7EXh18UwvtlHarGSb/.njZ9z.mdF4vtVcSA91hrZDj/VM5sT9ko7qTCaqLqH20UqwKLHlqsGzt1"
    static let sha256 = "$5$rounds=1000$saltforcarol$Pm.YQgPAbrBcUGT4zHukm.w64F51AC5dvLwDh4QnG93"
    static let bcrypt = "$2y$04$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e"
    static let yescrypt = "$y$j75$saltsalt$5wlMXHz82Iqiv0ywbT8h3LCVssbi3h0Xh43jM7E7Tr2"
    static let scrypt = "$7$6U..../....saltsalt$.ijSN9ox0ixuwZlhJVed1jpHJCekW3kpCZz3MiY6DD8"
}
