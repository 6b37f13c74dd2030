# SPDX-License-Identifier: BSD-2-Clause
"""Bootable images: a GRUB ISO for BIOS and UEFI, or the loader with a cpio archive for QEMU's direct boot."""

import errno
import hashlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from deploy.base.atomic_files import write_bytes, write_text
from deploy.base.errors import Failure
from deploy.base.paths import BUILD
from deploy.deployment import modules
from deploy.deployment.file_tree import FileTree
from deploy.machine.cpio import Archive
from deploy.setup import needs
from deploy.setup.build import require
from topology import foreign
from topology.errors import InputError
from topology.maps.clustermap import ClusterMap
from topology.maps.dts import compile_dts, write_dts
from topology.units import MIB

# Modules that GRUB itself needs; the rest of its modules would double the image. Those of partition tables are what
# grub-mkrescue's start-up loads by name, and complains of on the console when they are not there.
GRUB_MODULES = (
    "normal multiboot2 iso9660 fat serial terminal test search echo reboot halt all_video "
    "part_acorn part_amiga part_apple part_bsd part_dfly part_dvh part_gpt part_msdos part_plan part_sun part_sunpc"
)

GRUB_SIZE = 6 * MIB  # what GRUB and the file systems add, at most
SCRATCH = "skerry-iso-"
NO_SPACE = (errno.ENOSPC, errno.EDQUOT)

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


def contents(cluster_map: ClusterMap, build: Path = BUILD, own: modules.Own = modules.NOT_OWN) -> dict[str, bytes]:
    """Every module's bytes by its name, programs without debug information; `map` is the compiled map."""
    if build == BUILD:
        require(needs.of_map(cluster_map, own))
    files = {"map": compile_dts(write_dts(cluster_map))}
    for name, path in modules.collect(cluster_map, build, own).items():
        files[name] = _stripped(path, build)
    return files | {name: module.content() for name, module in own.items() if isinstance(module, FileTree)}


