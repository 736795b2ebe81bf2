"""Reads the headers and the library of one CUPTI version; lists the packages that contain them."""
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

from tables_wanted import ENUMS, FAMILIES, SELECTIONS, selection

# CUDA version -> (PyPI requirement, sha256). Each entry is the newest patch of a minor version.
# NVIDIA released no CUDA 12.7.
PACKAGES = {
    "12.0": ("nvidia-cuda-cupti-cu12==12.0.146", "218901bafaef99588bc3681a2af61ea1b884b78c53e554fc8d94056d893920a0"),
    "12.1": ("nvidia-cuda-cupti-cu12==12.1.105", "e54fde3983165c624cb79254ae9818a456eb6e87a7fd4d56a2352c24ee542d7e"),
    "12.2": ("nvidia-cuda-cupti-cu12==12.2.142", "ce68d1009dd14215e38ed49643d31374c71d6fea381181cb0b9da7f19dfd1624"),
    "12.3": ("nvidia-cuda-cupti-cu12==12.3.101", "7b984288af7db1faa1e6f1803db075d4350116b72a98d4be0e88d604dc812c0e"),
    "12.4": ("nvidia-cuda-cupti-cu12==12.4.127", "9dec60f5ac126f7bb551c055072b69d85392b13311fcc1bcda2202d172df30fb"),
    "12.5": ("nvidia-cuda-cupti-cu12==12.5.82", "bde77a5feb66752ec61db2adfe47f56b941842825b4c7e2068aff27c9d107953"),
    "12.6": ("nvidia-cuda-cupti-cu12==12.6.80", "6768bad6cab4f19e8292125e5f1ac8aa7d1718704012a0e3272a6f61c4bce132"),
    "12.8": ("nvidia-cuda-cupti-cu12==12.8.90", "ea0cb07ebda26bb9b29ba82cda34849e73c166c18162d3913575b0c9db9a6182"),
    "12.9": ("nvidia-cuda-cupti-cu12==12.9.79", "096bcf334f13e1984ba36685ad4c1d6347db214de03dbb6eebb237b41d9d934f"),
    "13.0": ("nvidia-cuda-cupti==13.0.85", "4eb01c08e859bf924d222250d2e8f8b8ff6d3db4721288cf35d14252a4d933c8"),
    "13.1": ("nvidia-cuda-cupti==13.1.115", "2c76d91807cf76fc0e4b08ad71c4dff0e8e9f678fc8dbbbc43ec55125a70b553"),
    "13.2": ("nvidia-cuda-cupti==13.2.86", "8fa29f15dd8336181f961764d9d95236fc6b931dd0c8fcf8cd70aab0c310b586"),
    "13.3": ("nvidia-cuda-cupti==13.3.75", "a969cc446c44db612e417bd0af722cfad9009c027dabd4ed255262c0e9a9a3d2"),
    "13.4": ("nvidia-cuda-cupti==13.4.92", "037b561575e6983bc4fe1caae644d7a296a8367f451bf6c2a3194f4d0765431c"),
    "13.5": ("nvidia-cuda-cupti==13.5.25", "9dcca41c12a734192b14e7128ae116bc9ce1b9da686e2ebf48ae7a4415f76650"),
}
# cuda.h and the few headers that it needs. CUPTI's headers need only type names from these headers,
# so one version of them is enough for all CUPTI versions.
CUDA_PACKAGES = [
    ("nvidia-cuda-runtime==13.0.96", "7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548"),
    ("nvidia-cuda-crt==13.0.88", "2c8043c7c9e02492716426e9919fc78d2c5b3b2a7a768a88e952676b08aa55a4"),
]


def fail(message: str):
    sys.exit(f"generate_tables: {message}")


# ---- packages -------------------------------------------------------------------------------------

def fetch(requirement: str, digest: str, cache: pathlib.Path) -> pathlib.Path:
    """Downloads and unpacks one pinned package; returns its folder. A package in the cache is not downloaded again."""
    out = cache / requirement.replace("==", "-")
    if (out / ".sha256").exists() and (out / ".sha256").read_text() == digest:
        return out
    print(f"fetching {requirement}", file=sys.stderr)
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as tmp:
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:",
                        "--disable-pip-version-check", "--platform", "manylinux_2_27_x86_64",
                        "--platform", "manylinux_2_25_x86_64", "--platform", "manylinux_2_17_x86_64",
                        "--platform", "manylinux2014_x86_64", "--platform", "manylinux1_x86_64", "-d", tmp, requirement], check=True)
        (wheel,) = pathlib.Path(tmp).glob("*.whl")
        got = hashlib.sha256(wheel.read_bytes()).hexdigest()
        if got != digest:
            fail(f"{wheel.name}: sha256 is {got}, expected {digest}: not used")
        with zipfile.ZipFile(wheel) as z:
            z.extractall(out, [m for m in z.namelist() if "/include/" in m or "/lib/libcupti.so" in m])
        (out / ".sha256").write_text(digest)
    return out


def folder_of(package: pathlib.Path, header: str) -> pathlib.Path:
    (found,) = package.glob(f"nvidia/*/include/{header}")
    return found.parent


# ---- one version ----------------------------------------------------------------------------------

