"""The client of a2a-sdk 0.2 over JSON-RPC."""

import asyncio
import base64
import sys
import uuid

import httpx
from a2a.client import A2ACardResolver, A2AClient
from a2a.types import (
    CancelTaskRequest,
    FilePart,
    FileWithBytes,
    GetTaskRequest,
    Message,
    MessageSendConfiguration,
    MessageSendParams,
    Part,
    Role,
    SendMessageRequest,
    SendStreamingMessageRequest,
    TaskIdParams,
    TaskQueryParams,
    TextPart,
)
from checks import FILES, encoded, expect, run_checks


def text(value):
    return Part(root=TextPart(text=value))


def params(*parts, task_id=None, blocking=True):
    message = Message(role=Role.user, parts=list(parts), messageId=str(uuid.uuid4()), taskId=task_id)
    configuration = MessageSendConfiguration(acceptedOutputModes=['text/plain'], blocking=blocking)
    return MessageSendParams(message=message, configuration=configuration)


async def main(url):
    async with httpx.AsyncClient(timeout=20) as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        client = A2AClient(http, agent_card=card)

        async def send(*parts, **options):
            request = SendMessageRequest(id=str(uuid.uuid4()), params=params(*parts, **options))
            return (await client.send_message(request)).root.result

        async def read_card():
            expect(card.name, 'Interop')

        async def send_text():
            expect((await send(text('echo grüße'))).parts[0].root.text, 'grüße')

        async def exchange_files():
            for content in FILES:
                bytes = FileWithBytes(bytes=encoded(content), mimeType='application/octet-stream', name='a.bin')
                task = await send(text('file'), Part(root=FilePart(file=bytes)))
                expect(task.artifacts[0].description, f'{len(content)} bytes')
                part = task.artifacts[0].parts[0].root
                expect(base64.b64decode(part.file.bytes), content)
                expect(part.file.name, 'a.bin')

        async def stream():
            request = SendStreamingMessageRequest(id='s', params=params(text('stream')))
            events = [event.root.result async for event in client.send_message_streaming(request)]
            chunks = [e.artifact.parts[0].root.text for e in events if e.kind == 'artifact-update']
            expect(''.join(chunks), 'onetwothree')
            expect(events[-1].status.state.value, 'completed')

        async def question():
            task = await send(text('ask'))
            expect(task.status.state.value, 'input-required')
            expect([part.root.text for part in task.status.message.parts], ['Which colour?'])
            done = await send(text('green'), task_id=task.id)
            expect(done.artifacts[-1].parts[0].root.text, 'You chose green.')

        async def cancel():
            task = await send(text('wait'), blocking=False)
            request = CancelTaskRequest(id='c', params=TaskIdParams(id=task.id))
            canceled = (await client.cancel_task(request)).root.result
            expect(canceled.status.state.value, 'canceled')

        async def errors():
            request = GetTaskRequest(id='e', params=TaskQueryParams(id='no-such-task'))
            expect((await client.get_task(request)).root.error.code, -32001)

        await run_checks({
            'card': read_card,
            'text': send_text,
            'files': exchange_files,
            'streaming': stream,
            'question': question,
            'cancel': cancel,
            'errors': errors,
        })


asyncio.run(main(sys.argv[1]))
