"""The server of a2a-sdk 0.2 and 0.3, over the transport that its argument names. Prints its address."""

import asyncio
import inspect
import socket
import sys

import uvicorn
from a2a.server.agent_execution import AgentExecutor
from a2a.server.apps import A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentSkill,
    Artifact,
    FilePart,
    Part,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
    TextPart,
)
from a2a.utils import new_agent_text_message, new_task


def text(value):
    return Part(root=TextPart(text=value))


async def settle(result):
    """Calls that were synchronous in the first versions are awaited in the later ones."""
    if inspect.isawaitable(result):
        await result


class Executor(AgentExecutor):
    async def execute(self, context, event_queue):
        said = context.get_user_input()
        if said.startswith('echo '):
            await settle(event_queue.enqueue_event(new_agent_text_message(said[5:], context.context_id)))
            return
        task = context.current_task
        if task is None:
            task = new_task(context.message)
            await settle(event_queue.enqueue_event(task))
        ids = {'taskId': task.id, 'contextId': context_of(task)}
        updater = TaskUpdater(event_queue, task.id, context_of(task))
        if task.status.state == TaskState.input_required:
            await settle(updater.complete(updater.new_agent_message([text(f'You chose {said}.')])))
            return
        await settle(updater.start_work())
        if said.startswith('file'):
            files = [part for part in context.message.parts if isinstance(part.root, FilePart)]
            await settle(updater.add_artifact(files, name='file'))
        elif said == 'stream':
            for number, chunk in enumerate(['one', 'two', 'three']):
                artifact = Artifact(artifactId='chunks', parts=[text(chunk)])
                order = {'append': number > 0, 'lastChunk': number == 2}
                await settle(event_queue.enqueue_event(TaskArtifactUpdateEvent(artifact=artifact, **order, **ids)))
        elif said == 'ask':
            message = updater.new_agent_message([text('Which colour?')])
            status = TaskStatus(state=TaskState.input_required, message=message)
            await settle(event_queue.enqueue_event(TaskStatusUpdateEvent(status=status, final=True, **ids)))
            return
        elif said == 'wait':
            await asyncio.sleep(600)
        await settle(updater.complete())

    async def cancel(self, context, event_queue):
        task = context.current_task
        status = TaskStatus(state=TaskState.canceled)
        event = TaskStatusUpdateEvent(status=status, final=True, taskId=task.id, contextId=context_of(task))
        await settle(event_queue.enqueue_event(event))


def context_of(task):
    return getattr(task, 'context_id', None) or task.contextId


def push_store():
    try:
        from a2a.server.tasks import InMemoryPushNotificationConfigStore

        return {'push_config_store': InMemoryPushNotificationConfigStore()}
    except ImportError:
        import httpx
        from a2a.server.tasks import InMemoryPushNotifier

        return {'push_notifier': InMemoryPushNotifier(httpx.AsyncClient())}


def create_card(transport, url):
    return AgentCard(
        name='Interop',
        description='Answers the checks of Parley.',
        url=url,
        version='1.0.0',
        defaultInputModes=['text/plain'],
        defaultOutputModes=['text/plain'],
        capabilities=AgentCapabilities(streaming=True, pushNotifications=True),
        skills=[AgentSkill(id='checks', name='Checks', description='Answers checks.', tags=['test'])],
        # The versions before 0.3 ignore it.
        preferredTransport=transport,
    )


async def start_grpc(handler):
    import grpc
    from a2a.grpc import a2a_pb2_grpc
    from a2a.server.request_handlers import GrpcHandler

    server = grpc.aio.server()
    address = f'127.0.0.1:{server.add_insecure_port("127.0.0.1:0")}'
    card = create_card('GRPC', address)
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(card, handler), server)
    await server.start()
    return card, server


async def main(transport):
    listener = socket.create_server(('127.0.0.1', 0))
    url = f'http://127.0.0.1:{listener.getsockname()[1]}/'
    handler = DefaultRequestHandler(agent_executor=Executor(), task_store=InMemoryTaskStore(), **push_store())
    card = create_card(transport, url)
    # The server ends when nothing refers to it any more.
    server = None
    if transport == 'GRPC':
        card, server = await start_grpc(handler)
    if transport == 'HTTP+JSON':
        from a2a.server.apps import A2ARESTFastAPIApplication

        app = A2ARESTFastAPIApplication(agent_card=card, http_handler=handler).build()
    else:
        app = A2AStarletteApplication(agent_card=card, http_handler=handler).build()
    print(url, flush=True)
    await uvicorn.Server(uvicorn.Config(app, log_level='error')).serve(sockets=[listener])
    del server


asyncio.run(main(sys.argv[1]))
