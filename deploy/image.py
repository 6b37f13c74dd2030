# SPDX-License-Identifier: BSD-2-Clause
"""Bootable images: a GRUB ISO for BIOS and UEFI, or the loader with a cpio archive for QEMU's direct boot."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from deploy import modules
from deploy.errors import Failure
from deploy.paths import BUILD
from topology.clustermap import ClusterMap
from topology.dts import write_dts
from topology.errors import InputError
from topology.fdt import compile_dts

# What GRUB itself needs; the rest of its modules would double the image. Those of partition tables are what
# grub-mkrescue's start-up loads by name, and complains of on the console when they are not there.
GRUB_MODULES = (
    "normal multiboot2 iso9660 fat serial terminal test search echo reboot halt all_video "
    "part_acorn part_amiga part_apple part_bsd part_dfly part_dvh part_gpt part_msdos part_plan part_sun part_sunpc"
)

GRUB_CONFIG = """\
serial --unit=0 --speed=115200
terminal_input serial console
terminal_output serial console
insmod all_video
set timeout=0
set default=0
menuentry "{title}" {{
    multiboot2 /boot/loader{options}
{modules}
    boot
}}
"""


@dataclass(frozen=True)
class DirectBoot:
    """`qemu -kernel loader -initrd modules`: the loader's PVH entry, file names in the archive are module names."""

    kernel: Path
    initrd: Path


def contents(cluster_map: ClusterMap, build: Path = BUILD) -> dict[str, bytes]:
    """Every module's bytes by its name, programs without debug information; `map` is the compiled map."""
    found = {"map": compile_dts(write_dts(cluster_map))}
    for name, path in modules.collect(cluster_map, build).items():
        found[name] = _stripped(path, build)
    return found


def _stripped(path: Path, build: Path) -> bytes:
    """Without symbols and debug sections, which nobody reads in the machine and BIOS reads slowly."""
    cache = build / "stripped" / path.relative_to(build)
    if not cache.exists() or cache.stat().st_mtime_ns < path.stat().st_mtime_ns:
        cache.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=cache.parent, delete=False) as file:
            temporary = Path(file.name)
        try:
            subprocess.run(["strip", "-o", temporary, path], check=True, capture_output=True, text=True)
            temporary.replace(cache)
        except FileNotFoundError:
            raise Failure("strip not found; install binutils") from None
        except subprocess.CalledProcessError as error:
            raise Failure(f"strip {path}: {error.stderr.strip()}") from None
        finally:
            temporary.unlink(missing_ok=True)
    return cache.read_bytes()


def grub_config(names: Iterable[str], title: str, options: str = "") -> str:
    lines = "\n".join(f"    module2 /boot/{name} {name}" for name in names)
    return GRUB_CONFIG.format(title=title, modules=lines, options=f" {options}" if options else "")


def make_iso(
    output: Path,
    files: Mapping[str, bytes],
    loader: Path,
    title: str = "skerry",
    options: str = "",
    notes: Mapping[str, bytes] | None = None,
) -> None:
    """A hybrid ISO: BIOS and UEFI, optical disc or USB stick.

    `options` are the loader's; `notes` are files that only lie on it, for who reads the image later.
    """
    with tempfile.TemporaryDirectory(prefix="skerry-iso-") as directory:
        boot = Path(directory) / "boot"
        (boot / "grub").mkdir(parents=True)
        shutil.copyfile(loader, boot / "loader")
        for name, content in (*files.items(), *(notes or {}).items()):
            (boot / name).write_bytes(content)
        (boot / "grub" / "grub.cfg").write_text(grub_config(files, title, options))
        command = ["grub-mkrescue", f"--install-modules={GRUB_MODULES}", "--fonts=", "--locales=", "--themes="]
        try:
            done = subprocess.run(
                [*command, "-o", str(output), directory, "--", "-volid", "SKERRY"], capture_output=True, text=True
            )
        except FileNotFoundError:
            raise Failure("grub-mkrescue not found; install grub-common, grub-pc-bin, grub-efi-amd64-bin") from None
        if done.returncode != 0 or not output.exists():
            lines = [line for line in done.stderr.splitlines() if line.strip()] or ["no output"]
            raise Failure(f"grub-mkrescue: {lines[-1]}")


def read_iso(path: Path, *names: str) -> list[bytes]:
    """Files of an image that make_iso has written."""
    with tempfile.TemporaryDirectory(prefix="skerry-iso-") as directory:
        wanted = [word for name in names for word in ("-extract", f"/boot/{name}", f"{directory}/{name}")]
        try:
            done = subprocess.run(
                ["xorriso", "-osirrox", "on", "-indev", str(path), *wanted], capture_output=True, text=True
            )
        except FileNotFoundError:
            raise Failure("xorriso not found; install it") from None
        found = [Path(directory, name) for name in names]
        if done.returncode or not all(file.is_file() for file in found):
            raise InputError(str(path), "is not an image that skerry image has written")
        return [file.read_bytes() for file in found]


def cpio(files: Mapping[str, bytes]) -> bytes:
    """An uncompressed `newc` archive."""
    archive = bytearray()

    def member(name: str, content: bytes, mode: int, inode: int) -> None:
        size_of_name = len(name) + 1
        header = [inode, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, size_of_name, 0]
        archive.extend(b"070701" + b"".join(b"%08X" % value for value in header))
        archive.extend(name.encode() + b"\0")
        archive.extend(bytes(-len(archive) % 4))
        archive.extend(content)
        archive.extend(bytes(-len(archive) % 4))

    for inode, (name, content) in enumerate(files.items(), start=1):
        member(name, content, 0o100644, inode)
    member("TRAILER!!!", b"", 0, 0)
    archive.extend(bytes(-len(archive) % 512))
    return bytes(archive)


def make_direct(directory: Path, files: Mapping[str, bytes], loader: Path) -> DirectBoot:
    initrd = directory / "modules.cpio"
    initrd.write_bytes(cpio(files))
    return DirectBoot(loader, initrd)


def check_output(path: Path) -> None:
    if path.is_dir():
        raise InputError(f"-o {path}", "is a folder")
    if not path.resolve().parent.is_dir():
        raise InputError(f"-o {path}", "no such folder")
