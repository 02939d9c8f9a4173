# SPDX-License-Identifier: Apache-2.0
"""Recipe of Reprise for Spack 1.0 or newer (docs/how-to/packages.md)."""

from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import *


class Reprise(MakefilePackage):
    """Reprise gives each Slurm job the best settings known for jobs like it, without any action by the user."""

    # The project has no address to download from: build it from a checkout, with `spack dev-build`.
    license("Apache-2.0")

    version("0.3.0")

    variant("command", default=True, description="The command reprise: matcher, tuner and pages (needs PyPI)")
    variant("tools", default=True, description="Programs of campaigns, built with Open MPI")

    depends_on("c", type="build")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="build")
    # Slurm loads the plugin into its commands: both should be externals, the same as those of the running Slurm.
    depends_on("slurm")
    depends_on("json-c")
    depends_on("python@3.11:3.13", type=("build", "run"), when="+command")
    depends_on("openmpi", when="+tools")

    def build(self, spec, prefix):
        """Do nothing: each target of `install` builds its files."""

    def install(self, spec, prefix):
        targets = ["install-plugin", "install-accelerators", "install-fallbacks", "install-etc", "install-docs"]
        words = [
            f"PREFIX={prefix}",
            f"SYSCONFDIR={prefix.etc}",
            f"UNITDIR={prefix.lib.systemd.system}",
            f"SYSUSERSDIR={prefix.lib}/sysusers.d",
            f"PRELOADDIR={prefix.lib}",
            f"SLURM_PLUGINDIR={prefix.lib.slurm}",
            f"SLURM_CPPFLAGS=-I{spec['slurm'].prefix.include}",
        ]
        if spec.satisfies("+tools"):
            targets.append("install-tools")
            words.append(f"MPICC={spec['openmpi'].prefix.bin.mpicc}")
        if spec.satisfies("+command"):
            targets += ["install-python", "install-manual"]
            words.append(f"BASE_PYTHON={spec['python'].command.path}")
        for target in targets:  # in this order: the manual is made by the command
            make(target, *words)
        # Slurm does not search this prefix for plugins.
        line = r"^optional spank_reprise\.so"
        filter_file(line, f"optional {prefix.lib.slurm}/spank_reprise.so", f"{prefix}/share/reprise/plugstack.conf")
