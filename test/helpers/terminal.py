"""Runs a command in a pseudo-terminal. argv: a JSON list of [text to wait for, text to type], then the command.

Prints JSON: the exit code (128 + signal where one ended it) and everything that the terminal showed.
"""

import json
import os
import pty
import select
import sys
import time

WAIT_S = 280  # below the timeout of a test


def main() -> None:
    steps = json.loads(sys.argv[1])
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(sys.argv[2], sys.argv[2:])
    shown, seen = b"", 0
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        ready, _, _ = select.select([terminal], [], [], 0.1)
        if ready:
            try:
                part = os.read(terminal, 65536)
            except OSError:  # the command has closed the terminal
                break
            if not part:
                break
            shown += part
        if steps:
            at = shown.find(steps[0][0].encode(), seen)
            if at >= 0:
                wanted, typed = steps.pop(0)
                seen = at + len(wanted.encode())
                os.write(terminal, typed.encode())
    else:
        os.kill(pid, 9)
    _, status = os.waitpid(pid, 0)
    exit_code = os.waitstatus_to_exitcode(status)
    json.dump({"exit": exit_code if exit_code >= 0 else 128 - exit_code, "shown": shown.decode()}, sys.stdout)


main()
