import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { InteropAgentOptions } from './agent.ts'
import { frameworkChecks } from './client-checks.ts'
import {
  type Installation,
  installGo,
  installJava,
  installJavaServer,
  installNpm,
  installPython,
  installRust,
} from './install.ts'

/** A program of a peer: its command line, and the transport that it speaks. */
export interface PeerProgram {
  readonly transport: 'JSONRPC' | 'HTTP+JSON' | 'GRPC'
  readonly command: readonly [string, ...string[]]
  /** What the agent must be served with, so that the client can call it. */
  readonly agent?: InteropAgentOptions
  /** The checks that a server can answer. Defaults to `standardChecks`. */
  readonly checks?: readonly string[]
}

/** Another implementation of A2A. */
export interface Peer {
  readonly name: string
  /** Installs it into a folder. Throws a sentence if the machine lacks something. */
  install(folder: string): Promise<Installation>
  /** The programs that call an agent, given how it was installed. They get its address as their last arguments. */
  clients(installation: Installation): readonly PeerProgram[]
  /** The programs that serve an agent. They print its address. */
  servers(installation: Installation): readonly PeerProgram[]
}

export const peers: readonly Peer[] = [
  python('a2a-sdk-0.2.5', {
    requirement: 'a2a-sdk==0.2.5',
    more: ['uvicorn'],
    clients: { 'client_0_2.py': ['JSONRPC'] },
    servers: { 'server_0_x.py': ['JSONRPC'] },
  }),
  python('a2a-sdk-0.2', {
    requirement: 'a2a-sdk==0.2.16',
    more: ['uvicorn'],
    clients: { 'client_0_2.py': ['JSONRPC'] },
    servers: { 'server_0_x.py': ['JSONRPC'] },
  }),
  python('a2a-sdk-0.3.0', {
    requirement: 'a2a-sdk[grpc]==0.3.0',
    more: ['uvicorn', 'fastapi'],
    clients: { 'client_0_3.py': ['JSONRPC', 'HTTP+JSON', 'GRPC'] },
    servers: { 'server_0_x.py': ['JSONRPC', 'HTTP+JSON', 'GRPC'] },
  }),
  python('a2a-sdk-0.3', {
    requirement: 'a2a-sdk[http-server,grpc]==0.3.26',
    more: ['uvicorn'],
    clients: { 'client_0_3.py': ['JSONRPC', 'HTTP+JSON', 'GRPC'] },
    servers: { 'server_0_x.py': ['JSONRPC', 'HTTP+JSON', 'GRPC'] },
  }),
  python('a2a-sdk-1.x', {
    requirement: 'a2a-sdk[http-server,grpc]>=1.3,<2',
    more: ['uvicorn'],
    clients: { 'client_1_x.py': ['JSONRPC', 'HTTP+JSON', 'GRPC'] },
    servers: { 'server_1_x.py': ['JSONRPC', 'HTTP+JSON', 'GRPC'] },
  }),
  python('google-adk-1', {
    requirement: 'google-adk[a2a]>=1.39,<2',
    more: ['uvicorn'],
    clients: { 'client_adk.py': ['JSONRPC'] },
    servers: { 'server_adk.py': ['JSONRPC'] },
    checks: frameworkChecks,
  }),
  python('google-adk-2', {
    requirement: 'google-adk[a2a]>=2',
    more: ['uvicorn'],
    clients: { 'client_adk.py': ['JSONRPC'] },
    servers: { 'server_adk.py': ['JSONRPC'] },
    checks: frameworkChecks,
  }),
  python('crewai', { requirement: 'crewai[a2a]', clients: { 'client_crewai.py': ['JSONRPC'] } }),
  python('strands-agents', {
    requirement: 'strands-agents[a2a]',
    more: ['uvicorn'],
    clients: { 'client_strands.py': ['JSONRPC'] },
    servers: { 'server_strands.py': ['JSONRPC'] },
    checks: frameworkChecks,
  }),
  python('beeai-framework', { requirement: 'beeai-framework[a2a]', clients: { 'client_beeai.py': ['JSONRPC'] } }),
  python('agent-framework-a2a', {
    requirement: 'agent-framework-a2a>=1.0.0b0',
    clients: { 'client_microsoft.py': ['JSONRPC', 'HTTP+JSON'] },
  }),
  python('langgraph-api', {
    requirement: 'langgraph-api',
    more: ['langgraph-cli[inmem]', 'langgraph'],
    clients: {},
    servers: { 'server_langgraph.py': ['JSONRPC'] },
    checks: frameworkChecks,
  }),
  python('fasta2a', {
    requirement: 'fasta2a',
    more: ['uvicorn', 'httpx'],
    clients: { 'client_fasta2a.py': ['JSONRPC'] },
    servers: { 'server_fasta2a.py': ['JSONRPC'] },
    // The framework leaves everything else to its worker.
    checks: ['card', 'text', 'errors'],
  }),
  python('pydantic-ai-1', {
    requirement: 'pydantic-ai-slim[a2a]<2',
    more: ['uvicorn'],
    clients: {},
    servers: { 'server_pydantic_ai.py': ['JSONRPC'] },
    checks: ['card', 'text', 'errors'],
  }),
  python('pydantic-ai-2', {
    requirement: 'pydantic-ai-slim>=2',
    more: ['fasta2a[pydantic-ai]>=2', 'uvicorn'],
    clients: {},
    servers: { 'server_pydantic_ai.py': ['JSONRPC'] },
    checks: ['card', 'text', 'errors'],
  }),
  python('python-a2a', { requirement: 'python-a2a', clients: { 'client_python_a2a.py': ['JSONRPC'] } }),
  npm('mastra', ['@mastra/core@1', 'zod'], 'client-mastra.mjs'),
  npm('beeai-framework-js', ['beeai-framework', '@a2a-js/sdk@0.3', 'express', 'zod@3'], 'client-beeai.mjs'),
  npm('ag-ui', ['@ag-ui/a2a', '@ag-ui/client', '@a2a-js/sdk@0.2'], 'client-ag-ui.mjs'),
  go('a2a-go-0.3', 'github.com/a2aproject/a2a-go@v0.3.3', 'go-0.3', ['JSONRPC', 'GRPC']),
  go('a2a-go-2.x', 'github.com/a2aproject/a2a-go/v2@v2.4.0', 'go-2', ['JSONRPC', 'HTTP+JSON', 'GRPC']),
  java('a2a-java-0.3', '0.3.3.Final', ['JSONRPC', 'HTTP+JSON', 'GRPC']),
  // It sends no version when it fetches the card, and rejects the hybrid card.
  java('a2a-java-1.0', '1.0.0.Alpha3', ['JSONRPC', 'HTTP+JSON', 'GRPC'], { dialects: { cards: '1.0' } }),
  javaServer('a2a-java-0.3-server', '0.3.3.Final', ['JSONRPC', 'HTTP+JSON', 'GRPC']),
  javaHandler('a2a-java-1.0-server', '1.0.0.Alpha3', ['HTTP+JSON']),
  rust('a2a-rs', 'client 0.2.9, server 0.5.3, gRPC 0.3.11', ['JSONRPC', 'HTTP+JSON', 'GRPC']),
]

