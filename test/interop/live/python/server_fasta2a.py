"""The server of fasta2a. Prints its address."""

import socket
import uuid
from contextlib import asynccontextmanager

import uvicorn
from fasta2a import FastA2A, Worker
from fasta2a.broker import InMemoryBroker
from fasta2a.storage import InMemoryStorage


class EchoWorker(Worker):
    async def run_task(self, params):
        task = await self.storage.load_task(params['id'])
        await self.storage.update_task(task['id'], state='working')
        said = task['history'][-1]['parts'][0]['text']
        artifact = {'artifact_id': str(uuid.uuid4()), 'parts': [{'kind': 'text', 'text': said.removeprefix('echo ')}]}
        await self.storage.update_task(task['id'], state='completed', new_artifacts=[artifact])

    async def cancel_task(self, params):
        await self.storage.update_task(params['id'], state='canceled')

    def build_message_history(self, history):
        return history

    def build_artifacts(self, result):
        return []


storage = InMemoryStorage()
broker = InMemoryBroker()
worker = EchoWorker(storage=storage, broker=broker)


@asynccontextmanager
async def lifespan(app):
    async with app.task_manager:
        async with worker.run():
            yield


def main():
    listener = socket.create_server(('127.0.0.1', 0))
    url = f'http://127.0.0.1:{listener.getsockname()[1]}'
    app = FastA2A(storage=storage, broker=broker, name='Interop', url=url, lifespan=lifespan)
    print(url, flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level='error')).run(sockets=[listener])


main()
