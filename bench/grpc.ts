import { Client, credentials } from '@grpc/grpc-js'
import { sendBody } from './calls.ts'
import { grpcLoad } from './grpc-load.ts'
import { a2aMethods, type SendMessageResponse } from './grpc-methods.ts'
import { load } from './load.ts'
import { interleave, median } from './measure.ts'
import type { Benchmark, BenchmarkResult } from './report.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { type Sample, withUsage } from './with-usage.ts'

const rounds = 9
const connections = 10
const streams = 5
const milliseconds = 1_200
const warmUp = 3_000

/** A blocking send of a small task over gRPC, and over HTTP/1.1 at a port that serves both. */
export const grpc: Benchmark = {
  name: 'grpc',
  async run() {
    const parley = new URL('./servers/parley-grpc.ts', import.meta.url)
    const servers = {
      parley: await startServer(parley),
      shared: await startServer(parley),
      plain: await startServer(new URL('./servers/parley.ts', import.meta.url)),
      echo: await startServer(new URL('./servers/grpc-echo.ts', import.meta.url)),
    }
    try {
      return await measure(servers)
    } finally {
      for (const server of Object.values(servers)) await server.stop()
    }
  },
}

type Servers = Readonly<Record<Name, ServerProcess>>

async function measure({ parley, echo, shared, plain }: Servers): Promise<BenchmarkResult> {
  await checkResponse(parley)
  await checkResponse(echo)
  for (const server of [parley, echo]) await sample(server, warmUp)
  for (const server of [shared, plain]) await sampleHttp(server, warmUp)
  const measured = await interleave(rounds, {
    parley: () => sample(parley, milliseconds),
    echo: () => sample(echo, milliseconds),
    shared: () => sampleHttp(shared, milliseconds),
    plain: () => sampleHttp(plain, milliseconds),
  })
  const rates = (name: Name, base: Name) => measured.map((round) => round[name].rate / round[base].rate)
  const detail = (name: Name) => ({
    server: labels[name],
    'requests/s': Math.round(median(measured.map((round) => round[name].rate))),
    'server CPU µs/request': Math.round(median(measured.map((round) => round[name].cpu))),
  })
  return {
    title: `Blocking send of a small task over gRPC, ${connections} connections with ${streams} calls each, requests/s`,
    comparisons: [
      {
        label: 'Parley, memory log : bare @grpc/grpc-js',
        values: rates('parley', 'echo'),
        unit: 'x',
        target: { atLeast: 1 },
      },
      { label: 'HTTP/1.1, port shared with gRPC : separate port', values: rates('shared', 'plain'), unit: 'x' },
    ],
    details: (Object.keys(labels) as Name[]).map(detail),
  }
}

const labels = {
  parley: 'Parley, gRPC, memory log',
  echo: 'bare @grpc/grpc-js',
  shared: 'Parley, HTTP/1.1 at the same port, memory log',
  plain: 'Parley, HTTP/1.1 at a separate port, memory log',
}
type Name = keyof typeof labels

const { SendMessage } = a2aMethods
const message = { messageId: 'm-00000000', role: 'ROLE_USER', parts: [{ text: 'Hello' }] }

/** Checks with a real client that the measured response is correct. */
async function checkResponse({ port }: ServerProcess): Promise<void> {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure())
  const { path, requestSerialize, responseDeserialize } = SendMessage
  const { task } = await new Promise<SendMessageResponse>((resolve, reject) => {
    client.makeUnaryRequest(path, requestSerialize, responseDeserialize, { message }, (error, response) =>
      error || !response ? reject(error) : resolve(response),
    )
  })
  client.close()
  const text = task.artifacts[0]?.parts[0]?.text
  if (task.status.state !== 'TASK_STATE_COMPLETED' || text !== 'Hello from the bench') {
    throw new Error(`unexpected response: ${task.status.state}, ${text}`)
  }
}

function sample(server: ServerProcess, milliseconds: number): Promise<Sample> {
  const request = SendMessage.requestSerialize({ message })
  return withUsage(server, () =>
    grpcLoad({ port: server.port, path: SendMessage.path, message: request, connections, streams, milliseconds }),
  )
}

function sampleHttp(server: ServerProcess, milliseconds: number): Promise<Sample> {
  const body = sendBody('Hello', 'SendMessage')
  return withUsage(server, () => load({ port: server.port, body, connections: connections * streams, milliseconds }))
}
