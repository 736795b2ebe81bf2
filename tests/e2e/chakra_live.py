"""Compares the Chakra files that a job wrote while it ran with the files that `convert` makes from the
job's Kineto files."""
import collections
import pathlib
import subprocess

import chakra
import harness


def content(et: chakra.Et) -> collections.Counter:
    """Returns the nodes with their place, times, attributes and inputs. Parents are named by place and time,
    because ids depend on the order in which records arrived."""
    keys = {n.id: (et.lane(n), n.name, n.start, n.end, n.correlation) for n in et.nodes}
    return collections.Counter(
        (keys[n.id], n.type, tuple(sorted(keys[d] for d in n.deps)),
         tuple(sorted(map(str, n.attr.items()))),
         n.proto.inputs.shapes, n.proto.inputs.types, n.proto.inputs.values)
        for n in et.nodes)


def differences(live: chakra.Et, converted: chakra.Et) -> list[str]:
    """Returns a line for each node that only one of the files has, in order of time."""
    one, other = content(live), content(converted)
    assert live.header == converted.header
    found = [("live", row) for row in (one - other).elements()]
    found += [("converted", row) for row in (other - one).elements()]
    return [f"{which}: {row}" for which, row in sorted(found, key=lambda f: f[1][0][2])]


def converted_beside(live: pathlib.Path, tmp: pathlib.Path) -> chakra.Et:
    """Returns what `convert` makes of the Kineto file beside a job's Chakra file."""
    window, rank = live.name.split(".")[:2]
    (kineto,) = live.parent.glob(f"{window}.pt.trace.json*")
    made = tmp / f"{live.parent.name}.{window}.{rank}.et"
    subprocess.run([harness.TOOL, "convert", kineto, "--to", "chakra", "-o", made, "--force"],
                   check=True, capture_output=True, timeout=120)
    return chakra.Et(made)


def check_live(out: pathlib.Path, tmp: pathlib.Path) -> list[chakra.Et]:
    """Checks that every Chakra file of a job's folder equals the converted one. Returns the files."""
    files = [chakra.Et(path) for path in sorted(out.rglob("*.et.zst"))]
    for live in files:
        found = differences(live, converted_beside(live.path, tmp))
        assert not found, f"{live.path}: {len(found)} nodes differ\n" + \
            "\n".join(line[:600] for line in found[:12])
    return files
