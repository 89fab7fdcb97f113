"""Compares the gateway's fences with shapely.

Writes areas as GeoJSON and, for each, random positions with shapely's result into a temporary directory. Then the test
FenceComparisonTests reads them and compares. shapely knows only the plane, so each area is described to it on a map whose
longitudes go beyond 180, and it is asked for each position under its longitude, one turn more and one turn less.
"""

import argparse
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import shapely

ROOT = pathlib.Path(__file__).resolve().parents[3]
POSITIONS = 100_000


def outline(chance, count, center, radius, roughness):
    """Returns a closed ring around the center: `count` different points, whose distance from it varies."""
    waves = [(chance.uniform(0, 2 * math.pi), k, roughness / k) for k in range(1, 40)]
    points = []
    for index in range(count):
        angle = 2 * math.pi * index / count
        scale = 1 + sum(size * math.sin(k * angle + phase) for phase, k, size in waves) / 4 + chance.uniform(-0.001, 0.001)
        points.append([center[0] + radius[0] * scale * math.cos(angle), center[1] + radius[1] * scale * math.sin(angle)])
    return points + [points[0]]


def wrapped(ring):
    """Returns the ring with longitudes from -180 to 180, as a file writes an area across the antimeridian in one piece."""
    return [[(x + 180) % 360 - 180, y] for x, y in ring]


def around_pole(chance, count, latitude):
    """Returns a ring around the north pole in the plane, from the longitude -180 to 180, without its end at 180."""
    waves = [(chance.uniform(0, 2 * math.pi), k, 4 / k) for k in range(1, 30)]
    longitudes = [-180 + 360 * index / count for index in range(count)]
    return [
        [x, latitude + sum(size * math.sin(k * math.radians(x) + phase) for phase, k, size in waves) / 4] for x in longitudes
    ]


def to_pole(ring, pole):
    """Returns the polygon of the plane between a ring around the Earth and the pole."""
    return shapely.Polygon(ring + [[180, ring[0][1]], [180, pole], [-180, pole], ring[0]])


def polygon(*rings):
    return {"type": "Polygon", "coordinates": list(rings)}


