"""The client of a2a-sdk 1.x, over the transport that the second argument names."""

import asyncio
import sys
import uuid

import grpc
import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    TaskState,
)
from checks import FILES, expect, run_checks


async def main(url, transport):
    async with httpx.AsyncClient(timeout=20) as http:
        card = await A2ACardResolver(http, url).get_agent_card()

        def create(streaming):
            config = ClientConfig(
                streaming=streaming,
                httpx_client=http,
                grpc_channel_factory=grpc.aio.insecure_channel,
                supported_protocol_bindings=[transport],
            )
            return ClientFactory(config).create(card)

        client = create(False)

        async def send(*parts, task_id=None, by=client, wait=True):
            message = Message(role=Role.ROLE_USER, parts=list(parts), message_id=str(uuid.uuid4()), task_id=task_id)
            configuration = SendMessageConfiguration(return_immediately=not wait)
            request = SendMessageRequest(message=message, configuration=configuration)
            return [event async for event in by.send_message(request)]

        async def task_of(*parts, **options):
            return (await send(*parts, **options))[-1].task

        async def read_card():
            expect(card.name, 'Interop')

        async def send_text():
            expect((await send(Part(text='echo grüße')))[0].message.parts[0].text, 'grüße')

        async def exchange_files():
            for content in FILES:
                file = Part(raw=content, media_type='application/octet-stream', filename='a.bin')
                task = await task_of(Part(text='file'), file)
                expect(task.artifacts[0].description, f'{len(content)} bytes')
                part = task.artifacts[0].parts[0]
                expect(part.raw, content)
                expect(part.filename, 'a.bin')

        async def stream():
            events = await send(Part(text='stream'), by=create(True))
            chunks = [e.artifact_update.artifact.parts[0].text for e in events if e.HasField('artifact_update')]
            expect(''.join(chunks), 'onetwothree')
            expect(events[-1].status_update.status.state, TaskState.TASK_STATE_COMPLETED)

        async def question():
            task = await task_of(Part(text='ask'))
            expect(task.status.state, TaskState.TASK_STATE_INPUT_REQUIRED)
            expect([part.text for part in task.status.message.parts], ['Which colour?'])
            done = await task_of(Part(text='green'), task_id=task.id)
            expect(done.artifacts[-1].parts[0].text, 'You chose green.')

        async def cancel():
            task = await task_of(Part(text='wait'), wait=False)
            canceled = await client.cancel_task(CancelTaskRequest(id=task.id))
            expect(canceled.status.state, TaskState.TASK_STATE_CANCELED)

        async def errors():
            try:
                await client.get_task(GetTaskRequest(id='no-such-task'))
            except Exception as error:
                expect(type(error).__name__, 'TaskNotFoundError')
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
