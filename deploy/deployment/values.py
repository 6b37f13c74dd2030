# SPDX-License-Identifier: BSD-2-Clause
"""Kinds of values in a deployment file: what is accepted, and in `x-expected` how a mistake is answered."""

import re
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, WithJsonSchema
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from deploy.deployment import keys, modules
from deploy.deployment.addresses import REDIS_FIRST
from deploy.deployment.file_tree import LONGEST_NAME, Mapped
from deploy.deployment.keys import Kind, Named, Whole, Words
from deploy.deployment.model import Port as ForwardedPort
from deploy.deployment.volumes import Volume
from topology.errors import InputError
from topology.limits import NAME_SIZE
from topology.units import LARGE_PAGE, format_size, parse_size


def wrong(text: str, *at: str | int) -> PydanticCustomError:
    """A problem of a whole table, to be shown at the key `at`."""
    return PydanticCustomError("skerry", "{text}", {"text": text, "at": at})


def _size(value: Any) -> int:
    if type(value) not in (int, str):
        raise PydanticCustomError("size_type", "not a size")
    try:
        size = parse_size(value)
    except InputError:
        raise PydanticCustomError("size_type", "not a size") from None
    if size % LARGE_PAGE:
        raise wrong(f"{value} is not a multiple of 2 MiB")
    if size >= 1 << 52:
        raise wrong(f"{value} is more than a machine can address")
    return size


class OneOf:
    """A text that is one of these choices."""

    def __init__(self, *choices: str) -> None:
        self.choices = choices

    def check(self, value: str) -> str:
        if value not in self.choices:
            raise PydanticCustomError("choice", "not a choice")
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, _schema: CoreSchema, _handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "string", "enum": list(self.choices)}


def between(low: int, high: int) -> Any:
    """Declares a number of at least `low` and at most `high`."""
    return Field(ge=low, le=high)


def _argument(value: str) -> str:
    if "\0" in value:
        raise wrong("an argument cannot hold a character of 0, which ends it")
    return value


def _variable(value: str) -> str:
    if not value.partition("=")[0] or "=" not in value:
        raise wrong(f"{value[:60]!r} is not NAME=VALUE")
    if "\0" in value:
        raise wrong("a variable cannot hold a character of 0, which ends it")
    return value


def _guest(value: str) -> str:
    """An absolute path in the machine, without what needs resolving."""
    parts = [part for part in value.split("/") if part]
    if not value.startswith("/"):
        raise wrong(f"'{value[:60]}' is not an absolute path: it begins with no '/'")
    if any(part in (".", "..") for part in parts):
        raise wrong(f"'{value[:60]}' has a '.' or '..', which a path in the machine cannot have here")
    if "\0" in value or any(len(part.encode()) > LONGEST_NAME for part in parts):
        raise wrong(f"'{value[:60]}' is not a path: a name has {LONGEST_NAME} bytes at most and no character of 0")
    return "/" + "/".join(parts)


def _mapped(value: Any) -> Mapped:
    """'host/path:/guest/path', or with ':rw' behind it, as compose files have it."""
    if not isinstance(value, str):
        raise PydanticCustomError("mapped_type", "not a mapping")
    text, writable = (value[:-3], value.endswith(":rw")) if value.endswith((":rw", ":ro")) else (value, False)
    host, colon, guest = text.rpartition(":/")
    if not colon:
        host, colon, guest = text.rpartition(":")
        if not colon:
            raise PydanticCustomError("mapped_type", "not a mapping")
        raise wrong(f"'{value[:80]}': the path in the machine, '{guest[:60]}', is not absolute")
    if not host:
        raise wrong(f"'{value[:80]}' names no file of the host")
    return Mapped(host, _guest("/" + guest), writable)


def _volume(value: Any) -> Volume:
    """'host/folder:/guest/path', or with ':ro' behind it, as compose files have it."""
    if not isinstance(value, str):
        raise PydanticCustomError("volume_type", "not a volume")
    text, read_only = (value[:-3], value.endswith(":ro")) if value.endswith((":rw", ":ro")) else (value, False)
    host, colon, guest = text.rpartition(":/")
    if not colon:
        raise PydanticCustomError("volume_type", "not a volume")
    if not host:
        raise wrong(f"'{value[:80]}' names no folder of the host")
    return Volume(host, _guest("/" + guest), read_only)


def _save(value: str) -> str:
    words = value.split()
    if len(words) % 2 or any(not re.fullmatch(r"[1-9]\d{0,8}", word, re.ASCII) for word in words):
        raise PydanticCustomError("save_type", "no rules")
    return " ".join(words)


def _subnet(value: Any) -> IPv4Network:
    try:
        interface = IPv4Interface(value) if isinstance(value, str) and re.fullmatch(r"[\d.]+/\d+", value,
            re.ASCII) else None
    except ValueError:
        interface = None
    if interface is None:
        raise PydanticCustomError("subnet_type", "not a subnet")
    subnet = interface.network
    if subnet.prefixlen > 24:
        raise wrong(f"'{value}' is too small: instances are at .{REDIS_FIRST} and above; it takes a /24 or larger")
    if subnet.prefixlen < 8:
        raise wrong(f"'{value}' is not {SUBNET}")
    if interface.ip != subnet.network_address:
        raise wrong(f"'{value}' names an address in a subnet; the subnet is {subnet}")
    if subnet.is_loopback or subnet.is_multicast or subnet.is_reserved or subnet.network_address.packed[0] == 0:
        raise wrong(f"'{value}' is not for machines; take a private one such as 10.0.3.0/24")
    return subnet