def _stripped(path: Path, build: Path) -> bytes:
    """Returns the file without symbols and debug sections, which nobody reads in the machine and BIOS reads slowly."""
    kept = path.relative_to(build) if path.is_relative_to(build) else Path("own",
                                                                           hashlib.sha256(bytes(path)).hexdigest()[:16])
    cache = build / "stripped" / kept
    time = path.stat().st_mtime_ns
    if not cache.exists() or cache.stat().st_mtime_ns != time:  # an older file may have taken the place of a newer one
        cache.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=cache.parent, delete=False) as file:
            temporary = Path(file.name)
        try:
            subprocess.run(["strip", "-o", temporary, path], check=True, capture_output=True, text=True)
            os.utime(temporary, ns=(time, time))
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

    `options` are the loader's; `notes` are files that only lie on it, for a later reader of the image.
    """
    contents = {**files, **(notes or {})}
    needed = sum(len(content) for content in contents.values()) + loader.stat().st_size + GRUB_SIZE
    fresh = not output.exists()
    try:
        with tempfile.TemporaryDirectory(prefix=SCRATCH) as directory:
            work = Path(directory)
            try:
                _lay_out(work / "files", contents, loader, grub_config(files, title, options))
                done = _mkrescue(work, output)
            except OSError as error:
                if error.errno not in NO_SPACE:
                    raise
                raise Failure(f"{output} cannot be made: {_free(work)}; {_size(needed)} are needed there") from None
            if done.returncode or not output.exists():
                raise Failure(_why_not(done.stderr, output, work, needed))
    except BaseException:
        if fresh:
            output.unlink(missing_ok=True)
        raise


def _lay_out(folder: Path, contents: Mapping[str, bytes], loader: Path, config: str) -> None:
    boot = folder / "boot"
    (boot / "grub").mkdir(parents=True)
    shutil.copyfile(loader, boot / "loader")
    for name, content in contents.items():
        (boot / name).write_bytes(content)
    write_text(boot / "grub" / "grub.cfg", config)


def _mkrescue(work: Path, output: Path) -> subprocess.CompletedProcess[str]:
    """In a group of its own, which ends with us; what it leaves behind lies in `work`.

    Hazard: a process of the group that has been killed can still be in the system call that creates `output`, and an
    interrupt can come before the group is known. All of them hold a pipe: at its end nobody is left that could write.
    """
    (work / "scratch").mkdir()
    command = ["grub-mkrescue", f"--install-modules={GRUB_MODULES}", "--fonts=", "--locales=", "--themes="]
    command += ["-o", str(output), str(work / "files"), "--", "-volid", "SKERRY"]
    process: subprocess.Popen[str] | None = None
    ended, held = (os.fdopen(end, mode, buffering=0) for end, mode in zip(os.pipe(), ("rb", "wb")))
    with ended, held:
        try:
            with held:
                process = subprocess.Popen(
                    command, env=os.environ | {"TMPDIR": str(work / "scratch"), "LC_ALL": "C"},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace", process_group=0,
                    pass_fds=[held.fileno()],
                )
            errors = process.communicate()[1]
        except FileNotFoundError:
            raise Failure("grub-mkrescue not found; install grub-common, grub-pc-bin, grub-efi-amd64-bin") from None
        except BaseException:
            held.close()  # still open where an interrupt came before the inner `with`
            if process:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            ended.read()
            raise
    return subprocess.CompletedProcess(command, process.returncode, stderr=errors)


def _why_not(errors: str, output: Path, work: Path, needed: int) -> str:
    """Why grub-mkrescue failed, in one line: its last one says little."""
    for folder in (work, output.resolve().parent):
        if shutil.disk_usage(folder).free < needed:
            return f"{output} cannot be written: {_free(folder)}; {_size(needed)} are needed there"
    lines = [line.strip() for line in errors.splitlines() if line.strip(" .")]
    telling = [line for line in lines if re.search("FAILURE|FATAL|MISHAP|error|cannot|denied|No space", line)] or lines
    return f"{output} cannot be written: grub-mkrescue: {telling[0] if telling else 'no output'}"


def _free(folder: Path) -> str:
    named = folder.parent if folder.name.startswith(SCRATCH) else folder
    return f"no space left in {named}: {_size(shutil.disk_usage(folder).free)} are free"


def _size(size: int) -> str:
    return f"{size / MIB:.1f} MiB"


def read_iso(path: Path, *names: str) -> list[bytes]:
    """Files of an image that make_iso has written."""
    with tempfile.TemporaryDirectory(prefix=SCRATCH) as directory:
        arguments = [word for name in names for word in ("-extract", f"/boot/{name}", f"{directory}/{name}")]
        try:
            done = subprocess.run(
                ["xorriso", "-osirrox", "on", "-indev", str(path), *arguments], capture_output=True, text=True
            )
        except FileNotFoundError:
            raise Failure("xorriso not found; install it") from None
        files = [Path(directory, name) for name in names]
        # a link leads to this host's files
        if done.returncode or not all(file.is_file() and not file.is_symlink() for file in files):
            raise InputError(str(path), "is not an image that skerry image has written")
        return [foreign.read(file, foreign.PROGRAM) for file in files]


def cpio(files: Mapping[str, bytes]) -> bytes:
    """Returns an uncompressed `newc` archive."""
    archive = Archive()
    for name, content in files.items():
        archive.file(name, content)
    return archive.finish()


def make_direct(directory: Path, files: Mapping[str, bytes], loader: Path) -> DirectBoot:
    initrd = directory / "modules.cpio"
    write_bytes(initrd, cpio(files))
    return DirectBoot(loader, initrd)


def check_output(path: Path) -> None:
    if path.is_dir():
        raise InputError(f"-o {path}", "is a folder")
    if not path.resolve().parent.is_dir():
        raise InputError(f"-o {path}", "no such folder")