def areas(chance):
    """Yields the name of each area, its GeoJSON, and the shape in the plane."""
    country = outline(chance, 10_000, (10, 50), (8, 5), 1)
    yield "outline-of-10000-points", polygon(country), shapely.Polygon(country)

    shell = outline(chance, 4_000, (-100, 40), (20, 12), 0.6)
    holes = [outline(chance, 500, (-100 + 8 * k, 40), (2.5, 4), 0.5) for k in (-1, 0, 1)]
    yield "holes", {"type": "Feature", "properties": {}, "geometry": polygon(shell, *holes)}, shapely.Polygon(shell, holes)

    islands = [outline(chance, 200, (120 + 4 * (k % 6), -20 + 4 * (k // 6)), (1.2, 1.2), 0.6) for k in range(30)]
    yield (
        "islands", {"type": "MultiPolygon", "coordinates": [[ring] for ring in islands]},
        shapely.MultiPolygon([(ring, []) for ring in islands]))

    # Overlapping features: an area is their union.
    two = [outline(chance, 1_000, (c, 0), (8, 8), 0.8) for c in (0, 6)]
    yield (
        "overlap", {"type": "FeatureCollection", "features": [
            {"type": "Feature", "properties": None, "geometry": {"type": "GeometryCollection", "geometries": [polygon(ring)]}}
            for ring in two]},
        shapely.union_all([shapely.Polygon(ring) for ring in two]))

    pacific = outline(chance, 10_000, (180, -15), (15, 10), 0.7)
    lagoon = outline(chance, 300, (181, -15), (2, 2), 0.5)
    plane = shapely.Polygon(pacific, [lagoon])
    yield "antimeridian-in-one-piece", polygon(wrapped(pacific), wrapped(lagoon)), plane
    yield "antimeridian-beyond-180", polygon(pacific, lagoon), plane
    west = shapely.intersection(plane, shapely.box(0, -90, 180, 90))
    east = shapely.transform(shapely.intersection(plane, shapely.box(180, -90, 360, 90)), lambda c: c - [360, 0])
    both = [shapely.geometry.mapping(part) for part in (west, east)]
    yield "antimeridian-in-two-pieces", {"type": "GeometryCollection", "geometries": both}, plane

    arctic = around_pole(chance, 10_000, 66)
    hole = around_pole(chance, 500, 82)
    yield (
        "north-pole", polygon(arctic + arctic[:1]), to_pole(arctic, 90))
    yield (
        "north-pole-with-hole", polygon((arctic + arctic[:1])[::-1], hole + hole[:1]),
        shapely.difference(to_pole(arctic, 90), to_pole(hole, 90)))
    antarctic = [[x, -y] for x, y in arctic]
    plane = to_pole(antarctic, -90)
    yield "south-pole", polygon(antarctic + antarctic[:1]), plane
    # The notation of maps, with a way along the antimeridian and the pole.
    yield "south-pole-of-maps", shapely.geometry.mapping(plane), plane

    comb = [[x, y] for k in range(2_500) for x, y in ((0, k / 100), (20, k / 100 + 0.003), (0, k / 100 + 0.006))]
    comb = comb + [[-1, 25], [-1, 0], [0, 0]]
    yield "comb-of-long-edges", polygon(comb), shapely.Polygon(comb)


def positions(chance, shape, count):
    """Returns random positions: half of them near the shape, the others anywhere, and some with few digits."""
    west, south, east, north = shape.bounds
    found = []
    for index in range(count):
        if index % 2:
            x, y = chance.uniform(-180, 180), chance.uniform(-90, 90)
        else:
            x = (chance.uniform(west - 1, east + 1) + 180) % 360 - 180
            y = min(90, max(-90, chance.uniform(south - 1, north + 1)))
        found.append((round(x, 3), round(y, 3)) if index % 10 == 0 else (x, y))
    return found


def expected(shape, found):
    """Returns whether each position is in the shape or on its boundary."""
    shapely.prepare(shape)
    xs, ys = [x for x, _ in found], [y for _, y in found]
    inside = [False] * len(found)
    for turn in (-360, 0, 360):
        covers = shapely.intersects_xy(shape, [x + turn for x in xs], ys)
        inside = [one or bool(other) for one, other in zip(inside, covers)]
    return inside


def write(folder, seed, count):
    chance = random.Random(seed)
    for name, geojson, shape in areas(chance):
        assert shape.is_valid, name
        (folder / f"{name}.geojson").write_text(json.dumps(geojson))
        found = positions(chance, shape, count)
        lines = [f"{x!r} {y!r} {int(inside)}\n" for (x, y), inside in zip(found, expected(shape, found))]
        (folder / f"{name}.txt").write_text("".join(lines))


def main():
    parser = argparse.ArgumentParser(description="Compares the gateway's fences with shapely on random positions.")
    parser.add_argument("--seed", type=int, default=7946, help="the seed of areas and positions; default: 7946")
    parser.add_argument("--positions", type=int, default=POSITIONS, help=f"the positions of each area; default: {POSITIONS}")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="notify-gateway-fences-") as folder:
        write(pathlib.Path(folder), arguments.seed, arguments.positions)
        # The build in debug has the tests; deploy/test makes it.
        command = ["swift", "test", "--skip-build", "--disable-xctest", "--filter", "FenceComparisonTests"]
        run = subprocess.run(
            command, cwd=ROOT, env=os.environ | {"NOTIFY_GATEWAY_FENCES": folder}, capture_output=True, text=True)
    lines = [line for line in run.stdout.splitlines() if "positions of its rings" in line]
    # A test that a filter does not find or that is skipped succeeds too.
    if run.returncode != 0 or not lines:
        print(run.stdout[-4000:] + run.stderr[-4000:], file=sys.stderr)
        print(f"compare: failed; the seed is {arguments.seed}", file=sys.stderr)
        return 1
    print("\n".join(lines))
    print(f"{len(lines)} areas with {arguments.positions} positions each: fences and shapely agree")
    return 0


if __name__ == "__main__":
    sys.exit(main())
