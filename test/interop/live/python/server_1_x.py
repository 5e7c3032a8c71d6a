"""The server of a2a-sdk 1.x over the transport that its argument names. Prints its address."""

import asyncio
import socket
import sys

import grpc
import uvicorn
from a2a.helpers import new_task_from_user_message, new_text_message
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryPushNotificationConfigStore, InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Part, TaskState
from a2a.types import a2a_pb2_grpc
from starlette.applications import Starlette


class Executor(AgentExecutor):
    async def execute(self, context, event_queue):
        said = context.get_user_input()
        if said.startswith('echo '):
            await event_queue.enqueue_event(new_text_message(said[5:], context_id=context.context_id))
            return
        task = context.current_task
        if task is None:
            task = new_task_from_user_message(context.message)
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        if task.status.state == TaskState.TASK_STATE_INPUT_REQUIRED:
            await updater.complete(updater.new_agent_message([Part(text=f'You chose {said}.')]))
            return
        await updater.start_work()
        if said.startswith('file'):
            files = [part for part in context.message.parts if part.HasField('raw')]
            await updater.add_artifact(files, name='file')
        elif said == 'stream':
            for number, chunk in enumerate(['one', 'two', 'three']):
                parts = [Part(text=chunk)]
                await updater.add_artifact(parts, artifact_id='chunks', append=number > 0, last_chunk=number == 2)
        elif said == 'ask':
            await updater.requires_input(updater.new_agent_message([Part(text='Which colour?')]))
            return
        elif said == 'wait':
            await asyncio.sleep(600)
        await updater.complete()

    async def cancel(self, context, event_queue):
        task = context.current_task
        await TaskUpdater(event_queue, task.id, task.context_id).cancel()


def create_card(transport, url):
    return AgentCard(
        name='Interop',
        description='Answers the checks of Parley.',
        version='1.0.0',
        default_input_modes=['text/plain'],
        default_output_modes=['text/plain'],
        capabilities=AgentCapabilities(streaming=True, push_notifications=True),
        skills=[AgentSkill(id='checks', name='Checks', description='Answers checks.', tags=['test'])],
        supported_interfaces=[AgentInterface(url=url, protocol_binding=transport, protocol_version='1.0')],
    )


def create_handler(card):
    return DefaultRequestHandler(
        agent_executor=Executor(),
        task_store=InMemoryTaskStore(),
        agent_card=card,
        push_config_store=InMemoryPushNotificationConfigStore(),
    )


async def start_grpc():
    server = grpc.aio.server()
    card = create_card('GRPC', f'127.0.0.1:{server.add_insecure_port("127.0.0.1:0")}')
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(create_handler(card)), server)
    await server.start()
    return card, server


async def main(transport):
    listener = socket.create_server(('127.0.0.1', 0))
    url = f'http://127.0.0.1:{listener.getsockname()[1]}/'
    card, routes, server = create_card(transport, url), [], None
    if transport == 'GRPC':
        # The server ends when nothing refers to it any more.
        card, server = await start_grpc()
    elif transport == 'HTTP+JSON':
        routes = create_rest_routes(create_handler(card))
    else:
        routes = create_jsonrpc_routes(create_handler(card), '/')
    app = Starlette(routes=[*create_agent_card_routes(card), *routes])
    print(url, flush=True)
    await uvicorn.Server(uvicorn.Config(app, log_level='error')).serve(sockets=[listener])
    del server


asyncio.run(main(sys.argv[1]))
