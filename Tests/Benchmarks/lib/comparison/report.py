"""Tables of medians, and the aims of ratios."""
import dataclasses
import statistics

COLUMNS = [
    ("requests", "requests/s", 0), ("p50", "p50 ms", 2), ("p99", "p99 ms", 2), ("cpu", "CPU µs per request", 1), ("memory", "MiB", 0)]
SUSTAINED_COLUMNS = [("unindexed", "closed segments without index, MiB", 0), ("failed", "failed calls", 0)]


@dataclasses.dataclass(frozen=True)
class Ratio:
    """The figure of one row divided by that of another in the same round. `aim` is the largest or smallest value, or None."""
    key: str
    text: str
    row: str
    base: str
    aim: float | None = None
    is_minimum: bool = False


def figure(values, digits):
    values = [value for value in values if value is not None]
    if not values:
        return "–"
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:,.{digits}f} ({low:,.{digits}f}–{high:,.{digits}f})"


def print_table(results, connections, columns):
    """Prints the results: lists of measurements, one for each round, by the name of the row."""
    rounds = max(len(rows) for rows in results.values())
    print(f"\n{connections} connections, medians of {rounds} (minimum–maximum)\n")
    print(f"| through | {' | '.join(title for _, title, _ in columns)} |")
    print("| --- " * (len(columns) + 1) + "|")
    for name, rows in results.items():
        cells = [figure([row[key] for row in rows], digits) for key, _, digits in columns]
        print(f"| {name} | {' | '.join(cells)} |")
    stolen = [100 * row["stolen"] for rows in results.values() for row in rows]
    print(f"\nSteal time of the machine: {figure(stolen, 1)} %.", flush=True)


def print_ratios(results, connections, ratios):
    """Prints the median ratio of the rounds for each of the ratios whose rows were measured; returns whether all aims are reached."""
    is_good = True
    print(f"\n{connections} connections, ratios within a round, medians (minimum–maximum)\n")
    for ratio in ratios:
        if ratio.row not in results or ratio.base not in results:
            continue
        values = [one[ratio.key] / other[ratio.key] for one, other in zip(results[ratio.row], results[ratio.base])]
        middle, word, aim = statistics.median(values), "no aim: ", ""
        if ratio.aim is not None:
            is_reached = middle >= ratio.aim if ratio.is_minimum else middle <= ratio.aim
            is_good = is_good and is_reached
            word = "reached:" if is_reached else "MISSED: "
            aim = f" (aim: at {'least' if ratio.is_minimum else 'most'} {ratio.aim:.2f})"
        print(f"{word} {ratio.text}: {ratio.row} / {ratio.base}: {figure(values, 2)}{aim}", flush=True)
    return is_good
