"""Check a certificate of folkmoot without folkmoot: python verify_certificate.py motion.json roster.toml."""

import base64
import hashlib
import json
import struct
import sys
import tomllib
from collections import Counter
from pathlib import Path

from cryptography import x509


def check(fine, what):
    if not fine:
        raise ValueError(f"the certificate does not hold: {what}")


def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def raw(text):
    data = base64.b64decode(text)
    check(base64.b64encode(data).decode() == text, "base64")
    return data


def unpack(data):  # msgpack: arrays, texts, bytes, numbers, nil, false and true
    def take(many):
        nonlocal at
        at += many
        check(at <= len(data), "msgpack")
        return data[at - many : at]

    def number(many):
        return int.from_bytes(take(many), "big")

    def value():
        first = number(1)
        if first < 0x80:
            return first
        if first in (0xC0, 0xC2, 0xC3):
            return (None, None, False, True)[first - 0xC0]
        if first == 0xCB:
            return struct.unpack(">d", take(8))[0]
        if 0xCC <= first <= 0xCF:
            return number(1 << first - 0xCC)
        if 0xC4 <= first <= 0xC6:
            return take(number(1 << first - 0xC4))
        if 0xA0 <= first < 0xC0 or 0xD9 <= first <= 0xDB:
            return take(first - 0xA0 if first < 0xC0 else number(1 << first - 0xD9)).decode()
        check(0x90 <= first < 0xA0 or first in (0xDC, 0xDD), "msgpack")
        return [value() for _ in range(first - 0x90 if first < 0xA0 else number(2 << first - 0xDC))]

    at = 0
    found = value()
    check(at == len(data), "msgpack")
    return found


def read_roster(path):  # (digest, f, keys in order)
    table = tomllib.loads(Path(path).read_text("utf-8"))
    epoch, f = table.get("epoch", 0), table.get("faults")
    line = struct.pack(">Q", epoch) + bytes.fromhex(table.get("previous", ""))
    told = b"folkmoot roster 2\n" + line if epoch else b"folkmoot roster 1\n"
    told, keys = told if f is None else b"folkmoot roster 3\n" + struct.pack(">I", f) + line, []
    for each in sorted(table["participants"], key=lambda each: each["name"]):
        der = base64.b64decode(each["certificate"])
        for text in (each["name"], each.get("organisation", ""), hashlib.sha256(der).hexdigest()):
            told += struct.pack(">I", len(text.encode())) + text.encode()
        keys.append(x509.load_der_x509_certificate(der).public_key())
    return sha(told), (len(keys) - 1) // 3 if f is None else f, keys


def verify(certificate, roster):  # the label of each input, None where it is undecided
    text = Path(certificate).read_bytes().decode()
    told = json.loads(text)
    check(json.dumps(told, sort_keys=True, separators=(",", ":")) + "\n" == text, "its format")
    (moot, f, keys), head = read_roster(roster), raw(told["header"])
    n, motion, header = len(keys), sha(b"folkmoot/3 motion\n", head), unpack(head)
    keys[header[1]].verify(raw(told["signature"]), b"folkmoot/3 asked\n" + motion)
    check(told["format"] == "folkmoot certificate 2" and told["motion"] == motion.hex(), "its name")
    terms, inputs, before, tables = header[4], header[5], bytes(32), []
    answers, labels, rule, _, least, coin, believe, _, protocol = terms[:9]
    check(header[0] == moot, "it is of another moot")
    check(answers == "labels" and rule in ("", "plurality"), "this program only counts labels")
    check(header[10:12] == [b"", 0], "this program knows no validation rows")
    check(len(told["polls"]) == 1 + (believe == "own" or protocol != ""), "its polls")

    def signed(member, kind, poll, stage, number, value, signature):
        fields = struct.pack(">IBBBIi", member, kind, poll, stage, number, -1)
        keys[member].verify(signature, b"folkmoot/3 said\n" + motion + fields + value)

    def agreed(poll, stage, part):
        places = [place for place, _ in part["precommits"]]
        check(len(places) == (n + f) // 2 + 1 and places == sorted({*places}), "a quorum")
        check(part["precommits"] and places[0] >= 0 and places[-1] < n, "a quorum")
        value = sha(b"folkmoot/3 set\n", motion, bytes([poll, stage]), raw(part["set"]))
        for place, signature in part["precommits"]:
            signed(place, 3, poll, stage, part["round"], value, raw(signature))
        return value, unpack(raw(part["set"]))

    seed = b""
    for poll, part in enumerate(told["polls"]):
        first, (_, entries) = agreed(poll, 0, part["commitments"])
        second, (about, bits) = agreed(poll, 1, part["reveals"])
        seed = first if poll == 0 else seed
        check(len(entries) == n and sum(len(entry) == 1 for entry in entries) >= n - f, "the set")
        for member, entry in enumerate(entries):
            check(len(entry) < 2 or (len(entry) == 2 and entry[0][0] < entry[1][0]), "a struck member")
            for value, signature in entry:
                signed(member, 0, poll, 0, 0, value, signature)
        there = [i for i in range(8 * len(bits)) if bits[i // 8] >> i % 8 & 1]
        check(about == first and len(there) == len(part["opened"]), "the reveals")
        check(all(i < n and len(entries[i]) == 1 for i in there), "a reveal")
        check(len(there) >= sum(len(entry) == 1 for entry in entries) - f, "too few reveals")
        width, table = len(labels).bit_length(), []
        for member, shown in zip(there, part["opened"], strict=False):
            salt, votes = raw(shown["salt"]), raw(shown["votes"])
            place = struct.pack(">BI", poll, member)
            value = sha(b"folkmoot/3 commitment\n", motion, place, before, salt, votes)
            check(value == entries[member][0][0], "votes that do not open their commitment")
            whole = int.from_bytes(votes, "little")
            row = [(whole >> i * width & (1 << width) - 1) - 1 for i in range(inputs)]
            check(len(votes) in (0, (inputs * width + 7) // 8), "a ballot")
            check(whole >> inputs * width == 0 and max(row) < len(labels), "a ballot")
            table.append(row)
        before, tables = second, [*tables, table]

    found = []
    for i in range(inputs):
        first, last = (Counter(row[i] for row in t if row[i] >= 0) for t in (tables[0], tables[-1]))
        enough = [c for c in last if last[c] >= (least or f + 1 if len(tables) == 1 else f + 1)]
        best = sorted(c for c in enough if last[c] == max(last[c] for c in enough))
        drawn = int.from_bytes(sha(seed, struct.pack(">Q", i)), "big")
        one = best[drawn % len(best) if coin else 0] if len(best) == 1 or (best and coin) else None
        found.append(labels[one] if one is not None and first[one] >= (least or f + 1) else None)
    return found


if __name__ == "__main__" and len(sys.argv) == 3:
    print(*verify(*sys.argv[1:]), sep="\n")
