import { onTestFinished } from 'vitest'
import { connect } from '../../../src/core/client/connect.ts'
import type { Binding } from '../../../src/core/dialects/dialect.ts'
import { v0_3HouseClient } from '../../../src/core/dialects/v0.3-house/client.ts'
import type { DialectName } from '../../../src/core/dialects/versions.ts'
import { grpc } from '../../../src/core/node/grpc-client.ts'
import type { Service } from '../../../src/core/protocol/service.ts'
import { createJsonRpcClient } from '../../../src/core/transports/jsonrpc/client.ts'

/** The operations of the agent at a URL, in one dialect over one binding, without retries. */
export async function openService(url: string, dialect: DialectName, binding: Binding): Promise<Service> {
  // No card names the house dialect.
  if (dialect === 'v0.3-house') return createJsonRpcClient({ url: `${url}/api/a2a`, dialect: v0_3HouseClient, fetch })
  const transport = binding === 'GRPC' ? grpc({ loopback: 'allow' }) : undefined
  onTestFinished(() => transport?.close())
  const bindings = [transport ?? binding]
  return (await connect(url, { dialects: [dialect], bindings, retry: { tries: 1 } })).service
}
