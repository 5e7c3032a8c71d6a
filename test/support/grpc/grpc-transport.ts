import { onTestFinished } from 'vitest'
import type { ConnectOptions } from '../../../src/core/client/options.ts'
import { trailersOf, withTrailers } from '../../../src/core/http/fetch.ts'
import { type Grpc, type GrpcOptions, grpc } from '../../../src/core/node/grpc-client.ts'

/** A gRPC transport for a client. Its connections are closed after the test. */
export function grpcTransport(options: GrpcOptions = {}): Grpc {
  const transport = grpc({ loopback: 'allow', ...options })
  onTestFinished(() => transport.close())
  return transport
}

/** A gRPC transport that cuts its streams: the nth stream after `cuts[n]` messages, and later streams not at all. */
export function breakingGrpc(cuts: readonly number[]): Pick<ConnectOptions, 'bindings'> {
  const transport = grpcTransport()
  const remainingCuts = [...cuts]
  return {
    bindings: [
      {
        ...transport,
        async fetch(url, init) {
          const response = await transport.fetch(url, init)
          const messages = /Stream|Subscri/.test(url) ? remainingCuts.shift() : undefined
          if (messages === undefined || !response.body) return response
          const cut = new Response(response.body.pipeThrough(cutAfter(messages)), response)
          return withTrailers(cut, trailersOf(response))
        },
      },
    ],
  }
}

function cutAfter(messages: number): TransformStream<Uint8Array, Uint8Array> {
  let rest = new Uint8Array()
  let left = messages
  return new TransformStream({
    transform(chunk, controller) {
      rest = Uint8Array.from([...rest, ...chunk])
      while (rest.length >= 5) {
        const end = 5 + new DataView(rest.buffer, rest.byteOffset).getUint32(1)
        if (rest.length < end) return
        controller.enqueue(rest.slice(0, end))
        rest = rest.slice(end)
        if (--left === 0) return controller.error(Object.assign(new Error('cut'), { code: 'ECONNRESET' }))
      }
    },
  })
}
