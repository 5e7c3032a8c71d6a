"""A graph of LangGraph that repeats the message, on its development server. Prints the address of its card."""

import json
import os
import socket
import sys
import tempfile
import time
import urllib.request

GRAPH = '''
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph

def repeat(state):
    said = state["messages"][-1].content
    text = said if isinstance(said, str) else said[0]["text"]
    return {"messages": [AIMessage(text.removeprefix("echo "))]}

builder = StateGraph(MessagesState)
builder.add_node("repeat", repeat)
builder.add_edge(START, "repeat")
builder.add_edge("repeat", END)
graph = builder.compile(name="Interop")
'''


def read(url, body=None):
    request = urllib.request.Request(url, body and json.dumps(body).encode(), {'content-type': 'application/json'})
    with urllib.request.urlopen(request, timeout=5) as response:
        return json.load(response)


def main():
    with socket.create_server(('127.0.0.1', 0)) as free:
        port = free.getsockname()[1]
    folder = tempfile.mkdtemp(prefix='parley-')
    with open(os.path.join(folder, 'graph.py'), 'w') as file:
        file.write(GRAPH)
    with open(os.path.join(folder, 'langgraph.json'), 'w') as file:
        json.dump({'dependencies': ['.'], 'graphs': {'Interop': './graph.py:graph'}}, file)
    url = f'http://127.0.0.1:{port}'
    if os.fork() == 0:
        print_address(url)
        return
    # The process becomes the server, so that it ends when it is killed.
    os.dup2(2, 1)
    os.chdir(folder)
    program = os.path.join(os.path.dirname(sys.executable), 'langgraph')
    options = ['--no-browser', '--no-reload', '--host', '127.0.0.1', '--port', str(port)]
    os.execv(program, [program, 'dev', *options])


def print_address(url):
    for _ in range(300):
        try:
            [assistant] = read(f'{url}/assistants/search', {'graph_id': 'Interop'})
            print(f'{url}/.well-known/agent-card.json?assistant_id={assistant["assistant_id"]}', flush=True)
            return
        except (OSError, ValueError):
            time.sleep(0.2)


main()
