"""A2AAgent of Microsoft's Agent Framework: what its user sees, streamed and not."""

import asyncio
import sys

import httpx
from a2a.client import A2ACardResolver
from agent_framework_a2a import A2AAgent
from checks import expect, run_checks


async def main(url, transport):
    async with httpx.AsyncClient(timeout=20) as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        # The framework names itself in the requests of its own HTTP client.
        options = {'agent_card': card, 'url': url, 'supported_protocol_bindings': [transport]}

        async def shown(text, session=None, streaming=False):
            agent = A2AAgent(**options)
            if not streaming:
                return (await agent.run(text, session=session)).text
            return ''.join([update.text async for update in agent.run(text, session=session, stream=True)])

        async def read_card():
            expect(A2AAgent(**options).name, 'Interop')

        async def send_text():
            for streaming in [True, False]:
                expect(await shown('echo grüße', streaming=streaming), 'grüße')

        async def stream():
            expect(await shown('stream', streaming=True), 'onetwothree')
            expect(await shown('stream'), 'onetwothree')

        async def both():
            for streaming in [True, False]:
                expect('numbers' in await shown('both', streaming=streaming), True)

        async def question():
            session = A2AAgent(**options).create_session()
            # The question is shown once, and not again after the answer.
            expect(await shown('ask', session, streaming=True), 'Which colour?')
            expect(await shown('green', session, streaming=True), 'You chose green.')

        async def unstreamed():
            session = A2AAgent(**options).create_session()
            expect(await shown('ask', session), 'Which colour?')
            expect(await shown('green', session), 'You chose green.')

        await run_checks({
            'card': read_card,
            'text': send_text,
            'streaming': stream,
            'answer': both,
            'question': question,
            'unstreamed question': unstreamed,
        })


asyncio.run(main(*sys.argv[1:3]))
