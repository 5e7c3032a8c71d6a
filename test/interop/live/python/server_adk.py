"""An agent of Google ADK, served by its `to_a2a`. Prints its address."""

import logging
import socket

import uvicorn
from google.adk.a2a.utils.agent_to_a2a import to_a2a
from google.adk.agents import BaseAgent
from google.adk.events import Event
from google.genai import types

logging.disable(logging.WARNING)


class Echo(BaseAgent):
    async def _run_async_impl(self, ctx):
        said = ctx.user_content.parts[0].text
        content = types.Content(role='model', parts=[types.Part(text=said.removeprefix('echo '))])
        yield Event(author=self.name, invocation_id=ctx.invocation_id, content=content)


def main():
    listener = socket.create_server(('127.0.0.1', 0))
    port = listener.getsockname()[1]
    app = to_a2a(Echo(name='Interop', description='Answers the checks.'), host='127.0.0.1', port=port)
    print(f'http://127.0.0.1:{port}', flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level='error')).run(sockets=[listener])


main()
