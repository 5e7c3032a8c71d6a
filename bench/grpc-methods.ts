import { fileURLToPath } from 'node:url'
import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'

/** The members of a response that the benchmarks read. */
export interface SendMessageResponse {
  readonly task: {
    readonly status: { readonly state: string }
    readonly artifacts: readonly { readonly parts: readonly { readonly text: string }[] }[]
  }
}

interface Methods extends ServiceDefinition {
  readonly SendMessage: MethodDefinition<object, SendMessageResponse>
}

/** The gRPC service for `@grpc/grpc-js`, loaded from our proto file. */
const includeDirs = [fileURLToPath(new URL('../proto', import.meta.url))]
const loaded = loadSync('lf/a2a/v1/a2a.proto', { includeDirs, enums: String })
export const a2aMethods = loaded['lf.a2a.v1.A2AService'] as unknown as Methods