interface PythonPeer {
  /** The package, as `pip` reads it. */
  readonly requirement: string
  readonly more?: readonly string[]
  /** Scripts in `python/`, with their transports. */
  readonly clients: Readonly<Record<string, readonly PeerProgram['transport'][]>>
  readonly servers?: Readonly<Record<string, readonly PeerProgram['transport'][]>>
  readonly checks?: readonly string[]
}

function python(name: string, options: PythonPeer): Peer {
  const { requirement, more = [], clients, servers = {}, checks } = options
  const programs = (scripts: PythonPeer['clients']) => (installation: Installation) =>
    Object.entries(scripts).flatMap(([script, transports]) =>
      transports.map((transport): PeerProgram => {
        const path = fileURLToPath(new URL(`python/${script}`, import.meta.url))
        return { transport, command: [installation.program, path], ...(checks && { checks }) }
      }),
    )
  const install = (folder: string) => installPython(folder, requirement, more)
  return { name, install, clients: programs(clients), servers: programs(servers) }
}

function rust(name: string, version: string, transports: readonly PeerProgram['transport'][]): Peer {
  return {
    name,
    install: (folder) => installRust(folder, version, fileURLToPath(new URL('rust', import.meta.url))),
    clients: ({ program }) =>
      transports.map((transport): PeerProgram => ({ transport, command: [join(program, 'client')] })),
    servers: ({ program }) =>
      transports.map((transport): PeerProgram => ({ transport, command: [join(program, 'server')] })),
  }
}

function npm(name: string, packages: readonly string[], script: string): Peer {
  return {
    name,
    install: (folder) => installNpm(folder, packages, fileURLToPath(new URL('npm', import.meta.url))),
    clients: ({ program }) => [{ transport: 'JSONRPC', command: [process.execPath, join(program, script)] }],
    servers: () => [],
  }
}

function java(
  name: string,
  version: string,
  transports: readonly PeerProgram['transport'][],
  agent?: InteropAgentOptions,
): Peer {
  return {
    name,
    install: (folder) => installJava(folder, version, fileURLToPath(new URL('java', import.meta.url))),
    clients: ({ program }) =>
      transports.map((transport): PeerProgram => {
        const command = ['java', '-cp', program, 'Checks'] as const
        return { transport, command, ...(agent && { agent }) }
      }),
    servers: () => [],
  }
}

/** The handler of the SDK in a server of our own: the alpha versions of 1.0 bring none. */
function javaHandler(name: string, version: string, transports: readonly PeerProgram['transport'][]): Peer {
  return {
    name,
    install: (folder) => installJava(folder, version, fileURLToPath(new URL('java-1.0-server', import.meta.url))),
    clients: () => [],
    servers: ({ program }) =>
      transports.map((transport): PeerProgram => ({ transport, command: ['java', '-cp', program, 'Server'] })),
  }
}

/** The reference server of the SDK, which needs Quarkus. */
function javaServer(name: string, version: string, transports: readonly PeerProgram['transport'][]): Peer {
  return {
    name,
    install: (folder) => installJavaServer(folder, version, fileURLToPath(new URL('java-server', import.meta.url))),
    clients: () => [],
    servers: ({ program }) =>
      transports.map((transport): PeerProgram => ({ transport, command: ['java', '-jar', program] })),
  }
}

function go(name: string, module: string, source: string, transports: readonly PeerProgram['transport'][]): Peer {
  return {
    name,
    install: (folder) => installGo(folder, module, fileURLToPath(new URL(source, import.meta.url))),
    clients: ({ program }) => transports.map((transport): PeerProgram => ({ transport, command: [program] })),
    servers: ({ program }) => transports.map((transport): PeerProgram => ({ transport, command: [program, 'serve'] })),
  }
}
