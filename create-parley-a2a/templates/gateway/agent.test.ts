import assert from 'node:assert/strict'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { serve } from 'parley-a2a'
import { connect } from 'parley-a2a/client'
import { createGateway } from 'parley-a2a/gateway'
import { reporter } from './agent.ts'

test('an agent of 0.3 is served in 1.0 by the gateway', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'gateway-'))
  const old = await serve(reporter, { port: 0, directory: join(directory, 'old'), dialects: { speak: ['v0.3'] } })
  const gateway = await createGateway({ port: 0, directory, agents: { reporter: { url: old.url } } })
  try {
    const client = await connect(`${gateway.url}/reporter`, { dialects: ['v1.0'] })
    const reply = await client.send('Sales')
    assert.equal(reply.artifacts[0]?.text, '# Sales\nThey grew by 7 %.\n')
  } finally {
    await gateway.close()
    await old.close()
  }
})
