"""The server of a2a-sdk 0.2 and 0.3 over JSON-RPC. Prints its address."""

import asyncio
import socket

import uvicorn
from a2a.server.agent_execution import AgentExecutor
from a2a.server.apps import A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentSkill, FilePart, Part, TaskState, TextPart
from a2a.utils import new_agent_text_message, new_task


def text(value):
    return Part(root=TextPart(text=value))


class Executor(AgentExecutor):
    async def execute(self, context, event_queue):
        said = context.get_user_input()
        if said.startswith('echo '):
            await event_queue.enqueue_event(new_agent_text_message(said[5:], context.context_id))
            return
        task = context.current_task
        if task is None:
            task = new_task(context.message)
            await event_queue.enqueue_event(task)
        context_id = getattr(task, 'context_id', None) or task.contextId
        updater = TaskUpdater(event_queue, task.id, context_id)
        if task.status.state == TaskState.input_required:
            await updater.complete(updater.new_agent_message([text(f'You chose {said}.')]))
            return
        await updater.start_work()
        if said.startswith('file'):
            files = [part for part in context.message.parts if isinstance(part.root, FilePart)]
            await updater.add_artifact(files, name='file')
        elif said == 'stream':
            for number, chunk in enumerate(['one', 'two', 'three']):
                await updater.add_artifact([text(chunk)], artifact_id='chunks', append=number > 0, last_chunk=number == 2)
        elif said == 'ask':
            message = updater.new_agent_message([text('Which colour?')])
            await updater.update_status(TaskState.input_required, message, final=True)
            return
        elif said == 'wait':
            await asyncio.sleep(600)
        await updater.complete()

    async def cancel(self, context, event_queue):
        task = context.current_task
        updater = TaskUpdater(event_queue, task.id, getattr(task, 'context_id', None) or task.contextId)
        await updater.update_status(TaskState.canceled, final=True)


def main():
    listener = socket.create_server(('127.0.0.1', 0))
    url = f'http://127.0.0.1:{listener.getsockname()[1]}/'
    card = AgentCard(
        name='Interop',
        description='Answers the checks of Parley.',
        url=url,
        version='1.0.0',
        defaultInputModes=['text/plain'],
        defaultOutputModes=['text/plain'],
        capabilities=AgentCapabilities(streaming=True),
        skills=[AgentSkill(id='checks', name='Checks', description='Answers checks.', tags=['test'])],
    )
    handler = DefaultRequestHandler(agent_executor=Executor(), task_store=InMemoryTaskStore())
    app = A2AStarletteApplication(agent_card=card, http_handler=handler).build()
    print(url, flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level='error')).run(sockets=[listener])


main()
