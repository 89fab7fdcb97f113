"""Checks the example configurations against the schema.

Every file of examples/ must be valid. Every file of examples/invalid/ must have an error at the path that its first line names.
Every name of the schema must occur in an example: the gateway's own tests load the same files, and so its configuration reader
is tested with every name.
"""

import json
import pathlib
import re
import sys

import jsonschema
import yaml


class Loader(yaml.SafeLoader):
    """Reads YAML like the gateway: names are unique, and plain scalars are strings except numbers, Booleans and null."""

    yaml_implicit_resolvers = {}

    def construct_mapping(self, node, deep=False):
        names = [self.construct_object(key, deep=True) for key, _ in node.value]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise yaml.YAMLError(f"duplicate names: {sorted(twice)}")
        return super().construct_mapping(node, deep)


Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"^(~|null|Null|NULL|)$"), ["~", "n", "N", ""])
Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(true|false)$"), ["t", "f"])
Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^[0-9]+$"), list("0123456789"))


def dotted(parts):
    """Returns the path in the form that the gateway prints: policy.send[0].to."""
    text = ""
    for part in parts:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def places(error):
    """Yields every path of an error: its own, those of its alternatives, and those of unknown or missing names."""
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
    """Yields the names of all mappings in a value."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from names_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from names_of(inner)


def schema_names(schema):
    """Yields all names in the schema."""
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
    header = re.match(r"# problem at (\S+): .+\n", text)
    if not header:
        return [f"{path.name}: the first line must be: # problem at PATH: what is wrong"]
    named = "" if header[1] == "root" else header[1]
    found = {place for error in validator.iter_errors(yaml.load(text, Loader)) for place in places(error)}
    if not found:
        return [f"{path.name}: is valid, but must not be"]
    # The first line may name a list instead of the value in it that is wrong.
    if not any(place == named or place.startswith(f"{named}[") for place in found):
        return [f"{path.name}: has errors at {sorted(found)}, but its first line names {named or 'root'}"]
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
    problems += [f"no example contains \"{name}\"" for name in sorted(set(schema_names(schema)) - shown)]
    for problem in problems:
        print(problem)
    print(f"{len(valid)} valid and {len(invalid)} invalid examples, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
