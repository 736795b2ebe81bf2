"""Reads what libnccl.so says about itself: the addresses of its functions in .symtab, and the layouts of its
structures in DWARF 4. NCCL's wheels on PyPI have both.

Prints, for each argument FUNCTION or STRUCTURE.MEMBER, a line "ARGUMENT OFFSET":
    python3 tests/e2e/nccl_library.py LIBRARY ncclGetVersion ncclInfo.comm ..."""
import mmap
import struct
import sys

ADDRESS, BLOCK2, BLOCK4, STRING, BLOCK, BLOCK1, SDATA, STRP, UDATA, REF_UDATA = 1, 3, 4, 8, 9, 10, 13, 14, 15, 21
EXPRESSION, PRESENT = 24, 25
FIXED = {ADDRESS: 8, 5: 2, 6: 4, 7: 8, 11: 1, 12: 1, 16: 4, 17: 1, 18: 2, 19: 4, 20: 8, 23: 4, 32: 8}
OBJECT, FUNCTION, THREAD = 1, 2, 6
MEMBER, STRUCTURE, UNION, TYPEDEF, CLASS = 0x0d, 0x13, 0x17, 0x16, 0x02
NAME, SIZE, OFFSET, TYPE = 0x03, 0x0b, 0x38, 0x49


class Library:
    """A file libnccl.so."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        start, = struct.unpack_from("<Q", self.data, 40)
        size, count, names = struct.unpack_from("<HHH", self.data, 58)
        rows = [struct.unpack_from("<IIQQQQIIQQ", self.data, start + i * size) for i in range(count)]
        self.sections = {self._text(rows[names][4] + row[0]): (row[4], row[5]) for row in rows}
        self._structures = {}

    def _text(self, at):
        return self.data[at:self.data.find(b"\0", at)].decode()

    def symbols(self):
        """Returns the value of each function and variable, by its name without arguments: its offset from the start of
        the library, or of the thread's block of variables."""
        start, size = self.sections[".symtab"]
        names = self.sections[".strtab"][0]
        found = {}
        for name, info, _, _, value, _ in struct.iter_unpack("<IBBHQQ", self.data[start:start + size]):
            text = self._text(names + name) if info & 15 in (OBJECT, FUNCTION, THREAD) else ""
            if text and "." not in text:  # a name with a dot is a part of a function
                if text.startswith("_Z") and text[2:3].isdigit():
                    digits = len(text[2:]) - len(text[2:].lstrip("0123456789"))
                    text = text[2 + digits:2 + digits + int(text[2:2 + digits])]
                found.setdefault(text, value)
        return found

    # ---- DWARF ----

    def structures(self, unit="plugin/profiler.cc"):
        """Returns the structures of the source file whose name ends in `unit`: name -> (size, members), where members
        is name -> (offset, size, structure or None). A structure or union without a name is part of its member."""
        if unit not in self._structures:
            self._structures[unit] = self._read_structures(unit)
        return self._structures[unit]

    def _number(self, at):
        value = shift = 0
        while True:
            byte = self.data[at]
            value |= (byte & 127) << shift
            at, shift = at + 1, shift + 7
            if byte < 128:
                return value, at

    def _abbreviations(self, at):
        found = {}
        while True:
            code, at = self._number(at)
            if not code:
                return found
            tag, at = self._number(at)
            has_children, at = self.data[at], at + 1
            attributes = []
            while True:
                name, at = self._number(at)
                form, at = self._number(at)
                if not form:
                    break
                attributes.append((name, form))
            found[code] = tag, has_children, attributes

    def _value(self, form, at):
        """Returns the value, or None for a form that is not needed, and the offset after it."""
        if form in FIXED:
            return int.from_bytes(self.data[at:at + FIXED[form]], "little"), at + FIXED[form]
        if form == STRP:
            offset, = struct.unpack_from("<I", self.data, at)
            return self.sections[".debug_str"][0] + offset, at + 4
        if form == PRESENT:
            return 1, at
        if form in (UDATA, SDATA, REF_UDATA):
            return self._number(at)
        if form == STRING:
            return at, self.data.find(b"\0", at) + 1
        if form in (BLOCK, EXPRESSION):
            length, at = self._number(at)
        else:
            width = {BLOCK1: 1, BLOCK2: 2, BLOCK4: 4}[form]
            length, at = int.from_bytes(self.data[at:at + width], "little"), at + width
        return None, at + length

    def _entries(self, start, at, end, abbreviations):
        """Yields (offset in the unit, depth, tag, attributes) of each entry. Names are offsets of their texts."""
        depth = 0
        while at < end:
            offset = at - start
            code, at = self._number(at)
            if not code:
                depth -= 1
                continue
            tag, has_children, wanted = abbreviations[code]
            attributes = {}
            for name, form in wanted:
                attributes[name], at = self._value(form, at)
            yield offset, depth, tag, attributes
            depth += has_children

    def _read_structures(self, unit):
        start, size = self.sections[".debug_info"]
        end = start + size
        while start < end:
            length, version, abbreviations, _ = struct.unpack_from("<IHIB", self.data, start)
            assert version == 4, f"DWARF {version}"
            table = self._abbreviations(self.sections[".debug_abbrev"][0] + abbreviations)
            entries = self._entries(start, start + 11, start + 4 + length, table)
            first = next(entries)
            if self._text(first[3][NAME]).endswith(unit):
                return self._collect(entries)
            start += 4 + length
        raise LookupError(f"the library has no debug information of {unit}")

    def _collect(self, entries):
        kinds, around = {}, []
        for offset, depth, tag, attributes in entries:
            del around[depth - 1:]
            around.append(offset)
            name = self._text(attributes[NAME]) if attributes.get(NAME) else ""
            kinds[offset] = tag, name, attributes, []
            if tag == MEMBER and OFFSET in attributes or tag == MEMBER and depth > 1 and kinds[around[-2]][0] == UNION:
                kinds[around[-2]][3].append(offset)
        return {name: self._structure(kinds, offset) for offset, (tag, name, attributes, members) in kinds.items()
                if tag in (STRUCTURE, UNION, CLASS) and members and name} | {
            name: self._structure(kinds, attributes[TYPE]) for tag, name, attributes, _ in kinds.values()
            if tag == TYPEDEF and attributes.get(TYPE) in kinds and kinds[attributes[TYPE]][3]}

    def _structure(self, kinds, offset):
        members = {}
        for member in kinds[offset][3]:
            _, name, attributes, _ = kinds[member]
            at, of = attributes.get(OFFSET, 0), attributes[TYPE]
            while kinds[of][0] in (TYPEDEF, 0x26, 0x35):  # const and volatile
                of = kinds[of][2].get(TYPE)
            inner = self._structure(kinds, of) if kinds[of][0] in (STRUCTURE, UNION) and not kinds[of][1] else None
            if not name:  # the members of a union without a name belong to the structure
                members |= {key: (at + place, *rest) for key, (place, *rest) in inner[1].items()}
            else:
                members[name] = at, kinds[of][2].get(SIZE), inner and inner[1]
        return kinds[offset][2].get(SIZE), members


def offset_of(library, path):
    """Returns the offset of a member such as ncclInfo.comm, or the value of a symbol."""
    name, *members = path.split(".")
    if not members:
        return library.symbols()[name]
    inside = library.structures()[name][1]
    offset = 0
    for member in members:
        place, _, inner = inside[member]
        offset, inside = offset + place, inner
    return offset


if __name__ == "__main__":
    of = Library(sys.argv[1])
    for wanted in sys.argv[2:]:
        print(wanted, offset_of(of, wanted))
