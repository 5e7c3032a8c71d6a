"""The client of fasta2a, which posts to the root of the agent."""

import asyncio
import sys
import uuid

import httpx
from checks import expect, run_checks
from fasta2a.client import A2AClient


def message(text, **members):
    return {'role': 'user', 'message_id': str(uuid.uuid4()), 'parts': [{'text': text}], **members}


async def main(url):
    client = A2AClient(url, httpx.AsyncClient(timeout=20))

    async def send_text():
        answer = (await client.send_message(message('echo grüße')))['result']['message']
        expect(answer['parts'][0]['text'], 'grüße')

    async def question():
        task = (await client.send_message(message('ask')))['result']['task']
        expect(task['status']['message']['parts'][0]['text'], 'Which colour?')
        done = (await client.send_message(message('green', task_id=task['id'])))['result']['task']
        expect(done['artifacts'][-1]['parts'][0]['text'], 'You chose green.')
        expect((await client.get_task(task['id']))['result']['status']['state'], 'completed')

    async def stream():
        events = [event['result'] async for event in client.stream_message(message('stream'))]
        updates = [event['artifact_update'] for event in events if 'artifact_update' in event]
        chunks = [update['artifact']['parts'][0]['text'] for update in updates]
        expect(''.join(chunks), 'onetwothree')

    async def errors():
        expect((await client.get_task('no-such-task'))['error']['code'], -32001)

    await run_checks({'text': send_text, 'streaming': stream, 'question': question, 'errors': errors})


asyncio.run(main(sys.argv[1]))
