import { describe } from 'vitest'
import type { ServiceContract } from './service/contract.ts'
import { errorContract } from './service/errors.ts'
import { sendMessageContract } from './service/sending.ts'
import { streamContract } from './service/streaming.ts'
import { taskContract } from './service/tasks.ts'

/** The behaviour of every `Service`: of the runtime, and of clients in any dialect and binding. */
export function serviceContract(contract: ServiceContract): void {
  describe('sending', () => sendMessageContract(contract))
  describe('streaming', () => streamContract(contract))
  describe('tasks', () => taskContract(contract))
  describe('errors', () => errorContract(contract))
}
