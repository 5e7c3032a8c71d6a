"""An agent of Strands with a model that repeats the message. Prints its address."""

import logging
import socket

import uvicorn
from strands import Agent
from strands.models import Model
from strands.multiagent.a2a import A2AServer

logging.disable(logging.WARNING)


class EchoModel(Model):
    def update_config(self, **config):
        pass

    def get_config(self):
        return {}

    async def structured_output(self, output_model, prompt, system_prompt=None, **options):
        raise NotImplementedError
        yield

    async def stream(self, messages, tool_specs=None, system_prompt=None, **options):
        said = messages[-1]['content'][0]['text'].removeprefix('echo ')
        yield {'messageStart': {'role': 'assistant'}}
        yield {'contentBlockStart': {'start': {}}}
        for chunk in [said[:2], said[2:]]:
            yield {'contentBlockDelta': {'delta': {'text': chunk}}}
        yield {'contentBlockStop': {}}
        yield {'messageStop': {'stopReason': 'end_turn'}}


def main():
    listener = socket.create_server(('127.0.0.1', 0))
    port = listener.getsockname()[1]

    def create(context_id=None):
        return Agent(name='Interop', description='Answers the checks.', model=EchoModel(), callback_handler=None)

    app = A2AServer(create(), host='127.0.0.1', port=port, skills=[]).to_starlette_app()
    print(f'http://127.0.0.1:{port}', flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level='error')).run(sockets=[listener])


main()
