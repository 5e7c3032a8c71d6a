import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defined } from '../../core/base/json.ts'
import type { Command } from '../command.ts'
import { usageError } from '../errors.ts'
import { callLogger, callTelemetry, printServer, untilStopped } from '../serve/serving.ts'

export const demoServer: Command = {
  description:
    'Serves an agent that shows every behaviour of A2A: messages, tasks, streams, files, questions, authorization, failures. It speaks all versions over JSON-RPC, REST and gRPC, and keeps nothing after it ends.',
  options: {
    port: { type: 'text', value: 'n', summary: 'The port.', default: 'a free one' },
    host: { type: 'text', value: 'address', summary: 'The address to listen on.', default: '127.0.0.1' },
    token: { type: 'text', value: 'token', secret: true, summary: 'Require this bearer token of every caller.' },
  },
  examples: [
    { line: 'parley demo-server --port 4000', summary: 'Serve the demo agent' },
    { line: 'parley send -a localhost:4000 count --stream', summary: 'Call it from another terminal' },
  ],
  async run(context) {
    const { settings, output } = context
    const token = settings.text('token')
    const host = settings.text('host') ?? '127.0.0.1'
    const isLocal = /^(localhost|127\..*|::1)$/.test(host)
    if (!isLocal && token === undefined) {
      throw usageError(`${host} can be reached from other machines.`, 'Require a token: --token <token>.')
    }
    const [{ serve }, { custom }, { demoAgent }] = await Promise.all([
      import('../../entries/index.ts'),
      import('../../entries/auth.ts'),
      import('../serve/demo-agent.ts'),
    ])
    const directory = mkdtempSync(join(tmpdir(), 'parley-demo-'))
    const scheme = token === undefined ? undefined : bearerScheme(custom, token)
    const server = await serve(demoAgent, {
      port: settings.integer('port') ?? 0,
      host,
      directory,
      grpc: true,
      push: { loopback: isLocal ? 'allow' : 'refuse' },
      signals: false,
      drainDeadline: 1_000,
      logger: callLogger(output),
      telemetry: callTelemetry(output),
      ...defined({ auth: scheme && { schemes: { token: scheme } } }),
    })
    try {
      printServer(context, { agents: [{ name: 'Demo', url: server.url }], consoleUrl: server.consoleUrl })
      await untilStopped(context)
    } finally {
      await server.close()
      rmSync(directory, { recursive: true, force: true })
    }
  },
}

type Auth = typeof import('../../entries/auth.ts')

function bearerScheme(custom: Auth['custom'], token: string): ReturnType<Auth['custom']> {
  return custom({
    card: { type: 'http', scheme: 'Bearer' },
    authenticate(request) {
      const value = request.header('authorization')
      return value === undefined ? undefined : value === `Bearer ${token}` && { id: 'demo' }
    },
  })
}
