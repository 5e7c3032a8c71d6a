"""The client of a2a-sdk 0.3, over the transport that the second argument names."""

import asyncio
import base64
import sys
import uuid

import grpc
import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import (
    FilePart,
    FileWithBytes,
    Message,
    Part,
    Role,
    TaskIdParams,
    TaskQueryParams,
    TextPart,
    TransportProtocol,
)
from checks import FILES, encoded, expect, run_checks

TRANSPORTS = {
    'JSONRPC': TransportProtocol.jsonrpc,
    'HTTP+JSON': TransportProtocol.http_json,
    'GRPC': TransportProtocol.grpc,
}


def text(value):
    return Part(root=TextPart(text=value))


async def main(url, transport):
    async with httpx.AsyncClient(timeout=20) as http:
        card = await A2ACardResolver(http, url).get_agent_card()

        def create(streaming, polling=False):
            config = ClientConfig(
                streaming=streaming,
                polling=polling,
                httpx_client=http,
                grpc_channel_factory=grpc.aio.insecure_channel,
                supported_transports=[TRANSPORTS[transport]],
            )
            return ClientFactory(config).create(card)

        client = create(False)

        async def send(*parts, task_id=None, by=client):
            message = Message(role=Role.user, parts=list(parts), message_id=str(uuid.uuid4()), task_id=task_id)
            events = [event async for event in by.send_message(message)]
            return events

        async def task_of(*parts, **options):
            return (await send(*parts, **options))[-1][0]

        async def read_card():
            expect(card.name, 'Interop')

        async def send_text():
            expect((await send(text('echo grüße')))[0].parts[0].root.text, 'grüße')

        async def exchange_files():
            for content in FILES:
                bytes = FileWithBytes(bytes=encoded(content), mime_type='application/octet-stream', name='a.bin')
                task = await task_of(text('file'), Part(root=FilePart(file=bytes)))
                expect(task.artifacts[0].description, f'{len(content)} bytes')
                part = task.artifacts[0].parts[0].root
                expect(base64.b64decode(part.file.bytes), content)

        async def stream():
            events = await send(text('stream'), by=create(True))
            updates = [update for _, update in events if update and update.kind == 'artifact-update']
            expect(''.join(update.artifact.parts[0].root.text for update in updates), 'onetwothree')
            expect(events[-1][0].status.state.value, 'completed')

        async def question():
            task = await task_of(text('ask'))
            expect(task.status.state.value, 'input-required')
            expect([part.root.text for part in task.status.message.parts], ['Which colour?'])
            done = await task_of(text('green'), task_id=task.id)
            expect(done.artifacts[-1].parts[0].root.text, 'You chose green.')

        async def cancel():
            task = await task_of(text('wait'), by=create(False, polling=True))
            canceled = await client.cancel_task(TaskIdParams(id=task.id))
            expect(canceled.status.state.value, 'canceled')

        async def errors():
            try:
                await client.get_task(TaskQueryParams(id='no-such-task'))
            except Exception as error:
                if 'not found' not in str(error).lower():
                    raise AssertionError(f'the error does not say what is missing: {error}') from error
            else:
                raise AssertionError('expected an error')

        await run_checks({
            'card': read_card,
            'text': send_text,
            'files': exchange_files,
            'streaming': stream,
            'question': question,
            'cancel': cancel,
            'errors': errors,
        })


asyncio.run(main(*sys.argv[1:3]))