class Version:
    """The content of one CUPTI version's headers. `functions` is filled only if the version's
    library is given."""

    def __init__(self, include: pathlib.Path, cuda_includes: list, library: pathlib.Path = None):
        text = (include / "cupti_activity.h").read_text(errors="replace")
        deprecated = include / "cupti_activity_deprecated.h"
        self.structs = self.kinds_of(text)
        self.everything = text + (deprecated.read_text(errors="replace") if deprecated.exists() else "")
        self.callbacks = {d: self.callbacks_of(include, d) for d in ("runtime", "driver")}
        self.functions = self.functions_of(library) if library else None
        self.compile(include, cuda_includes)

    @staticmethod
    def kinds_of(text: str) -> dict:
        """Returns kind name -> (value, structure), read from the enum and its comments."""
        enum = text[text.index("CUPTI_ACTIVITY_KIND_INVALID"):text.index("} CUpti_ActivityKind;")]
        kinds = {}
        for comment, name, value in re.findall(r"/\*\*(.*?)\*/\s*CUPTI_ACTIVITY_KIND_(\w+)\s*=\s*(\d+)", enum, re.S):
            found = re.findall(r"CUpti_Activity\w+", comment)
            if len(set(found)) != 1:
                fail(f"kind {name}: its comment names {found or 'no structure'}: look at the header")
            kinds[name] = (int(value), found[0])
        return kinds

    @staticmethod
    def callbacks_of(include: pathlib.Path, domain: str) -> dict:
        text = (include / f"cupti_{domain}_cbid.h").read_text()
        ids = {int(i): n for n, i in re.findall(r"TRACE_CBID_(cu\w+)\s*=\s*(\d+)", text)}
        # 64-bit and reserved ids carry placeholder names: cuda439, cuda25
        return {i: None if re.fullmatch(r"cuda\d+(_v\d+)?", n) else re.sub(r"_v\d+", "", n) for i, n in ids.items()}

    @staticmethod
    def functions_of(library: pathlib.Path) -> set:
        out = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True)
        return set(re.findall(r"\b(cupti\w+)(?=@|$)", out.stdout, re.M))

    def body(self, struct: str) -> str:
        end = self.everything.index(f"}} {struct};")
        return re.sub(r"/\*.*?\*/", "", self.everything[self.everything.rindex("typedef struct", 0, end):end], flags=re.S)

    def compile(self, include: pathlib.Path, cuda_includes: list):
        """Gets every number from the compiler, so that packing and alignment are as in NVIDIA's
        headers."""
        lines = []
        for name, (value, struct) in self.structs.items():
            lines.append(f'printf("size {value} %zu\\n", sizeof({struct}));')
            lines.append(f'if (CUPTI_ACTIVITY_KIND_{name} != {value}) return 1;')
        for family, (kinds, fields) in FAMILIES.items():
            structs = {self.structs[k][1] for k in kinds}
            if len(structs) != 1:
                fail(f"{family}: its kinds have different structures: {structs}")
            (struct,) = structs
            body = self.body(struct)
            for ours, (theirs, width) in fields.items():
                top = theirs.split(".")[0]
                if not re.search(rf"\b{top};", body):
                    if not ours.endswith("?"):
                        fail(f"{struct} has no {theirs}: mark it as optional, or find its new name")
                    continue
                lines.append(f'_Static_assert(sizeof((({struct} *)0)->{theirs}) == {width}, "{struct}.{theirs}");')
                lines.append(f'printf("field {family} {ours.rstrip("?")} %zu\\n", offsetof({struct}, {theirs}));')
        for ours, (theirs, names) in ENUMS.items():
            for name in names:
                if re.search(rf"\b{theirs}{name}\b\s*[=,]", self.everything + (include / "cupti_result.h").read_text()):
                    lines.append(f'printf("enum {ours}{name} %d\\n", (int){theirs}{name});')
        if "KERNEL_FIELD_KIND" in self.everything:
            for family, (prefix, _) in SELECTIONS.items():
                for constant in (f"{prefix}_FIELD_KIND", *(c for _, c, _, _ in selection(family))):
                    lines.append(f'printf("id {constant} %d\\n", (int){constant});')
        code = ("#include <stddef.h>\n#include <stdio.h>\n#include <cupti_version.h>\n#include <cupti_activity.h>\n"
                'int main(void)\n{\nprintf("version 0 %d\\n", CUPTI_API_VERSION);\n' + "\n".join(lines) + "\nreturn 0;\n}\n")
        with tempfile.TemporaryDirectory() as tmp:
            source, program = pathlib.Path(tmp, "layout.c"), pathlib.Path(tmp, "layout")
            source.write_text(code)
            flags = [f"-I{p}" for p in (include, *cuda_includes)]
            subprocess.run([os.environ.get("CC", "cc"), "-std=gnu11", "-w", *flags, source, "-o", program], check=True)
            out = subprocess.run([program], check=True, capture_output=True, text=True).stdout
        self.sizes, self.fields, self.enums, self.ids = {}, {f: {} for f in FAMILIES}, {}, {}
        for line in out.splitlines():
            what, *rest = line.split()
            if what == "version":
                self.api = int(rest[1])
            elif what == "size":
                self.sizes[int(rest[0])] = int(rest[1])
            elif what == "enum":
                self.enums[rest[0]] = int(rest[1])
            elif what == "id":
                self.ids[rest[0]] = int(rest[1])
            else:
                self.fields[rest[0]][rest[1]] = int(rest[2])

    def layout(self, family: str) -> tuple:
        kinds, fields = FAMILIES[family]
        size = self.sizes[self.structs[kinds[0]][0]]
        return (size, *(self.fields[family].get(f.rstrip("?"), 0) for f in fields))

    def callback_counts(self) -> tuple:
        return tuple(max(self.callbacks[d]) + 1 for d in ("runtime", "driver"))
