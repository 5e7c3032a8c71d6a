"""An agent of Pydantic AI with a model that repeats what it was told. Prints its address."""

import socket

import uvicorn
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel


def repeat(messages, info):
    said = messages[-1].parts[-1].content
    return ModelResponse(parts=[TextPart(said.removeprefix('echo '))])


def main():
    listener = socket.create_server(('127.0.0.1', 0))
    url = f'http://127.0.0.1:{listener.getsockname()[1]}'
    agent = Agent(FunctionModel(repeat))
    try:
        from fasta2a.pydantic_ai import agent_to_a2a
    except ImportError:
        # Pydantic AI 1 brings it along.
        app = agent.to_a2a(name='Interop', url=url)
    else:
        app = agent_to_a2a(agent, name='Interop', url=url)
    print(url, flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level='error')).run(sockets=[listener])


main()