def _address(value: Any) -> IPv4Address:
    try:
        if isinstance(value, str):
            return IPv4Address(value)
    except ValueError:
        pass
    raise PydanticCustomError("address_type", "not an address")


def _forwarded(value: Any) -> ForwardedPort:
    """7000, or "17000:7000", as compose files have it: the host's port first."""
    if type(value) is int and 1 <= value <= 65535:
        return ForwardedPort(value)
    if isinstance(value, str) and (match := re.fullmatch(r"(\d{1,5}):(\d{1,5})", value, re.ASCII)):
        outside, inside = int(match[1]), int(match[2])
        if 1 <= outside <= 65535 and 1 <= inside <= 65535:
            return ForwardedPort(inside, outside)
    raise PydanticCustomError("port_type", "not a port")


_SIZE_PATTERN = r"^\s*\d+\s*[KMGTkmgt]?([iI]?[bB])?\s*$"
Size = Annotated[
    int,
    BeforeValidator(_size),
    WithJsonSchema({"anyOf": [{"type": "string", "pattern": _SIZE_PATTERN}, {"type": "integer", "minimum": LARGE_PAGE}],
                    "x-expected": "a size such as 512M or 2G"}),
]
NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"


def _name(longest: int) -> Any:
    expected = f"made of letters, digits, '.', '_' and '-', {longest} at most"
    return Field(pattern=NAME_PATTERN, max_length=longest, json_schema_extra={"x-expected": expected})


Name = Annotated[str, _name(60)]  # becomes the name of files
LONGEST_PROGRAM_NAME = NAME_SIZE - len("@1ff") - 1
ProgramName = Annotated[str, _name(LONGEST_PROGRAM_NAME)]
Arguments = list[Annotated[str, AfterValidator(_argument)]]
Lock = Annotated[str, OneOf(*modules.REGIMES)]
Port = Annotated[int, between(1, 65535)]
Cpu = Annotated[int, between(0, 1023)]
Forwarded = Annotated[
    ForwardedPort,
    BeforeValidator(_forwarded),
    WithJsonSchema(
        {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 65535}, {"type": "string", "pattern": r"^\d+:\d+$"}],
         "x-expected": "a port from 1 to 65535, or 'HOST:PORT' with one of each",
         "x-plural": "ports from 1 to 65535, or 'HOST:PORT' with one of each"}
    ),
]
SUBNET = "an IPv4 subnet of /8 to /24 such as 10.0.3.0/24"
Subnetwork = Annotated[
    IPv4Network,
    BeforeValidator(_subnet),
    WithJsonSchema({"type": "string", "pattern": r"^\d+\.\d+\.\d+\.\d+/\d+$", "x-expected": SUBNET}),
]
Address = Annotated[
    IPv4Address,
    BeforeValidator(_address),
    WithJsonSchema({"type": "string", "pattern": r"^\d+\.\d+\.\d+\.\d+$",
                    "x-expected": "an IPv4 address such as 10.0.3.1"}),
]


MAPPED = "'HOST:/GUEST', a path of the host and an absolute one in the machine, or 'HOST:/GUEST:rw'"
MappedFiles = Annotated[
    Mapped,
    BeforeValidator(_mapped),
    WithJsonSchema({"type": "string", "pattern": r"^.+:/[^\0]*$", "x-expected": MAPPED, "x-plural": MAPPED}),
]


VOLUME = "'HOST:/GUEST', a folder of the host and an absolute path in the machine, or 'HOST:/GUEST:ro'"
Volumes = Annotated[
    Volume,
    BeforeValidator(_volume),
    WithJsonSchema({"type": "string", "pattern": r"^.+:/[^\0]*$", "x-expected": VOLUME, "x-plural": VOLUME}),
]


SaveRules = Annotated[
    str,
    AfterValidator(_save),
    WithJsonSchema({"type": "string", "pattern": r"^\s*(\d+\s+\d+\s*)*$",
                    "x-expected": "pairs of seconds and changes such as '3600 1 300 100'"}),
]


KINDS: dict[Named, Any] = {
    keys.FLAG: bool, keys.TEXT: str, keys.SIZE: Size, keys.PORT: Port, keys.CPU: Cpu,
    keys.CPUS: Annotated[list[Cpu], Field(min_length=1, max_length=64)], keys.ARGUMENTS: Arguments,
    keys.PROGRAM_NAME: ProgramName, keys.FORWARDED: list[Forwarded], keys.SUBNET: Subnetwork, keys.ADDRESS: Address,
    keys.VARIABLES: list[Annotated[str, AfterValidator(_variable)]],
    keys.FOLDER: Annotated[str, AfterValidator(_guest)],
    keys.VOLUMES: list[Volumes], keys.SAVE: SaveRules,
    keys.MAPPED: list[MappedFiles], keys.PROGRAM_NAMES: list[ProgramName],
}  # fmt: skip


def kind_of(kind: Kind) -> Any:
    """A declared kind, as pydantic has it."""
    match kind:
        case Whole(low, high, 1):
            return Annotated[int, between(low, high)]
        case Whole(low, high, step):
            return Annotated[int, Field(ge=low, le=high, multiple_of=step)]
        case Words(choices):
            return Annotated[str, OneOf(*choices)]
        case Named():
            return KINDS[kind]


def size_text(size: int) -> str:
    """Formats bytes as a file has them."""
    return format_size(size).replace(" ", "").replace("iB", "")
