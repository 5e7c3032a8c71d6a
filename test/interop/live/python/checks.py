"""What every Python client does with the test agent: runs checks and prints each result as a line of JSON."""

import asyncio
import base64
import json
import sys
import traceback

# The second file is a base64 text itself.
FILES = [bytes(range(256)), b'aGVsbG8gd29ybGQh']


def expect(actual, expected):
    if actual != expected:
        raise AssertionError(f'expected {expected!r}, got {actual!r}')


async def run_checks(checks):
    for name, check in checks.items():
        line = {'check': name, 'ok': True}
        try:
            await asyncio.wait_for(check(), 20)
        except Exception as error:
            print(traceback.format_exc(), file=sys.stderr)
            line = {'check': name, 'ok': False, 'detail': f'{type(error).__name__}: {error}'[:300]}
        print(json.dumps(line), flush=True)


def encoded(data):
    return base64.b64encode(data).decode()
