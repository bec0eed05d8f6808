# SPDX-License-Identifier: MIT
"""`flowtap doctor`, run and read; for the tests of it."""

import json

import harness


class Verdict:
    """What one `flowtap doctor` said, read from its JSON and checked to be the same as its text."""

    def __init__(self, words, options):
        done = harness.call([harness.FLOWTAP, "doctor", "--json", *words], **options)
        assert done.returncode in (0, 1), (done.returncode, done.stderr)
        self.document = json.loads(done.stdout)
        self.checks, self.status, self.stderr = self.document["checks"], done.returncode, done.stderr
        assert self.document["ok"] == (done.returncode == 0) == all(c["ok"] for c in self.checks)
        assert self.document["problems"] == len(self.of("problem"))
        assert self.document["notes"] == len(self.of("note"))
        for check in self.checks:
            assert check["name"] and check["what"] and "\n" not in check["what"], check
            assert check["advice"] or check["severity"] != "problem", check

    def of(self, severity, name=None):
        return [c for c in self.checks if c["severity"] == severity and name in (None, c["name"])]

    def problem(self, name):
        """The only problem, which is of this check."""
        found = self.of("problem")
        assert [c["name"] for c in found] == [name], found
        assert self.status == 1
        return line(found[0])

    def note(self, name):
        assert not self.of("problem"), self.of("problem")
        found = self.of("note", name)
        assert len(found) == 1, self.of("note")
        return line(found[0])


def line(check):
    return f"{check['what']}; {check['advice']}"


def doctor(*words, env=None, **options):
    return Verdict(words, {"env": env or harness.clean_environment(), **options})


def run_text(*words, **options):
    return harness.call([harness.FLOWTAP, "doctor", *words], **options)


def with_service(tap, *settings, **changes):
    """An environment in which everything is well, and its daemon."""
    daemon = tap.daemon(*settings)
    return daemon, daemon.env(**changes)


def compiled(tap, name, *flags):
    source = tap.folder / f"{name}.c"
    source.write_text("int main(void) { return 0; }\n")
    done = harness.call(["gcc", "-o", tap.work / name, source, *flags])
    harness.needs(done.returncode == 0, f"gcc {' '.join(flags)} does not work here")
    return tap.work / name
