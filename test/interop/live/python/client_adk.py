"""RemoteA2aAgent of Google ADK: what its user sees."""

import asyncio
import logging
import sys

from checks import expect, run_checks
from google.adk.agents.remote_a2a_agent import RemoteA2aAgent
from google.adk.runners import InMemoryRunner
from google.genai import types

logging.disable(logging.INFO)


async def main(url):
    agent = RemoteA2aAgent(name='remote', agent_card=f'{url}/.well-known/agent-card-http.json')
    runner = InMemoryRunner(agent=agent, app_name='interop')

    async def say(session, text):
        content = types.Content(role='user', parts=[types.Part(text=text)])
        events = [e async for e in runner.run_async(user_id='u', session_id=session.id, new_message=content)]
        failures = [event.error_message for event in events if event.error_message]
        if failures:
            raise AssertionError(failures[0])
        # What the session keeps: the last chunk of an artifact replaces the others.
        events = [event for event in events if not event.partial]
        parts = [part for event in events if event.content for part in event.content.parts or []]
        return [text for part in parts if not part.thought for text in texts_in(part)]

    def texts_in(part):
        # A question is the argument of a call that the user answers.
        call = part.function_call
        return [part.text] if part.text else [str(value) for value in (call.args or {}).values()] if call else []

    def session():
        return runner.session_service.create_session(app_name='interop', user_id='u')

    async def send_text():
        expect(await say(await session(), 'echo grüße'), ['grüße'])

    async def stream():
        expect(''.join(await say(await session(), 'stream')).startswith('onetwothree'), True)

    async def both():
        # ADK 1 shows only the artifact, ADK 2 also the remark beside it.
        expect('numbers' in await say(await session(), 'both'), True)

    async def question():
        current = await session()
        expect('Which colour?' in ' '.join(await say(current, 'ask')), True)

    await run_checks({'text': send_text, 'streaming': stream, 'answer': both, 'question': question})


asyncio.run(main(sys.argv[1]))
