"""The client of python-a2a, which speaks a form of its own."""

import asyncio
import sys

from checks import expect, run_checks
from python_a2a import A2AClient


async def main(url):
    client = A2AClient(url)

    async def read_card():
        expect(client.get_agent_card().name, 'Interop')

    async def send_text():
        expect(await asyncio.to_thread(client.ask, 'echo grüße'), 'grüße')

    await run_checks({'card': read_card, 'text': send_text})


asyncio.run(main(sys.argv[1]))
