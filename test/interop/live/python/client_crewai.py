"""The delegation of CrewAI to a remote agent: what its agents get."""

import asyncio
import os
import sys

os.environ['CREWAI_DISABLE_TELEMETRY'] = 'true'
os.environ['OTEL_SDK_DISABLED'] = 'true'

from checks import expect, run_checks
from crewai.a2a.utils.delegation import aexecute_a2a_delegation


async def main(url):
    async def delegate(text, **options):
        endpoint = f'{url}/.well-known/agent-card.json'
        return await aexecute_a2a_delegation(endpoint, None, 20, text, turn_number=1, **options)

    async def send_text():
        expect((await delegate('echo grüße'))['result'], 'grüße')

    async def stream():
        expect((await delegate('stream'))['result'].replace(' ', ''), 'onetwothree')

    async def both():
        expect((await delegate('both'))['result'], 'numbers See the report.')

    async def question():
        asked = await delegate('ask')
        expect((asked['status'].value, asked['error']), ('input-required', 'Which colour?'))
        answer = await delegate('green', task_id=asked['history'][-1].task_id, context_id=asked['history'][-1].context_id)
        expect('You chose green.' in answer['result'], True)

    await run_checks({'text': send_text, 'streaming': stream, 'answer': both, 'question': question})


asyncio.run(main(sys.argv[1]))
