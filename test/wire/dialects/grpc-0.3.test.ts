import { expect, it, onTestFinished } from 'vitest'
import { connect } from '../../../src/entries/client.node.ts'
import { grpc } from '../../../src/entries/node.ts'
import { startTestServer } from '../../support/servers/test-server.ts'

it('a client that names 0.3 and gRPC speaks the proto of 0.3', async () => {
  const { server } = await startTestServer((turn) => turn.text, { grpc: true })
  const transport = grpc()
  onTestFinished(() => transport.close())
  for (const bindings of [[transport], [transport, 'JSONRPC' as const]]) {
    const client = await connect(server.url, { bindings, dialects: ['v0.3'] })
    expect((await client.send('hi')).text).toBe('hi')
  }
  const only = await connect(server.url, { bindings: [transport], dialects: ['v0.3'] })
  await only.send('hi')
  expect(only.explain().endpoint).toMatchObject({ binding: 'GRPC', dialect: 'v0.3-proto' })
})
