# SPDX-License-Identifier: BSD-2-Clause
"""Skerry has one version: that of project() in meson.build."""

import re
import subprocess
import sys

from deploy.base.paths import BUILD, ROOT
from deploy.base.version import version
from tests.structure import tree
from tests.structure.test_text import sources


def test_one_definition() -> None:
    """no source but meson.build spells the version"""
    assert re.fullmatch(r"\d+\.\d+\.\d+", version())
    spelled = rf"(?<![\d.]){re.escape(version())}(?![\d.])"
    pins = "deploy/setup/"  # versions of other software
    wrong = [str(path) for path in sources() if not path.as_posix().startswith(pins)
             and re.search(spelled, tree.read(path))]
    assert wrong == ["meson.build"]


def test_images() -> None:
    """kernels and the metrics endpoint are of this version"""
    kernels = sorted(BUILD.glob("cluster-kernel/kernel-*.elf"))
    assert kernels
    for image in kernels:
        assert f"Skerry {version()}, ".encode() in image.read_bytes(), image
    assert f'skerry_build_info{{version="{version()}"}}'.encode() in (BUILD / "apps/metrics/metrics.elf").read_bytes()


def test_command() -> None:
    """./skerry --version says it"""
    done = subprocess.run([sys.executable, "-B", "-m", "deploy.cli.main", "--version"], cwd=ROOT, capture_output=True,
                          text=True)
    assert (done.returncode, done.stdout) == (0, f"skerry {version()}\n")


def test_changelog() -> None:
    """the newest release of CHANGELOG.md is this version; headings are those of keepachangelog.com"""
    text = (ROOT / "CHANGELOG.md").read_text()
    releases = re.findall(r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$", text, re.MULTILINE)
    assert [name for name, _ in releases if name != "Unreleased"][0] == version()
    assert [name for name, day in releases if not day] in ([], ["Unreleased"])
    kinds = set(re.findall(r"^### (.*)$", text, re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
