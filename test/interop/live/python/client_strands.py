"""A2AAgent of Strands Agents: what its user sees."""

import asyncio
import sys

from checks import expect, run_checks
from strands.agent.a2a_agent import A2AAgent


async def main(url):
    agent = A2AAgent(endpoint=url, timeout=20)

    async def shown(text):
        result = await agent.invoke_async(text)
        return ''.join(block['text'] for block in result.message['content']), result.stop_reason

    async def read_card():
        expect((await agent.get_agent_card()).name, 'Interop')

    async def send_text():
        expect((await shown('echo grüße'))[0], 'grüße')

    async def stream():
        expect((await shown('stream'))[0], 'onetwothree')

    async def both():
        text, _ = await shown('both')
        expect('See the report.' in text, True)

    async def question():
        expect(await shown('ask'), ('Which colour?', 'interrupt'))

    await run_checks({'card': read_card, 'text': send_text, 'streaming': stream, 'answer': both, 'question': question})


asyncio.run(main(sys.argv[1]))
