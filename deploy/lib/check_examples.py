"""Checks the example configurations against the schema.

Every file of examples/ must fit, every file of examples/invalid/ must not, and where it does not must be the place that its
first line names. Every name that the schema knows must stand in some example, so that the reader of the gateway, which loads
the same files in its own tests, has been asked about each of them.
"""

import json
import pathlib
import re
import sys

import jsonschema
import yaml


class Loader(yaml.SafeLoader):
    """YAML as the gateway reads it: no duplicate names, and of plain text only numbers, Booleans and null are special."""

    yaml_implicit_resolvers = {}

    def construct_mapping(self, node, deep=False):
        names = [self.construct_object(key, deep=True) for key, _ in node.value]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise yaml.YAMLError(f"stands more than once: {sorted(twice)}")
        return super().construct_mapping(node, deep)


Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"^(~|null|Null|NULL|)$"), ["~", "n", "N", ""])
Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(true|false)$"), ["t", "f"])
Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^[0-9]+$"), list("0123456789"))


def dotted(parts):
    """The path as the gateway writes it: policy.send[0].to."""
    text = ""
    for part in parts:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def places(error):
    """Every place that an error speaks of: its own, those of the alternatives within it, those of unknown or missing names."""
    path = list(error.absolute_path)
    yield dotted(path)
    if error.validator == "additionalProperties":
        for name in set(error.instance) - set(error.schema.get("properties", {})):
            yield dotted(path + [name])
    if error.validator == "required":
        for name in set(error.validator_value) - set(error.instance):
            yield dotted(path + [name])
    for inner in error.context:
        yield from places(inner)


def names_of(value):
    """All names of all mappings in a value."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from names_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from names_of(inner)


def schema_names(schema):
    """All names that the schema knows."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        for inner in schema.values():
            yield from schema_names(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from schema_names(inner)


def check_valid(validator, path):
    errors = validator.iter_errors(yaml.load(path.read_text(encoding="utf-8"), Loader))
    return [f"{path.name}: {dotted(error.absolute_path) or 'the root'}: {error.message}" for error in errors]


def check_invalid(validator, path):
    text = path.read_text(encoding="utf-8")
    said = re.match(r"# problem at (\S+): .+\n", text)
    if not said:
        return [f"{path.name}: the first line must be: # problem at PATH: what is wrong"]
    named = "" if said[1] == "root" else said[1]
    found = {place for error in validator.iter_errors(yaml.load(text, Loader)) for place in places(error)}
    if not found:
        return [f"{path.name}: fits the schema, and must not"]
    # A list is named where one of its values is wrong.
    if not any(place == named or place.startswith(f"{named}[") for place in found):
        return [f"{path.name}: is wrong at {sorted(found)}, and says {named or 'root'}"]
    return []


def main(deploy):
    schema = json.loads((deploy / "gateway.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    valid = sorted((deploy / "examples").glob("*.yaml"))
    invalid = sorted((deploy / "examples" / "invalid").glob("*.yaml"))
    problems = [problem for path in valid for problem in check_valid(validator, path)]
    problems += [problem for path in invalid for problem in check_invalid(validator, path)]
    if not valid or not invalid:
        problems.append("there are no examples to check")
    shown = {name for path in valid for name in names_of(yaml.load(path.read_text(encoding="utf-8"), Loader))}
    problems += [f"no example shows \"{name}\"" for name in sorted(set(schema_names(schema)) - shown)]
    for problem in problems:
        print(problem)
    print(f"{len(valid)} valid and {len(invalid)} invalid examples, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
