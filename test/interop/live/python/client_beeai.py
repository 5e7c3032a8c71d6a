"""A2AAgent of BeeAI: what its user sees, streamed and not."""

import asyncio
import sys

from beeai_framework.adapters.a2a.agents import A2AAgent
from beeai_framework.memory import UnconstrainedMemory
from checks import expect, run_checks


async def main(url):
    async def shown(agent, text, streaming=True):
        return (await agent.run(text, streaming=streaming)).last_message.text

    def create():
        return A2AAgent(url=url, memory=UnconstrainedMemory())

    async def send_text():
        for streaming in [True, False]:
            expect(await shown(create(), 'echo grüße', streaming), 'grüße')

    async def stream():
        expect(await shown(create(), 'stream'), 'onetwothree')

    async def both():
        for streaming in [True, False]:
            expect('numbers' in await shown(create(), 'both', streaming), True)

    async def question():
        agent = create()
        expect(await shown(agent, 'ask'), 'Which colour?')
        expect(await shown(agent, 'green'), 'You chose green.')

    await run_checks({'text': send_text, 'streaming': stream, 'answer': both, 'question': question})


asyncio.run(main(sys.argv[1]))
